import type { AdminServer, TraceRequest } from '../admin/admin-client.ts'
import { type LiveOptions, liveRecording, type Recording } from '../events/recording.ts'

/**
 * Follows a single request, on whichever gateway gets it first; the others are then closed. Resolves once all are
 * watching, so that a request sent then is not missed. The name becomes that of the gateway with the request. Throws a
 * Failure if any cannot be watched.
 */
export async function firstRecording(
  servers: readonly AdminServer[],
  request: TraceRequest,
  options: LiveOptions,
): Promise<Recording> {
  const opened = await Promise.allSettled(servers.map(admin => liveRecording(admin, request, options)))
  const recordings = opened.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  const leave = (but?: Recording) => {
    for (const each of recordings) if (each !== but) each.close()
  }
  const failed = opened.find(each => each.status === 'rejected')
  if (failed) {
    leave()
    throw failed.reason
  }
  let name = recordings.length === 1 ? recordings[0]!.name : `${recordings.length} pods`

  async function* texts(): AsyncGenerator<string> {
    const iterators = recordings.map(each => each.texts[Symbol.asyncIterator]())
    try {
      const { recording, iterator, first } = await Promise.race(
        iterators.map(async (iterator, i) => ({ recording: recordings[i]!, iterator, first: await iterator.next() })),
      )
      leave(recording)
      if (first.done !== true) name = recording.name
      for (let next = first; next.done !== true; next = await iterator.next()) yield next.value
    } finally {
      leave()
    }
  }

  return {
    texts: texts(),
    get name() {
      return name
    },
    close: () => leave(),
  }
}
