import { spawn } from 'node:child_process'
import { Failure } from '../../diagnostics/failure.ts'

/** Bytes; X11 and many terminals take no more at one go. */
const MOST = 256 * 1024

/**
 * Hands a text to the clipboard of whoever sits at the terminal, also over SSH. Throws a Failure `usage` when it is too
 * long: a terminal would drop it without a word.
 */
export async function copyToClipboard(
  text: string,
  place: { readonly env: Readonly<Record<string, string | undefined>>; readonly stdout: NodeJS.WritableStream },
): Promise<void> {
  const base64 = Buffer.from(text).toString('base64')
  if (base64.length > MOST) throw new Failure('usage', 'too long for a clipboard: save it with S')
  // As it comes, tmux ignores what programs send to the clipboard; what it is told itself it passes on.
  if (place.env.TMUX && (await toldTmux(text, place.env))) return
  // OSC 52.
  place.stdout.write(`\u001b]52;c;${base64}\u0007`)
}

function toldTmux(text: string, env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  return new Promise(done => {
    const child = spawn('tmux', ['load-buffer', '-w', '-'], { env, stdio: ['pipe', 'ignore', 'ignore'] })
    child.on('error', () => done(false))
    child.on('close', code => done(code === 0))
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
