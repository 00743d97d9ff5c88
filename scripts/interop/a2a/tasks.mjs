// What every client does, and what it got as plain data: ids and times, which differ each time, are named.

/** What came of each task, by name; errors count as results. `idle` resolves once the agent serves no request any more. */
export async function doAll(client, idle) {
  const results = {}
  const attempt = async (name, run) => {
    try {
      results[name] = plain(await run())
    } catch (error) {
      results[name] = { error: error.name, message: plain(error.message), code: error.code }
    }
  }
  await attempt('the card', () => client.card())
  let done
  await attempt('a message', async () => {
    done = await client.send('echo Grüße, 世界')
    return done
  })
  await attempt('a long message', () => client.send(`echo ${'x'.repeat(90_000)}`))
  await attempt('a stream', () => collected(client.stream('count 4')))
  await attempt('a task', () => client.get(idOf(done)))
  await attempt('an unknown task', () => client.get('unknown'))
  await attempt('a task that is over, cancelled', () => client.cancel(idOf(done)))
  await attempt('a task that fails', () => client.send('fail'))
  await attempt('a task cancelled', async () => {
    const task = await client.begin('wait')
    return client.cancel(idOf(task))
  })
  await attempt('a task taken up again', async () => {
    const task = await client.begin('wait')
    const events = collected(client.resubscribe(idOf(task)), () => client.cancel(idOf(task)))
    return events
  })
  await attempt('push notifications', async () => {
    const id = idOf(done)
    return [
      await client.setPush(id),
      await client.getPush(id),
      await client.listPush(id),
      await client.deletePush(id),
      await client.listPush(id),
    ]
  })
  if (client.list) await attempt('tasks', () => client.list((done.payload?.value ?? done).contextId))
  await attempt('a client that leaves', async () => {
    const leaving = new AbortController()
    let id
    for await (const event of client.stream('wait', leaving.signal)) {
      id = idOf(event)
      break
    }
    leaving.abort()
    await idle()
    return client.cancel(id)
  })
  return results
}

const taskOf = given => given.payload?.value ?? given.task ?? given
const idOf = given => taskOf(given).id ?? taskOf(given).taskId

/** Events of a stream, and whether they came one after another. `then`: when the first is there. */
async function collected(stream, then) {
  const events = []
  const times = []
  for await (const event of stream) {
    events.push(event)
    times.push(performance.now())
    if (events.length === 1) await then?.()
  }
  return then ? events : { events, spread: times.at(-1) - times[0] > 100 }
}

/** Without what differs each time. */
export function plain(value) {
  const names = new Map()
  const text = JSON.stringify(value, (_key, each) => (each === undefined ? null : each)) ?? 'null'
  return JSON.parse(
    text
      .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, id => {
        if (!names.has(id)) names.set(id, `id${names.size}`)
        return names.get(id)
      })
      .replace(/"\d{4}-\d\d-\d\dT[^"]*"/g, '"time"'),
  )
}
