/** Whether a host always means this machine: `localhost`, loopback and unspecified addresses. */
export function isThisMachine(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0|\[?::\]?)$/i.test(host)
}
