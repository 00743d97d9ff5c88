import type { Failure } from '../../diagnostics/failure.ts'
import type { Paint } from '../../diagnostics/paint.ts'
import type { AdminServer } from '../admin/admin-client.ts'
import { askEach } from '../admin/ask-each.ts'
import { ratesJson, topText } from './text.ts'
import { measureOnce } from './watch.ts'

/**
 * One sample of each pod, which takes `interval` ms: text under its name, or a line of JSON. `failure`: why some are
 * missing. Throws a Failure if all are.
 */
export async function collectPods(
  servers: readonly AdminServer[],
  interval: number,
  json: boolean,
  paint: Paint,
): Promise<{ readonly text: string; readonly failure: Failure | undefined }> {
  const { answers, failure } = await askEach(servers, admin => measureOnce(admin, interval))
  const texts = answers.map(({ admin: { pod }, value }) =>
    json ? ratesJson({ pod, ...value }) : `${paint.bold(`pod ${pod}`)}\n${topText(value, { paint })}`,
  )
  return { text: texts.join(json ? '' : '\n'), failure }
}
