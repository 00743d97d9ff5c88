/**
 * Called between the parts of a long computation. A promise: await it before the next part, so that the thread serves
 * requests meanwhile.
 */
export type Pause = () => Promise<void> | undefined

/** A pause whenever the work has held the thread for `most` ms. */
export function pauseEvery(most: number): Pause {
  let since = performance.now()
  return () => {
    // Any wait in between counts as work, so there may be a pause too many.
    if (performance.now() - since < most) return undefined
    return new Promise(done => {
      setImmediate(() => {
        since = performance.now()
        done()
      })
    })
  }
}
