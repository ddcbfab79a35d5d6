'use strict'

// Waits until a channel has left the socket in both directions, and makes sure
// of it at both ends. The child has to preload test/fixtures/on-ring.js.

const assert = require('node:assert')
const { lane } = require('../../lib/channel.js')
const { inTime } = require('./inbox.js')

// Internal messages, which programs do not see: from the child, to it, and back.
const READY = 'NODE_TEST_READY'
const ASK = 'NODE_TEST_ASK'
const ANSWER = 'NODE_TEST_ANSWER'

const RING = { send: 'ring', receive: 'ring', reason: null }

let answered

/** The next internal message with that cmd. */
function internalMessage (target, cmd) {
  return new Promise((resolve) => {
    target.on('internalMessage', function receive (message) {
      if (message.cmd !== cmd) return
      target.off('internalMessage', receive)
      resolve(message)
    })
  })
}

/** The child's part, before its program. */
function answer () {
  answered = internalMessage(process, ASK).then(() => {
    process.send({ cmd: ANSWER, lane: lane(process) })
  })
  process.send({ cmd: READY, lane: lane(process) })
}

/**
 * @param {object} target a ChildProcess that was forked in this tick, or
 *   `process` in a child
 * @returns {Promise<void>} rejects if it is not on the ring in time
 */
async function onRing (target) {
  if (target === process) {
    process.channel.refCounted() // the answer is a reason to live
    await inTime(answered, 'question for the lane')
    process.channel.unrefCounted()
  } else {
    const ready = await inTime(internalMessage(target, READY), 'message of the preload')
    assert.strictEqual(ready.lane.send, 'ring', ready.lane.reason)
    assert.deepStrictEqual(lane(target), RING, 'of the parent')
    target.send({ cmd: ASK })
    const answer = await inTime(internalMessage(target, ANSWER), 'lane of the child')
    assert.deepStrictEqual(answer.lane, RING, 'of the child')
  }
}

module.exports = { answer, internalMessage, onRing }
