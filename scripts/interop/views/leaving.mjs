// Every way to leave the view. Afterwards the terminal is as it was: the screen that was there before, the cursor, the
// line discipline of stty, and nothing that was typed or answered is left for the shell to read.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CRASH = `data:text/javascript,process.on('SIGUSR2',()=>{throw new Error('a crash on purpose')})`

/** What is pressed or sent, and the exit code; `only`: the one view that can. */
const WAYS = [
  { name: 'q', leave: ({ press }) => press('q'), code: 0 },
  { name: 'Esc', leave: ({ press }) => press('Escape'), code: 0 },
  { name: 'Ctrl-C', leave: ({ press }) => press('C-c'), code: 130 },
  { name: 'q out of the menu', leave: ({ press }) => press('?', 'q', 'u', 'i', 't', 'Enter'), code: 0, only: 'trace' },
  { name: 'Ctrl-C while something is typed', leave: ({ press }) => press('/', 'x', 'C-c'), code: 130 },
  { name: 'SIGINT', leave: ({ send }) => send('SIGINT'), code: 130 },
  { name: 'SIGTERM', leave: ({ send }) => send('SIGTERM'), code: 143 },
  { name: 'SIGHUP', leave: ({ send }) => send('SIGHUP'), code: 129 },
  { name: 'a crash', leave: ({ send }) => send('SIGUSR2'), code: 70 },
  { name: 'the editor and back, then q', leave: edited, code: 0, only: 'trace' },
  {
    name: 'an editor that cannot be started, then q',
    leave: notEdited,
    code: 0,
    editor: '/no/such/editor',
    only: 'trace',
  },
  { name: 'Ctrl-Z, fg, then q', leave: stopped, code: 0 },
  { name: 'SIGTSTP, fg, then q', leave: context => stopped(context, 'SIGTSTP'), code: 0 },
  { name: 'SIGSTOP, fg, then q', leave: stoppedHard, code: 0 },
  { name: 'Ctrl-Z, then SIGTERM', leave: stoppedAndEnded, code: 143 },
]

/** How many of them do not leave the terminal as it was. */
export async function checkLeaving(terminals, view) {
  let wrong = 0
  for (const way of WAYS.filter(({ only = view.name }) => only === view.name)) {
    const played = await view.play({})
    const problems = await leftBy(way, terminals, view, played.command)
    played.stop()
    console.log(
      `${problems.length === 0 ? 'ok  ' : 'LEFT'} ${view.name}: ${way.name}${problems.map(each => `\n       ${each}`).join('')}`,
    )
    if (problems.length > 0) wrong++
  }
  return wrong
}

async function leftBy({ leave, code, editor }, terminals, { ready, answers, folder }, command) {
  const file = name => join(terminals.scratch, name)
  const problems = []
  const context = {
    terminals,
    press: (...keys) => terminals.press(...keys),
    send: signal => process.kill(Number(readFileSync(file('pid'), 'utf8')), signal),
    /** A command between what tells what the terminal is like. */
    line: run => `clear; echo before; ${run}; echo "code $?"; stty -g | diff - ${file('stty')} && echo sane`,
    shown: words => expectShown(terminals, words, problems),
    ready: () => expectShown(terminals, ready, problems),
    answers,
    /** A prompt, and everything as it was. */
    clean: async () => {
      await expectShown(terminals, 'before', problems)
      if (terminals.modes !== '0 0 0 0 0') problems.push(`modes: ${terminals.modes}`)
    },
  }
  const editing = file('editor')
  writeFileSync(editing, '#!/bin/sh\necho "editing $*"\nread line\n', { mode: 0o755 })
  // The process itself, and not the shell that starts it, is what signals go to.
  writeFileSync(file('view'), `#!/bin/sh\necho $$ > ${file('pid')}\nexec ${command}\n`, { mode: 0o755 })
  await terminals.open([80, 24], folder)
  try {
    terminals.enter(`export EDITOR=${editor ?? editing} NODE_OPTIONS="--import \\"${CRASH}\\""`)
    terminals.enter(`stty -g > ${file('stty')}; ${context.line(file('view'))}`)
    await context.ready()
    await leave(context)
    const after = await terminals.until(text => text.includes(`code ${code}`) && text.trimEnd().endsWith('$'))
    await context.clean()
    if (!after.includes(`code ${code}`)) problems.push(`not code ${code}`)
    if (!after.includes('sane')) problems.push('stty differs')
    if (/[┌│█▸]/.test(after) || after.includes(ready)) problems.push('the view is still on the screen')
    if (after.trimEnd().split('\n').at(-1) !== '$') problems.push('something was left for the shell to read')
    if (problems.length > 0) problems.push(after)
  } finally {
    terminals.close()
  }
  return problems
}

async function expectShown(terminals, words, problems) {
  const text = await terminals.until(shown => shown.includes(words))
  if (!text.includes(words)) problems.push(`never shown: ${words}\n${text}`)
}

async function edited({ press, shown, ready }) {
  press('o')
  await shown('editing +')
  press('Enter')
  await ready()
  press('q')
}

async function notEdited({ press, shown }) {
  press('o')
  await shown('/no/such/editor does not start')
  press('q')
}

async function stopped(context, signal) {
  const { press, send, shown, ready, answers } = context
  if (signal) send(signal)
  else press('C-z')
  await goneOn(context)
  await ready()
  const [key, answer] = answers
  press(key)
  await shown(answer)
  press('q')
}

/** Nobody can prepare for SIGSTOP: only what comes after it can be as it should. */
async function stoppedHard({ terminals, press, send, shown, ready, line }) {
  send('SIGSTOP')
  await shown('Stopped')
  terminals.enter(line('fg'))
  await ready()
  press('q')
}

async function stoppedAndEnded(context) {
  context.press('C-z')
  await goneOn(context, () => context.send('SIGTERM'))
}

/** Stopped, it leaves a clean terminal; then it is continued. `before`: what happens first. */
async function goneOn({ terminals, shown, clean, line }, before = () => {}) {
  await shown('Stopped')
  await shown('sane')
  await clean()
  before()
  terminals.enter(line('fg'))
}
