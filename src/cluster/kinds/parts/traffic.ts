import { def, type ObjectProblem, object, oneOf, serverRule } from '../../../schema/builder.ts'
import { problem } from '../../../schema/rules.ts'
import { fieldsOf, MEMBERS } from './members.ts'

const fields = {
  phase: def(oneOf(['PreRouting', 'PostRouting']), 'PostRouting', 'Before or after the route is chosen.'),
  ...fieldsOf('traffic'),
}
/** The members allowed in the PreRouting phase: those of a listener. */
const PRE_ROUTING = MEMBERS.traffic
  .filter(({ policy }) => policy.attach.includes('listener'))
  .map(({ form }) => form.member)
const AFTER_ROUTING = Object.keys(fields).filter(name => name !== 'phase' && !PRE_ROUTING.includes(name))

function phaseRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.phase !== 'PreRouting') return []
  return Object.keys(value)
    .filter(name => AFTER_ROUTING.includes(name))
    .map(name => problem([name], `\`${name}\` cannot be used in the PreRouting phase, before a route is selected`))
}

/** Request processing. */
export const traffic = object('traffic', fields, {
  check: phaseRules,
  rules: [
    serverRule(
      `self.phase != 'PreRouting' || !(${AFTER_ROUTING.map(name => `has(self.${name})`).join(' || ')})`,
      `the PreRouting phase takes only ${PRE_ROUTING.join(', ')}`,
    ),
  ],
})
