import { spawn } from 'node:child_process'
import { Failure } from '../../diagnostics/failure.ts'

/** Bytes; the limit of X11 and many terminals. */
const MAX_BYTES = 256 * 1024

/**
 * Copies a text to the user's clipboard, also over SSH. Throws a Failure `usage` if it is too long, since terminals
 * would silently drop it.
 */
export async function copyToClipboard(
  text: string,
  place: { readonly env: Readonly<Record<string, string | undefined>>; readonly stdout: NodeJS.WritableStream },
): Promise<void> {
  const base64 = Buffer.from(text).toString('base64')
  if (base64.length > MAX_BYTES) throw new Failure('usage', 'too long for a clipboard: save it with S')
  // tmux ignores clipboard sequences of programs, but forwards text that it is given directly.
  if (place.env.TMUX && (await copyThroughTmux(text, place.env))) return
  // OSC 52.
  place.stdout.write(`\u001b]52;c;${base64}\u0007`)
}

function copyThroughTmux(text: string, env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  return new Promise(done => {
    const child = spawn('tmux', ['load-buffer', '-w', '-'], { env, stdio: ['pipe', 'ignore', 'ignore'] })
    child.on('error', () => done(false))
    child.on('close', code => done(code === 0))
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
