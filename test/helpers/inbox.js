'use strict'

// The messages of a channel as a queue to await, so that none is missed between
// two awaits; and the end of a child, awaited.

const assert = require('node:assert')

const DEADLINE = 15_000

// A child that a failed test leaves behind would keep the test run alive.
const running = new Set()

globalThis.after?.('no child is left', () => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {string} what
 * @returns {Promise<T>} rejects when `promise` takes too long
 */
async function inTime (promise, what, deadline = DEADLINE) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} in ${deadline} ms`)), deadline)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

class Inbox {
  #target
  #messages = []
  #waiting = null
  #end = null

  /** @param {import('node:child_process').ChildProcess} target */
  constructor (target) {
    this.#target = target
    running.add(target)
    target.once('exit', () => running.delete(target))
    this.exited = new Promise((resolve) => {
      target.once('exit', (code, signal) => resolve({ code, signal }))
    })
    target.on('message', (message) => {
      this.#messages.push(message)
      this.#waiting?.()
    })
    target.once('disconnect', () => this.#finish(new Error('the channel closed')))
    target.on('error', (error) => this.#finish(error))
  }

  #finish (error) {
    this.#end ??= error
    this.#waiting?.()
  }

  /** The next message; rejects if the channel ends without one. */
  async next () {
    const [message] = await this.take(1)
    return message
  }

  /** The next `count` messages. */
  async take (count) {
    const enough = new Promise((resolve, reject) => {
      this.#waiting = () => {
        if (this.#messages.length >= count) resolve()
        else if (this.#end) reject(this.#end)
      }
      this.#waiting()
    })
    try {
      await inTime(enough, `message (have ${this.#messages.length} of ${count})`)
    } finally {
      this.#waiting = null
    }
    return this.#messages.splice(0, count)
  }

  /** Disconnects and waits for the child to end by itself, without a fault. */
  async close () {
    if (this.#target.connected) this.#target.disconnect()
    const end = await inTime(this.exited, 'exit')
    assert.deepStrictEqual(end, { code: 0, signal: null })
  }
}

module.exports = { Inbox, inTime }
