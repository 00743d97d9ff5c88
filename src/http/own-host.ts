/** Whether a host always refers to this machine: `localhost`, loopback or unspecified addresses. */
export function isThisMachine(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0|\[?::\]?)$/i.test(host)
}
