'use strict'

// The messages that the benchmarks send, and the bytes that carry them.

const v8 = require('node:v8')
const { makeSmallObjects } = require('./small-objects.js')

const TEXT = 'The quick brown fox jumps over the lazy dog'

const dots = (len) => '.'.repeat(len)

// Each with its title, and the messages that are sent in turn.
const KINDS = {
  string: {
    title: ({ len, quoted }) => `${quoted ? 'quoted string' : 'string'} of ${len}`,
    make: ({ len, quoted }) => [quoted ? JSON.stringify(dots(len)) : dots(len)]
  },
  payload: {
    title: ({ len }) => `{payload} of ${len}`,
    make: ({ len }) => [{ payload: dots(len) }]
  },
  object: {
    title: () => 'small object',
    make: () => [{ id: 123, name: 'hello', ok: true, list: [1, 2, 3], text: TEXT }]
  },
  objects: {
    title: () => 'small objects',
    make: makeSmallObjects
  }
}

const HAVE_LENGTH = ['string', 'payload']

/**
 * @param {{kind: string, len?: number, quoted?: boolean}} options 'string' is
 *   `len` dots, `quoted` the JSON text of that; 'payload' an object that holds
 *   that string; 'object' one small object; 'objects' many different ones
 * @returns {any[]} what is sent in turn, over and over
 */
function makeMessages (options) {
  return KINDS[options.kind].make(options)
}

/** @returns {() => any} which gives the messages in turn, over and over */
function inTurn (messages) {
  let last = messages.length - 1
  return () => {
    last = last + 1 < messages.length ? last + 1 : 0
    return messages[last]
  }
}

/** Rows with a `title` and the `message` options: each kind, in each length if it has one. */
function messageRows (kinds, lengths, quoted = false) {
  return kinds.flatMap((kind) => HAVE_LENGTH.includes(kind)
    ? lengths.map((len) => ({ kind, len, ...(kind === 'string' ? { quoted } : {}) }))
    : [{ kind }]
  ).map((message) => ({ title: KINDS[message.kind].title(message), message }))
}

/**
 * What one of the messages counts for in MB/s, on average: a string its length,
 * an object its JSON text.
 */
function sizeOf (messages) {
  const sizes = messages.map((message) =>
    typeof message === 'string' ? message.length : JSON.stringify(message).length)
  return sizes.reduce((sum, size) => sum + size) / messages.length
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

module.exports = { inTurn, makeFrame, makeMessages, messageRows, sizeOf }
