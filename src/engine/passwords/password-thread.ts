// The module of a thread that verifies passwords: their hashes are slow by design.
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { passwordCheck } from '../../auth/htpasswd.ts'
import type { PasswordAnswer, PasswordQuestion } from '../../runtime/password-thread.ts'

/** Below the threads that serve requests. On other systems this would set the priority of the whole process. */
if (process.platform === 'linux') setPriority(10)

parentPort?.on('message', ({ id, stored, password }: PasswordQuestion) => {
  const answer = (right: boolean) => parentPort?.postMessage({ id, right } satisfies PasswordAnswer)
  const check = passwordCheck(stored)
  Promise.resolve(check?.verify(password) ?? false).then(answer, () => answer(false))
})
