'use strict'

// A long sequence of messages of mixed sizes and kinds, the same in every
// process: a receiver knows what must come next.

const { isDeepStrictEqual } = require('node:util')
const { generator } = require('./random-value.js')

const TEXT = 'The quick brown fox jumps over the lazy dog, "\u00e4\u00f6\u00fc" and \u20ac. '.repeat(2000)

function length (random) {
  const kind = random()
  if (kind < 0.002) return Math.floor(random() * 100_000)
  if (kind < 0.05) return Math.floor(random() * 3000)
  return Math.floor(random() * 200)
}

/**
 * @param {number} count
 * @param {'json' | 'advanced'} serialization
 * @returns {any[]}
 */
function makeSequence (count, serialization) {
  const random = generator(7)
  return Array.from({ length: count }, (_, index) => {
    const start = Math.floor(random() * 1000)
    const text = TEXT.slice(start, start + length(random))
    switch (index % 4) {
      case 0: return `${index} ${text}`
      case 1: return { index, text, list: [index, null, true] }
      case 2: return index
      default: return serialization === 'advanced'
        ? { index, bytes: Buffer.from(text) }
        : [index, text]
    }
  })
}

/**
 * A listener that compares what comes with the sequence.
 * @param {any[]} sequence
 * @param {(wrong: {index: number, message: any} | null) => void} done called
 *   with the first message that is not the expected one, or with null after the
 *   last
 */
function expectSequence (sequence, done) {
  let next = 0
  return (message) => {
    const index = next++
    if (!isDeepStrictEqual(message, sequence[index])) done({ index, message })
    else if (next === sequence.length) done(null)
  }
}

/**
 * Sends the sequence at once.
 * @param {{send: Function}} target
 * @param {any[]} sequence
 * @returns {Promise<number[]>} the indices, in the order of the callbacks
 */
function sendSequence (target, sequence) {
  return new Promise((resolve, reject) => {
    const called = []
    for (const [index, message] of sequence.entries()) {
      target.send(message, (error) => {
        if (error) reject(error)
        if (called.push(index) === sequence.length) resolve(called)
      })
    }
  })
}

module.exports = { expectSequence, makeSequence, sendSequence }
