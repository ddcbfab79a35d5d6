'use strict'

// Everything of Node that is used here without being documented. It is looked
// at before it is used; `missing` says what is not as expected, and then no
// channel leaves Node's own code.

const { constants } = require('node:buffer')

const CHANNEL_HANDLE = 'kChannelHandle'
const JSON_BUFFER = 'kJSONBuffer'
const STRING_DECODER = 'kStringDecoder'
const MESSAGE_BUFFER = 'kMessageBuffer'
const PENDING_MESSAGES = 'kPendingMessages'

// process.binding() is deprecated by documentation only; with
// --pending-deprecation it would print a warning that the program did not earn.
function quietBinding (name) {
  const own = Object.getOwnPropertyDescriptor(process, 'noDeprecation')
  process.noDeprecation = true
  try {
    return process.binding(name) // eslint-disable-line n/no-deprecated-api
  } finally {
    if (own) Object.defineProperty(process, 'noDeprecation', own)
    else delete process.noDeprecation
  }
}

// What reading and writing need of the stream_wrap binding, or what is missing.
function detectStream () {
  let stream
  try {
    stream = quietBinding('stream_wrap')
  } catch (error) {
    return { missing: `process.binding('stream_wrap'): ${error.message}` }
  }
  const { WriteWrap, streamBaseState } = stream
  if (typeof WriteWrap !== 'function') return { missing: 'WriteWrap' }
  if (!(streamBaseState instanceof Int32Array)) return { missing: 'streamBaseState' }
  for (const name of ['kReadBytesOrError', 'kArrayBufferOffset', 'kLastWriteWasAsync']) {
    if (!(stream[name] < streamBaseState.length)) return { missing: name }
  }
  return {
    missing: null,
    WriteWrap,
    streamBaseState,
    kReadBytesOrError: stream.kReadBytesOrError,
    kArrayBufferOffset: stream.kArrayBufferOffset,
    kLastWriteWasAsync: stream.kLastWriteWasAsync
  }
}

function symbolOf (object, description) {
  return Object.getOwnPropertySymbols(object)
    .find((symbol) => symbol.description === description)
}

/**
 * Finds the parts of a channel on its object.
 * @param {object} target a ChildProcess, or `process` in a child
 * @returns {{missing: string} | {missing: null, handle: object, control: object,
 *   pending: symbol, mode: 'json' | 'advanced'}} `handle` is the Pipe, `control`
 *   the object behind `target.channel`, `pending` the key on it of the messages
 *   that wait for a listener
 */
function inspectChannel (target) {
  const { channel: control } = target
  if (!control) return { missing: 'target.channel' }
  for (const name of ['refCounted', 'unrefCounted']) {
    if (typeof control[name] !== 'function') return { missing: `channel.${name}()` }
  }
  const pending = symbolOf(control, PENDING_MESSAGES)
  if (!Array.isArray(control[pending])) return { missing: PENDING_MESSAGES }

  const handle = target[symbolOf(target, CHANNEL_HANDLE)]
  if (!handle) return { missing: CHANNEL_HANDLE }
  for (const name of ['onread', 'writeBuffer']) {
    if (typeof handle[name] !== 'function') return { missing: `${CHANNEL_HANDLE}.${name}()` }
  }
  for (const name of ['fd', 'writeQueueSize']) {
    if (typeof handle[name] !== 'number') return { missing: `${CHANNEL_HANDLE}.${name}` }
  }
  for (const name of ['_send', '_disconnect']) {
    if (typeof target[name] !== 'function') return { missing: `${name}()` }
  }
  if (!('_handleQueue' in target)) return { missing: '_handleQueue' }

  const mode = symbolOf(handle, JSON_BUFFER)
    ? 'json'
    : symbolOf(handle, MESSAGE_BUFFER) ? 'advanced' : undefined
  if (!mode) return { missing: `${JSON_BUFFER} or ${MESSAGE_BUFFER}` }
  return { missing: null, handle, control, pending, mode }
}

/**
 * The bytes of a message that Node has begun to read, for whoever reads on.
 * @param {object} handle as of inspectChannel()
 * @param {'json' | 'advanced'} mode
 * @returns {Buffer}
 */
function unfinishedBytes (handle, mode) {
  if (mode === 'advanced') return Buffer.concat(handle[symbolOf(handle, MESSAGE_BUFFER)])
  const text = Buffer.from(handle[symbolOf(handle, JSON_BUFFER)])
  const decoder = handle[symbolOf(handle, STRING_DECODER)]
  if (!decoder?.lastNeed) return text
  const begun = decoder.lastChar.subarray(0, decoder.lastTotal - decoder.lastNeed)
  return Buffer.concat([text, begun])
}

/**
 * The longest message that V8 can hold as one string or buffer, in bytes. On the
 * ring, text may have two of them for each unit of a string.
 */
const V8_SIZE = Math.min(constants.MAX_LENGTH, 2 ** 32 - 1)
const MAX_MESSAGE_SIZE = {
  pipe: { json: constants.MAX_STRING_LENGTH, advanced: V8_SIZE },
  ring: { json: 2 * constants.MAX_STRING_LENGTH, advanced: V8_SIZE }
}

module.exports = {
  MAX_MESSAGE_SIZE,
  stream: detectStream(),
  inspectChannel,
  unfinishedBytes
}
