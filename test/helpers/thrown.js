'use strict'

// Errors, to be compared and to be caught.

/** What a program can see of an error, without the stack. */
function shape (error) {
  if (!(error instanceof Error)) return String(error)
  const { name, message, code, errno, syscall } = error
  const own = Object.getOwnPropertyNames(error).sort()
  return { name, message, code, errno, syscall, own, keys: Object.keys(error) }
}

/**
 * Takes uncaught exceptions away from whoever has them (mocha), until the
 * function that it returns is called.
 * @param {(error: any) => void} handler
 * @returns {() => void}
 */
function takeUncaught (handler) {
  const others = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', handler)
  return () => {
    process.off('uncaughtException', handler)
    for (const other of others) process.on('uncaughtException', other)
  }
}

module.exports = { shape, takeUncaught }
