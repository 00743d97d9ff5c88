export async function clientLeg() {
  return {}
}
