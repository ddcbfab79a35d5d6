'use strict'

// The messages that the benchmarks send, and the bytes that carry them.

const v8 = require('node:v8')

const TEXT = 'The quick brown fox jumps over the lazy dog'

/**
 * @param {{kind: 'string' | 'object', len?: number, quoted?: boolean}} options
 *   a string of `len` dots, `quoted` for the JSON text of that string; or a
 *   small object
 */
function makeMessage ({ kind, len, quoted }) {
  if (kind === 'object') return { id: 123, name: 'hello', ok: true, list: [1, 2, 3], text: TEXT }
  const dots = '.'.repeat(len)
  return quoted ? JSON.stringify(dots) : dots
}

/** What a message counts for in MB/s: a string its length, an object its JSON text. */
function sizeOf (message) {
  return typeof message === 'string' ? message.length : JSON.stringify(message).length
}

/**
 * A message as it travels on the channel.
 * @param {any} message
 * @param {'json' | 'advanced'} serialization
 * @returns {Buffer}
 */
function makeFrame (message, serialization) {
  if (serialization === 'json') return Buffer.from(`${JSON.stringify(message)}\n`)
  const body = v8.serialize(message)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  return Buffer.concat([length, body])
}

module.exports = { makeFrame, makeMessage, sizeOf }
