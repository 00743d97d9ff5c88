import { startGateway } from '../../helpers/gateway.ts'
import { Refused, type Start } from './system.ts'

export const startGwctl: Start = async (config, files) => {
  const running = await startGateway(JSON.stringify(config), { files, logFormat: 'json' }).catch((error: Error) => {
    throw error.message.startsWith('the configuration has findings') ? new Refused(error.message) : error
  })
  return {
    portOf: port => running.gateway.portOf(port) ?? 0,
    records: () => running.logged.flatMap(text => text.split('\n')).filter(line => line.includes('"scope":"request"')),
    metrics: async () => running.gateway.metrics.render('openmetrics'),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}
