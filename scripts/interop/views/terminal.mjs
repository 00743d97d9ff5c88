// A real terminal for the scripts beside this one: tmux with a shell in it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Nothing else: no configuration of the user's shell, no prompt of his. */
const SHELL = `PS1='$ ' exec bash --norc --noprofile`
const PATIENCE_MS = 15_000

export class Terminals {
  /** For files of a script. */
  scratch = mkdtempSync(join(tmpdir(), 'gwctl-tmux-'))

  constructor() {
    // Between two terminals the server must not be left without a session.
    this.#tmux('new-session', '-d', '-s', 'hold')
  }

  /** A shell in a folder, in a terminal of so many columns and rows. */
  async open([columns, rows], folder) {
    const size = ['-x', String(columns), '-y', String(rows)]
    this.#tmux('new-session', '-d', '-s', 'view', ...size, '-c', folder, SHELL)
    await this.until(text => text.includes('$'))
  }

  close() {
    this.#tmux('kill-session', '-t', 'view')
  }

  /** Types a line and ends it. */
  enter(line) {
    this.#tmux('send-keys', '-t', 'view', '-l', line)
    this.#tmux('send-keys', '-t', 'view', 'Enter')
  }

  /** Presses keys: characters, or names as tmux knows them. */
  press(...keys) {
    for (const key of keys) this.#tmux('send-keys', '-t', 'view', ...(key.length === 1 ? ['-l', key] : [key]))
  }

  get screen() {
    return this.#tmux('capture-pane', '-p', '-t', 'view')
  }

  /** Whether the other screen is shown, the cursor is hidden, or keys are sent in another way than to a shell. */
  get modes() {
    const format = '#{alternate_on} #{?cursor_flag,0,1} #{keypad_flag} #{keypad_cursor_flag} #{mouse_any_flag}'
    return this.#tmux('display-message', '-p', '-t', 'view', format).trim()
  }

  /** What is shown once `condition` holds and it has stopped changing; after a while, what is shown in any case. */
  async until(condition) {
    let last = ''
    for (let waited = 0; waited < PATIENCE_MS; waited += 60) {
      await sleep(60)
      const now = this.screen
      if (now === last && condition(now)) return now
      last = now
    }
    return last
  }

  end() {
    this.#tmux('kill-server')
    rmSync(this.scratch, { recursive: true })
  }

  #tmux(...args) {
    const socket = join(this.scratch, 'tmux')
    return execFileSync('tmux', ['-S', socket, '-u', '-f', '/dev/null', ...args], { encoding: 'utf8' })
  }
}
