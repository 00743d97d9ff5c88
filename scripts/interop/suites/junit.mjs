// JUnit reports against what both schemas of Jenkins (junit-4.xsd and junit-10.xsd) allow: JUnit itself has none.
import { missingBuild, reportsIn } from '../reports.mjs'

export const name = 'junit'
export const title =
  'JUnit XML (elements and attributes that junit-4.xsd and junit-10.xsd share), against reports of gwctl'

export async function needs() {
  return missingBuild()
}

/** Of each element: its attributes (`!` must be there), and its children in their order; `#text` allows text. */
const ELEMENTS = {
  testsuites: [['name', 'time', 'tests', 'failures', 'errors'], ['testsuite']],
  testsuite: [
    ['name!', 'tests!', 'failures', 'errors', 'skipped', 'time', 'timestamp', 'hostname', 'id', 'package'],
    ['properties', 'testcase', 'system-out', 'system-err'],
  ],
  testcase: [
    ['name!', 'classname', 'time'],
    ['skipped', 'error', 'failure', 'system-out', 'system-err'],
  ],
  skipped: [[], ['#text']],
  error: [['message', 'type'], ['#text']],
  failure: [['message', 'type'], ['#text']],
  'system-out': [[], ['#text']],
  'system-err': [[], ['#text']],
}
const NUMBERS = /^(?:tests|failures|errors|skipped|time)$/

export async function run() {
  const outcome = { passed: 0, known: [], failed: [] }
  for (const report of reportsIn('junit')) {
    const wrong = problemIn(report.text)
    if (wrong === undefined) outcome.passed++
    else outcome.failed.push({ case: report.name, reason: wrong })
  }
  return outcome
}

/** Reads the tags one by one; what our writer makes has neither comments nor CDATA. */
function problemIn(xml) {
  const open = [{ name: '#document', children: ['testsuites'], at: 0 }]
  const body = xml.replace(/^<\?xml [^>]*\?>\s*/, '')
  for (const [, text, close, tag, attributes = '', empty] of body.matchAll(
    /([^<]*)<(\/?)([\w-]+)((?:\s+[\w-]+="[^"<]*")*)\s*(\/?)>/g,
  )) {
    const parent = open.at(-1)
    if (text.trim() !== '' && !parent.children.includes('#text'))
      return `text in <${parent.name}>: ${text.trim().slice(0, 40)}`
    if (close !== '') {
      if (open.pop().name !== tag) return `</${tag}> closes another element`
      continue
    }
    const rule = ELEMENTS[tag]
    const place = parent.children.indexOf(tag)
    if (rule === undefined || place < 0) return `<${tag}> in <${parent.name}>`
    if (place < parent.at) return `<${tag}> comes too late in <${parent.name}>`
    parent.at = place
    const wrong = attributeProblem(tag, rule[0], attributes)
    if (wrong !== undefined) return wrong
    if (empty === '') open.push({ name: tag, children: rule[1], at: 0 })
  }
  return open.length === 1 ? undefined : `<${open.at(-1).name}> is never closed`
}

function attributeProblem(tag, allowed, text) {
  const given = [...text.matchAll(/([\w-]+)="([^"]*)"/g)]
  const names = allowed.map(each => each.replace('!', ''))
  const foreign = given.find(([, attribute]) => !names.includes(attribute))
  if (foreign) return `<${tag}> has ${foreign[1]}`
  const missing = allowed.find(each => each.endsWith('!') && !given.some(([, attribute]) => `${attribute}!` === each))
  if (missing) return `<${tag}> lacks ${missing.slice(0, -1)}`
  const unreadable = given.find(([, attribute, value]) => NUMBERS.test(attribute) && !/^\d+(?:\.\d+)?$/.test(value))
  return unreadable && `${unreadable[1]} of <${tag}> is ${unreadable[2]}`
}
