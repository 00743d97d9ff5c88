import type { Lint } from '../lint.ts'
import { policiesWithoutModel, promptGuards } from '../sites.ts'

/** GW507: a response guard configured to reject, which it never does. */
export const rejectOnReply: Lint = file => {
  for (const guard of promptGuards(file.config, file.sites)) {
    for (const { regex } of guard.response ?? []) {
      if (regex?.action !== 'reject') continue
      file.report({
        code: 'GW507',
        message: 'matches in replies are always masked: `action: reject` has no effect here',
        path: [...file.pathOf(regex), 'action'],
        at: 'value',
        label: 'masks all the same',
        help: 'write `mask`, or refuse with another kind of guard (`webhook`)',
      })
    }
  }
}

/** GW543: response guards that clients can bypass by requesting a stream. */
export const unguardedStreams: Lint = file => {
  for (const guard of promptGuards(file.config, file.sites)) {
    if (guard.streaming === 'Enabled' || !guard.response || guard.response.length === 0) continue
    file.report({
      code: 'GW543',
      message: 'streamed replies pass these guards unchecked',
      path: [...file.pathOf(guard), 'response'],
      at: 'key',
      label: 'for whole replies only',
      help: 'add `streaming: Enabled` beside it',
    })
  }
}

/** GW594: guards where no LLM is called, so that they never run. */
export const guardsWithoutModel: Lint = file => {
  if (!file.sites.some(({ policies }) => policies.ai?.promptGuard)) return
  for (const policies of policiesWithoutModel(file.config)) {
    const guard = policies?.ai?.promptGuard
    if (!guard) continue
    file.report({
      code: 'GW594',
      message: 'these guards never run: no backend of this route is an LLM',
      path: file.pathOf(guard),
      at: 'key',
      label: 'requests pass unchecked',
      help: 'move them to the route of the LLM, or write the backend as `ai`',
    })
  }
}
