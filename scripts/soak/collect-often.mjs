// Preloaded into every thread of a gateway under test, with --expose-gc: what its heap holds is then what it keeps.
setInterval(() => globalThis.gc(), 2000).unref()
