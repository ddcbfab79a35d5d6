'use strict'

// A sender that never gets to its event loop, and its receiver.

const { hasHappened, witness } = require('./witness.js')

const LOOP_MS = 10_000

/** Sends one message, and does not return before it has been seen. */
function sendInLoop (target, file) {
  const end = Date.now() + LOOP_MS
  target.send('in a loop')
  while (!hasHappened(file)) if (Date.now() > end) return false
  return true
}

function tellWhenSeen (target, file) {
  target.on('message', (message) => {
    if (message === 'in a loop') witness(file)
  })
}

module.exports = { sendInLoop, tellWhenSeen }
