'use strict'

// Counts the messages of a trial.
//
// Time of a trial:
//   first message   the sender is there; the warm-up begins
//   + warmUp        the next message opens the window
//   + duration      the next message closes it; it counts, the opening one does
//                   not, so a few slow messages give an unbiased rate too
// Where the window has not closed after `limit` seconds from the end of the
// warm-up, or where the sender has given up, the result is what arrived since
// the end of the warm-up, over that whole time. Only whole messages are ever
// counted.

const assert = require('node:assert')
const { performance } = require('node:perf_hooks')
const { sizeOf } = require('./messages.js')
const { fail } = require('./trial.js')

const FIRST_MESSAGE_DEADLINE = 20_000

const nothing = () => {}

/**
 * @param {object} options
 * @param {{warmUp: number, duration: number, limit: number}} options.trial in seconds
 * @param {any[]} options.messages what has to arrive, in turn, over and over
 * @param {(message: any) => void} [options.greet] gets the first message, which
 *   is none of them
 * @param {() => number | null} options.cpu seconds of CPU time so far
 * @param {() => void} [options.onWarm] at the end of the warm-up, and
 * @param {() => void} [options.onOpen] whenever what has been counted is
 *   forgotten: there, and when the window opens
 * @param {(result: object) => void} options.onEnd
 */
function createCounter ({
  trial, messages, greet = null, cpu, onWarm = nothing, onOpen = nothing, onEnd
}) {
  let count = 0
  let atNextMessage = begin
  let start = null // the end of the warm-up
  let opening = null
  const seen = []
  let isOver = false

  const firstMessageTimer = setTimeout(() => {
    fail(new Error(`No message within ${FIRST_MESSAGE_DEADLINE / 1000} s`))
  }, FIRST_MESSAGE_DEADLINE)

  function add (message) {
    count++
    if (atNextMessage !== null) atNextMessage(message)
  }

  function keep (message) {
    seen.push({ message, expected: messages[(count - 1) % messages.length] })
  }

  function sample () {
    return { count, time: performance.now(), cpu: cpu() }
  }

  function begin (message) {
    clearTimeout(firstMessageTimer)
    atNextMessage = null
    if (greet === null) {
      keep(message)
    } else {
      count = 0
      greet(message)
    }
    setTimeout(endWarmUp, trial.warmUp * 1000)
  }

  function endWarmUp () {
    onWarm()
    start = sample()
    onOpen()
    atNextMessage = open
    setTimeout(() => finish(), trial.limit * 1000)
  }

  function open (message) {
    keep(message)
    opening = sample()
    onOpen()
    atNextMessage = null
    setTimeout(() => { atNextMessage = close }, trial.duration * 1000)
  }

  function close (message) {
    keep(message)
    finish({ closed: true })
  }

  /** Ends it before its time, too. */
  function finish ({ closed = false, memoryLimitReached = false } = {}) {
    if (isOver) return
    isOver = true
    atNextMessage = null
    if (start === null) return fail(new Error('The sender gave up during the warm-up'))
    const first = closed ? opening : start
    const last = sample()

    // Nothing below belongs to the measurement.
    for (const { message, expected } of seen) assert.deepStrictEqual(message, expected)
    onEnd({
      count: last.count - first.count,
      seconds: (last.time - first.time) / 1000,
      bytesPerMessage: sizeOf(messages),
      cpuSeconds: first.cpu === null || last.cpu === null ? null : last.cpu - first.cpu,
      closed,
      memoryLimitReached
    })
  }

  return { add, finish }
}

module.exports = { createCounter }
