import { startGateway } from '../../helpers/gateway.ts'
import { ENV, Refused, type Start } from './system.ts'

/** A line of the access log in either format. */
export function isRecord(line: string): boolean {
  return line.includes('"scope":"request"') || /\trequest[\t ]/.test(line)
}

export const startGwctl: Start = async (config, files) => {
  const { logging } = (config['config'] ?? {}) as { logging?: { format?: 'text' | 'json' } }
  const options = { files, env: ENV, logFormat: logging?.format ?? 'json' }
  const running = await startGateway(JSON.stringify(config), options).catch((error: Error) => {
    throw error.message.startsWith('the configuration has findings') ? new Refused(error.message) : error
  })
  return {
    portOf: port => running.gateway.portOf(port) ?? 0,
    records: () => running.logged.flatMap(text => text.split('\n')).filter(line => isRecord(line)),
    metrics: async () => running.gateway.metrics.render('openmetrics'),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}
