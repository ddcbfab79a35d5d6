'use strict'

// What of Node is looked at before it is used: a part that is missing or has
// another name is told by name, and the channel stays with Node.

const assert = require('node:assert')
const { constants } = require('node:buffer')
const { StringDecoder } = require('node:string_decoder')
const v8 = require('node:v8')
const internals = require('../../lib/internals.js')
const { tracked } = require('../helpers/children.js')
const { PARENTS, SERIALIZATIONS, fixture } = require('../helpers/parties.js')
const { lengthFrame } = require('../helpers/wire.js')

const symbolOf = (object, name) =>
  Object.getOwnPropertySymbols(object).find(({ description }) => description === name)

// A made-up object with all parts of a channel, each of which a test can spoil.
function madeUp () {
  const pending = Symbol('kPendingMessages')
  const handleKey = Symbol('kChannelHandle')
  const jsonKey = Symbol('kJSONBuffer')
  const control = { refCounted () {}, unrefCounted () {}, [pending]: [] }
  const handle = { onread () {}, writeBuffer () {}, fd: 3, writeQueueSize: 0, [jsonKey]: '' }
  const target = { channel: control, _send () {}, _disconnect () {}, _handleQueue: null, [handleKey]: handle }
  return { target, control, handle, pending, handleKey, jsonKey }
}

describe('internals: stream', () => {
  it('has what reading and writing need, in this Node', () => {
    const { missing, WriteWrap, streamBaseState, ...indices } = internals.stream
    assert.strictEqual(missing, null)
    assert.strictEqual(typeof WriteWrap, 'function')
    assert(streamBaseState instanceof Int32Array)
    assert.strictEqual(new Set(Object.values(indices)).size, 3)
  })
})

describe('internals: inspectChannel()', () => {
  for (const serialization of SERIALIZATIONS) {
    it(`finds all parts of a channel of this Node, ${serialization}`, () => {
      const child = tracked(PARENTS.stock.fork(fixture('lifecycle-echo.js'), [], { serialization }))
      const parts = internals.inspectChannel(child)
      assert.deepStrictEqual([parts.missing, parts.mode], [null, serialization])
      assert.strictEqual(parts.control, child.channel)
      assert.strictEqual(parts.handle.fd, child.channel.fd)
      assert.deepStrictEqual(parts.control[parts.pending], [])
      child.disconnect()
    })
  }

  it('finds all parts of the made-up channel', () => {
    const { target, control, handle, pending } = madeUp()
    assert.deepStrictEqual(internals.inspectChannel(target), {
      missing: null, handle, control, pending, mode: 'json'
    })
  })

  const SPOILED = {
    'target.channel': ({ target }) => { target.channel = null },
    'channel.refCounted()': ({ control }) => { delete control.refCounted },
    'channel.unrefCounted()': ({ control }) => { control.unrefCounted = 1 },
    kPendingMessages: ({ control, pending }) => {
      delete control[pending]
      control[Symbol('kWaitingMessages')] = []
    },
    kChannelHandle: ({ target, handle, handleKey }) => {
      delete target[handleKey]
      target[Symbol('kHandleOfChannel')] = handle
    },
    'kChannelHandle.onread()': ({ handle }) => { handle.onread = undefined },
    'kChannelHandle.writeBuffer()': ({ handle }) => { delete handle.writeBuffer },
    'kChannelHandle.fd': ({ handle }) => { delete handle.fd },
    'kChannelHandle.writeQueueSize': ({ handle }) => { handle.writeQueueSize = '0' },
    '_send()': ({ target }) => { delete target._send },
    '_disconnect()': ({ target }) => { delete target._disconnect },
    _handleQueue: ({ target }) => { delete target._handleQueue },
    'kJSONBuffer or kMessageBuffer': ({ handle, jsonKey }) => { delete handle[jsonKey] }
  }
  for (const [name, spoil] of Object.entries(SPOILED)) {
    it(`tells that ${name} is missing`, () => {
      const parts = madeUp()
      spoil(parts)
      assert.deepStrictEqual(internals.inspectChannel(parts.target), { missing: name })
    })
  }

  it('takes pending messages of another shape for missing', () => {
    const { target, control, pending } = madeUp()
    control[pending] = new Set()
    assert.deepStrictEqual(internals.inspectChannel(target), { missing: 'kPendingMessages' })
  })
})

describe('internals: unfinishedBytes()', () => {
  // As Node's reader leaves the channel when a read ends after these bytes.
  function afterRead (bytes) {
    const decoder = new StringDecoder('utf8')
    return {
      [Symbol('kJSONBuffer')]: decoder.write(bytes).split('\n').at(-1),
      [Symbol('kStringDecoder')]: decoder
    }
  }

  it('has nothing of a channel that has read nothing', () => {
    const handle = { [Symbol('kJSONBuffer')]: '', [Symbol('kStringDecoder')]: undefined }
    assert.deepStrictEqual(internals.unfinishedBytes(handle, 'json'), Buffer.alloc(0))
    assert.deepStrictEqual(
      internals.unfinishedBytes({ [Symbol('kMessageBuffer')]: [] }, 'advanced'), Buffer.alloc(0)
    )
  })

  it('has the bytes of a line cut anywhere, also inside of a character', () => {
    const line = Buffer.from('"aé€😀z')
    for (let cut = 0; cut <= line.length; cut++) {
      const read = Buffer.concat([Buffer.from('"whole"\n'), line.subarray(0, cut)])
      assert.deepStrictEqual(
        internals.unfinishedBytes(afterRead(read), 'json'), line.subarray(0, cut), `cut at ${cut}`
      )
    }
  })

  it('has the bytes of a frame in any number of pieces', () => {
    const frame = lengthFrame(v8.serialize('a frame'))
    for (let cut = 0; cut < frame.length; cut++) {
      const pieces = [frame.subarray(0, cut), frame.subarray(cut, -1)].filter(({ length }) => length)
      const handle = { [Symbol('kMessageBuffer')]: pieces }
      assert.deepStrictEqual(internals.unfinishedBytes(handle, 'advanced'), frame.subarray(0, -1))
    }
  })

  for (const serialization of SERIALIZATIONS) {
    it(`understands what the reader of this Node leaves, ${serialization}`, async () => {
      const child = tracked(PARENTS.stock.fork(fixture('malformed-peer.js'), [], { serialization }))
      const handle = child[symbolOf(child, 'kChannelHandle')]
      const begun = serialization === 'json'
        ? Buffer.from('"zwölf €').subarray(0, -1)
        : lengthFrame(v8.serialize('a frame')).subarray(0, -1)
      child.send({ command: 'write', hex: begun.toString('hex') })
      while (!handle.buffering) await new Promise((resolve) => setImmediate(resolve))
      assert.deepStrictEqual(internals.unfinishedBytes(handle, serialization), begun)
      child.kill()
    })
  }
})

describe('internals: limits', () => {
  it('allows no message that V8 cannot hold', () => {
    const { pipe, ring } = internals.MAX_MESSAGE_SIZE
    const { MAX_STRING_LENGTH } = constants
    assert.strictEqual(pipe.json, MAX_STRING_LENGTH)
    // Two bytes for each unit.
    assert.strictEqual(ring.json, 2 * MAX_STRING_LENGTH)
    for (const { advanced } of [pipe, ring]) assert(advanced > 2 ** 30 && advanced < 2 ** 32)
  })
})
