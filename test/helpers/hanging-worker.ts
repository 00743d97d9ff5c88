// What a worker of `gwctl run --workers` runs, and beside it an ear for the order to hang.
import { BroadcastChannel, workerData } from 'node:worker_threads'
import type { WorkerStart } from '../../src/engine/workers/protocol.ts'

/** Takes the index of the worker that is to hang. */
const HANG = 'gwctl-test-hang'

const { index } = (workerData ?? {}) as Partial<WorkerStart>
const orders = new BroadcastChannel(HANG)
orders.unref()
orders.onmessage = ({ data }: { readonly data?: unknown }) => {
  if (data !== index) return
  orders.postMessage({ hangs: index })
  // Without using the processor, which other tests need.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
await import('../../src/tools/serve/worker.ts')
