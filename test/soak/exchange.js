'use strict'

// One end of the soak, and as a program the child: sends its own sequence and
// checks the other's. Arguments: seed, number of messages, serialization.

const { generator } = require('../helpers/random-value.js')

const MIB = 2 ** 20
const LARGEST = 6 * MIB
// What may wait at the sender, in bytes of messages: a soak is no flood.
const AHEAD = 16 * MIB
// A part of the large texts, in characters, that all of them are cut from.
const POOL = 1024

const END = 'the end of the soak'

const SIDES = { parent: 1, child: 2 }

// Texts of each kind that a ring tells apart, as long as the longest message.
const ALPHABETS = [
  (i) => 0x20 + i % 90,
  (i) => 0xa0 + i % 90,
  (i) => 0x20ac + i % 90
]
let pools = null

function textOf (alphabet, from, length) {
  pools ??= ALPHABETS.map((codeOf) =>
    String.fromCharCode(...Array.from({ length: POOL }, (_, i) => codeOf(i * 7 + (i >> 3))))
      .repeat(LARGEST / POOL + 2))
  return pools[alphabet].slice(from, from + length)
}

function lengthOf (random) {
  const which = random()
  if (which < 0.0001) return Math.floor(random() * LARGEST)
  if (which < 0.001) return Math.floor(random() * MIB)
  if (which < 0.02) return Math.floor(random() * 40_000)
  return Math.floor(random() * 300)
}

/** The message of that number. Its parts say the number again, and its length. */
function messageOf (seed, side, number, advanced) {
  const random = generator(seed + SIDES[side] * 0x9e3779b1 + number * 0x85ebca6b)
  const kind = Math.floor(random() * 10)
  if (kind === 0) return number
  if (kind === 1) return number + 0.5
  const length = lengthOf(random)
  const text = textOf(Math.floor(random() * ALPHABETS.length), Math.floor(random() * POOL), length)
  if (kind < 6) return `${number} ${length} ${text}`
  if (kind === 6 && advanced) return { number, bytes: Buffer.from(text, 'utf16le') }
  if (kind === 7) return [number, null, true, { text, list: [length, -1.5, ''] }]
  return { number, text, on: number % 2 === 0, nested: { length } }
}

function sizeOf (message) {
  if (typeof message === 'string') return message.length
  if (typeof message === 'number') return 8
  const { text, bytes } = Array.isArray(message) ? message[3] : message
  return (text ?? bytes).length
}

// Faster than isDeepStrictEqual(), for values of messageOf() alone.
function isSame (a, b) {
  if (typeof a !== 'object' || a === null) return Object.is(a, b)
  if (typeof b !== 'object' || b === null || Array.isArray(a) !== Array.isArray(b)) return false
  if (Buffer.isBuffer(a)) return Buffer.isBuffer(b) && a.equals(b)
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => isSame(a[key], b[key]))
}

function describe (message) {
  const text = JSON.stringify(message) ?? String(message)
  return text.length > 100 ? `${text.slice(0, 100)}... (${text.length})` : text
}

class Exchange {
  sent = 0
  received = 0
  bytes = 0
  #target
  #options
  #waiting = 0 // bytes that the lane has not taken yet
  #isSending = false
  #isEarly = false // by time, not by number
  #hasEnded = { here: false, there: false }
  #settle

  constructor (target, { seed, side, count, advanced }) {
    this.#target = target
    this.#options = { seed, side, count, advanced, other: side === 'parent' ? 'child' : 'parent' }
    this.finished = new Promise((resolve, reject) => { this.#settle = { resolve, reject } })
    target.on('message', (message) => this.#receive(message))
    target.once('disconnect', () => this.#settle.reject(new Error('the channel was closed')))
    this.#send()
  }

  /** Sends no more than it has sent. */
  stop () {
    if (this.sent >= this.#options.count) return
    this.#isEarly = true
    this.#options.count = Math.min(this.#options.count, this.sent)
    this.#send()
  }

  #send () {
    const { seed, side, count, advanced } = this.#options
    if (this.#isSending || this.#hasEnded.here) return
    this.#isSending = true
    const turn = generator(seed + this.sent)
    for (let left = 1 + Math.floor(turn() * 500); left > 0 && this.sent < count && this.#waiting < AHEAD; left--) {
      const message = messageOf(seed, side, this.sent++, advanced)
      const size = sizeOf(message)
      this.bytes += size
      // Callbacks for some, so that the way without them is gone as well.
      if (size > 1000 || turn() < 0.1) {
        this.#waiting += size
        this.#target.send(message, (error) => {
          if (error) this.#settle.reject(error)
          this.#waiting -= size
        })
      } else {
        this.#target.send(message)
      }
    }
    this.#isSending = false
    if (this.sent < count) setImmediate(() => this.#send())
    else this.#end()
  }

  #end () {
    this.#hasEnded.here = true
    this.#target.send({ end: END, sent: this.sent, isEarly: this.#isEarly })
    this.#finish()
  }

  #receive (message) {
    if (message?.end === END) return this.#endOfOther(message)
    const { seed, other, advanced } = this.#options
    const number = this.received++
    const expected = messageOf(seed, other, number, advanced)
    this.bytes += sizeOf(expected)
    if (!isSame(message, expected)) {
      this.#settle.reject(new Error(
        `message ${number} of the ${other} is ${describe(message)} instead of ${describe(expected)}`
      ))
    }
    this.#pause(number)
  }

  // A receiver that does not come to read for a while, now and then.
  #pause (number) {
    const random = generator(this.#options.seed ^ number)
    if (random() > 0.0001) return
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, random() * 50)
  }

  #endOfOther ({ sent, isEarly }) {
    if (sent !== this.received) {
      this.#settle.reject(new Error(`${sent} were sent, ${this.received} received`))
    }
    this.#hasEnded.there = true
    if (isEarly) this.stop()
    this.#finish()
  }

  #finish () {
    if (this.#hasEnded.here && this.#hasEnded.there) this.#settle.resolve()
  }
}

/**
 * Begins to send and to check.
 * @param {object} target a ChildProcess or `process`
 * @param {{seed: number, side: 'parent' | 'child', count: number, advanced:
 *   boolean}} options
 * @returns {Exchange} `finished` when both sides are at their end; rejects with
 *   the first fault
 */
function exchange (target, options) {
  return new Exchange(target, options)
}

if (require.main === module) {
  const [seed, count, serialization] = process.argv.slice(2)
  const options = {
    seed: Number(seed), side: 'child', count: Number(count), advanced: serialization === 'advanced'
  }
  exchange(process, options).finished.catch((error) => {
    console.error(`child: ${error.message}`)
    process.exit(1)
  })
}

module.exports = { exchange }
