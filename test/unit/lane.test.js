'use strict'

// Lane and createRing() of the addon, called directly: both sides of a ring in
// one process.

const assert = require('node:assert')
const fs = require('node:fs')
const { isDeepStrictEqual } = require('node:util')
const { binding } = require('../../lib/binding.js')
const { describeThrown, describeValue } = require('../helpers/describe-value.js')
const { inTime } = require('../helpers/inbox.js')
const { SERIALIZATIONS } = require('../helpers/parties.js')
const { randomValue } = require('../helpers/random-value.js')

const SMALL = 64 * 1024
const USUAL = 2 * 1024 * 1024
const HEADER = 8 // bytes of a record

const turn = () => new Promise((resolve) => setImmediate(resolve))
const descriptors = () => fs.readdirSync('/proc/self/fd').length

const open = new Set()

class Side {
  #received = []
  #waiting = null
  faults = []

  constructor (side, descriptors, options) {
    this.lane = new binding.Lane({
      side, socket: -1, advanced: true, spin: true, maxMessageSize: 2 ** 30, ...descriptors, ...options
    }, (values, faults) => {
      this.#received.push(...values)
      this.faults.push(...faults)
      this.#waiting?.()
    }, () => { this.turns++ })
    this.turns = 0 // in which messages left that had waited
    this.advanced = options.advanced
    open.add(this.lane)
  }

  send (message) {
    const waiting = this.lane.send(message)
    return waiting === undefined ? this.lane.text(JSON.stringify(message)) : waiting
  }

  /** What there is to read. */
  read () {
    return this.lane.read(this.faults)
  }

  /** The next messages that the event loop brings. */
  async receive (count) {
    const enough = new Promise((resolve) => {
      this.#waiting = () => this.#received.length >= count && resolve()
      this.#waiting()
    })
    await inTime(enough, `${count} messages`)
    return this.#received.splice(0, count)
  }
}

/** Parent and child. */
function makePair (serialization, { ringSize = SMALL, ...options } = {}) {
  const [segment, poll, signal, childPoll, childSignal] = binding.createRing(ringSize)
  options.advanced = serialization === 'advanced'
  const parent = new Side(0, { segment, poll, signal }, options)
  const child = new Side(1, { segment, poll: childPoll, signal: childSignal }, options)
  binding.closeDescriptors([segment])
  return [parent, child]
}

function asReceived (serialization, value) {
  return serialization === 'json' ? JSON.parse(JSON.stringify(value)) : value
}

afterEach(async () => {
  for (const lane of open) lane.close()
  open.clear()
  await turn()
})

const PRIMITIVES = [
  '', 'a', '0123456', '01234567', '012345678', '"\\\n\0\x7f', '\x80\xe4\xff', '\u0100', 'a\u20ac',
  '\ud83d\ude00', '\ud800', '\udc00a', 'a\ud800', '\udc00\ud800', '\ufeff', '\u2028\u2029', '\uffff',
  'x'.repeat(1000), '\xff'.repeat(1001), '\u20ac'.repeat(1002),
  0, -0, 1, -1, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, -(2 ** 31), -(2 ** 31) - 1, 2 ** 32 - 1, 2 ** 32, -(2 ** 32),
  0.5, -0.5, 1e-7, 5e-324, Number.MAX_VALUE, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 2 ** 53 + 2,
  NaN, Infinity, -Infinity, true, false, null
]
const OBJECTS = [
  {}, [], { a: 1, b: [true, null, 'text', { '\u20ac': -0 }] }, [[], [[]]], { 'a\ud800': 'b\udc00' },
  { cmd: 'NODE_X' }, Array.from({ length: 300 }, (_, i) => ({ i, text: 'x'.repeat(i) }))
]
const ADVANCED = [
  undefined, 2n ** 70n, new Date(5), /x/gi, new Map([[1, new Set(['a'])]]), new Error('text'),
  Buffer.from('buffer'), new Float64Array([1, NaN]), new DataView(new ArrayBuffer(5)), new ArrayBuffer(9),
  Buffer.alloc(100_000, 7), [, 1] // eslint-disable-line no-sparse-arrays
]

// Text whose period is prime, so that no two parts are alike; characters up to
// `limit`.
function textOf (length, limit) {
  const period = Array.from({ length: 1009 }, (_, i) => String.fromCharCode(limit - (i * i) % 71)).join('')
  return period.repeat(Math.ceil(length / period.length)).slice(0, length)
}

// Lengths around all borders: of the alignment, of a record, of a part, and of
// the ring.
function lengthsAround (ringSize) {
  const record = ringSize / 4 - HEADER
  const part = Math.min(64 * 1024, record)
  const places = [
    8, 16, record, record + HEADER, 2 * part, 5 * part, 9 * part, ringSize - HEADER, ringSize, 2 * ringSize
  ]
  return [...new Set(places.flatMap((place) => [place - 1, place, place + 1]))].sort((a, b) => a - b)
}

describe('binding: Lane', () => {
  for (const serialization of SERIALIZATIONS) {
    describe(serialization, () => {
      const values = [...PRIMITIVES, ...OBJECTS, ...(serialization === 'advanced' ? ADVANCED : [])]

      for (const [from, title] of ['parent to child', 'child to parent'].entries()) {
        it(`carries every kind of value, ${title}`, async () => {
          const pair = makePair(serialization)
          const [sender, receiver] = from === 0 ? pair : pair.reverse()
          for (const value of values) sender.send(value)
          const received = await receiver.receive(values.length)
          for (const [i, value] of values.entries()) {
            assert.strictEqual(describeValue(received[i]), describeValue(asReceived(serialization, value)))
          }
          assert.deepStrictEqual(receiver.faults, [])
        })
      }

      it('gives each value at once to a reader that asks', () => {
        const [parent, child] = makePair(serialization)
        for (const value of PRIMITIVES) {
          assert.strictEqual(child.lane.isReadable(), false)
          assert.strictEqual(parent.send(value), 0)
          assert.strictEqual(child.lane.isReadable(), true)
          const received = child.read()
          assert.strictEqual(received.length, 1)
          assert.strictEqual(describeValue(received[0]), describeValue(asReceived(serialization, value)))
        }
      })

      for (const ringSize of [SMALL, USUAL]) {
        it(`carries messages of every size around the borders of a ring of ${ringSize}`, async () => {
          const [parent, child] = makePair(serialization, { ringSize })
          const makers = {
            latin1: (length) => textOf(length, 0xff),
            utf16: (length) => textOf(Math.ceil(length / 2), 0x20ff),
            // What the text has more than its content is short.
            json: (length) => [textOf(Math.max(length - 4, 0), 0x7e)],
            unicode: (length) => ({ a: textOf(length >> 1, 0x20ff) }),
            ...(serialization === 'advanced' && {
              buffer: (length) => Buffer.from(textOf(Math.max(length - 9, 0), 0xff), 'latin1')
            })
          }
          const lengths = lengthsAround(ringSize)
          for (const make of Object.values(makers)) {
            const messages = lengths.map(make)
            for (const message of messages) parent.send(message)
            const received = await child.receive(messages.length)
            for (const [i, message] of messages.entries()) {
              assert(isDeepStrictEqual(received[i], message), `${make}, ${lengths[i]}`)
            }
          }
          assert.deepStrictEqual(child.faults, [])
          assert.strictEqual(parent.lane.waiting(), 0)
        })
      }

      it('keeps the order of what waits, and tells how much that is', async () => {
        const [parent, child] = makePair(serialization)
        const messages = Array.from({ length: 300 }, (_, i) => [i, 'x'.repeat(i % 7 === 0 ? 40_000 : i)])
        let before = 0
        for (const message of messages) {
          const waiting = parent.send(message)
          assert(waiting >= before)
          before = waiting
        }
        assert(before > 1_000_000)
        assert.strictEqual(parent.lane.waiting(), before)
        assert.strictEqual(parent.lane.sent(), messages.length)
        assert(parent.lane.published() < messages.length)
        assert.deepStrictEqual(await child.receive(messages.length), messages)
        await turn()
        assert.deepStrictEqual([parent.lane.waiting(), parent.lane.published()], [0, messages.length])
        assert(parent.turns > 0)
      })

      it('carries random values both ways at once', async () => {
        const pair = makePair(serialization)
        const messages = Array.from({ length: 1000 }, (_, seed) => randomValue(seed, serialization))
        for (const message of messages) for (const side of pair) side.send(message)
        for (const side of pair) {
          const received = await side.receive(messages.length)
          for (const [i, message] of messages.entries()) {
            assert.strictEqual(
              describeValue(received[i]), describeValue(asReceived(serialization, message)), `seed ${i}`)
          }
        }
      })

      it('stops at a switch until its number has come, or a higher one', () => {
        const [parent, child] = makePair(serialization)
        const { lane } = parent
        parent.send('before')
        lane.switch(1)
        parent.send('one')
        lane.switch(3)
        parent.send('three')
        lane.switch(4)
        parent.send('four')
        assert.deepStrictEqual(child.read(), ['before'])
        assert.strictEqual(child.lane.isReadable(), false)
        child.lane.switched(1)
        assert.deepStrictEqual(child.read(), ['one'])
        child.lane.switched(2)
        assert.deepStrictEqual(child.read(), [])
        child.lane.switched(4)
        assert.deepStrictEqual(child.read(), ['three', 'four'])
        child.lane.switched(1)
        lane.switch(2)
        parent.send('late')
        assert.deepStrictEqual(child.read(), ['late'])
      })

      it('counts the programs that say hello, and drops what one had begun', async () => {
        const [parent, child] = makePair(serialization)
        assert.strictEqual(parent.lane.hellos(), 0)
        child.lane.hello(binding.ringVersion)
        child.send('first')
        assert.deepStrictEqual(parent.read(), ['first'])
        assert.strictEqual(parent.lane.hellos(), 1)
        child.lane.hello(binding.ringVersion)
        assert.deepStrictEqual(parent.read(), [])
        assert.strictEqual(parent.lane.hellos(), 2)
      })

      it('reads messages of the largest size, and nothing from a longer one on', () => {
        for (const size of [100, 40_000]) { // in a record, and in parts
          const [parent, child] = makePair(serialization, { maxMessageSize: size, ringSize: USUAL })
          parent.send('x'.repeat(size))
          parent.send('x'.repeat(size + 1))
          parent.send('behind')
          assert.deepStrictEqual(child.read(), ['x'.repeat(size)])
          assert.strictEqual(child.faults.length, 2)
          assert.strictEqual(child.faults[0], 1)
          assert.match(child.faults[1].message, /longer than the maximum/)
          assert.strictEqual(child.lane.isReadable(), false)
          assert.deepStrictEqual(child.read(), [])
        }
      })

      it('is harmless when it is closed', async () => {
        const [parent, child] = makePair(serialization)
        parent.send('unread')
        child.lane.close()
        child.lane.close()
        assert.strictEqual(child.lane.isReadable(), false)
        assert.deepStrictEqual(child.read(), [])
        child.send('to nobody')
        child.send(['to nobody', 'x'.repeat(SMALL)])
        child.lane.hello(1)
        child.lane.switched(1)
        await turn()
        assert.deepStrictEqual(child.read(), [])
        child.send('to nobody')
        assert.deepStrictEqual(parent.read(), [])
      })
    })
  }

  it('in json mode leaves objects to JSON, and takes their text', () => {
    const [parent, child] = makePair('json')
    for (const value of [{}, [], { toJSON: () => 1 }, new Date(), Object('a')]) {
      assert.strictEqual(parent.lane.send(value), undefined)
    }
    assert.strictEqual(child.lane.isReadable(), false)
    parent.lane.text('{"a":[1]}')
    assert.deepStrictEqual(child.read(), [{ a: [1] }])
  })

  it('gives text that is no JSON as a fault in its place', () => {
    const [parent, child] = makePair('json')
    parent.send('before')
    parent.lane.text('{')
    parent.lane.text('\u20ac')
    parent.send('after')
    const received = child.read()
    assert.deepStrictEqual(received, ['before', undefined, undefined, 'after'])
    assert.deepStrictEqual(child.faults.map((fault) => fault.name ?? fault), [
      1, 'SyntaxError', 2, 'SyntaxError'
    ])
  })

  it('sends nothing of a value that cannot be cloned', () => {
    const [parent, child] = makePair('advanced')
    parent.send('before')
    for (const make of [
      () => () => {}, () => Symbol('x'), () => ({ a: [new WeakMap()] }), () => ['x'.repeat(SMALL), () => {}],
      () => ({ get a () { throw new Error('by getter') } })
    ]) {
      assert.throws(() => parent.send(make()), Error)
    }
    parent.send('after')
    assert.deepStrictEqual(child.read(), ['before', 'after'])
    assert.strictEqual(parent.lane.waiting(), 0)
  })

  it('throws what Node throws for a value that cannot be cloned', () => {
    const [parent] = makePair('advanced')
    const thrown = (call) => {
      try {
        call()
      } catch (error) {
        return describeThrown(error)
      }
    }
    const value = { a: () => {} }
    assert.strictEqual(
      thrown(() => parent.send(value)), thrown(() => require('node:v8').serialize(value)))
  })

  it('puts what a getter sends first', async () => {
    const [parent, child] = makePair('advanced')
    for (const text of ['', 'x'.repeat(SMALL)]) {
      parent.send({
        text,
        get a () {
          parent.send('inner')
          parent.send({ get b () { parent.send('innermost'); return 2 } })
          return 1
        }
      })
      assert.deepStrictEqual(await child.receive(4), ['inner', 'innermost', { b: 2 }, { text, a: 1 }])
    }
  })

  it('gives views memory of their own', async () => {
    const [parent, child] = makePair('advanced')
    for (const size of [0, 1, 64, 4096, 20_000, 100_000]) {
      parent.send([Buffer.alloc(size, 7), new Uint8Array(size).fill(8)])
      const [[buffer, array]] = await child.receive(1)
      // What comes next is written over where they came from.
      parent.send('x'.repeat(SMALL))
      await child.receive(1)
      assert(Buffer.isBuffer(buffer))
      assert(buffer.length === size && buffer.every((byte) => byte === 7), `${size}`)
      assert(array.length === size && array.every((byte) => byte === 8), `${size}`)
      assert.deepStrictEqual([array.byteOffset, array.buffer.byteLength], [0, size])
    }
  })

  it('gives strings that stay, when their place in the ring is used again', async () => {
    const [parent, child] = makePair('json')
    const texts = [10, 1000, 16_000, 20_000, 200_000].flatMap((length) => [textOf(length, 0xff), textOf(length, 0x20ff)])
    for (const text of texts) parent.send(text)
    const received = await child.receive(texts.length)
    for (let i = 0; i < 20; i++) parent.send('y'.repeat(SMALL / 2))
    await child.receive(20)
    assert(texts.every((text, i) => received[i] === text))
  })
})

describe('binding: createRing()', () => {
  before(function () {
    if (!fs.existsSync('/proc/self/fd')) this.skip()
  })

  it('makes five descriptors, which closeDescriptors() closes', () => {
    const before = descriptors()
    const ring = binding.createRing(SMALL)
    assert.strictEqual(new Set(ring).size, 5)
    assert.strictEqual(descriptors(), before + 5)
    binding.closeDescriptors(ring)
    assert.strictEqual(descriptors(), before)
  })

  it('refuses sizes that are none of a ring, and keeps no descriptor', () => {
    const before = descriptors()
    for (const size of [0, 1, -1, SMALL - 1, SMALL + 1, SMALL / 2, 3 * SMALL, 2 ** 31, 2 ** 53, Infinity, NaN]) {
      assert.throws(() => binding.createRing(size), Error, `${size}`)
    }
    for (const size of [undefined, null, '65536', {}]) assert.throws(() => binding.createRing(size), { code: 'ERR_FORKLANE_BINDING' })
    assert.strictEqual(descriptors(), before)
  })

  it('is closed by both lanes, but for the segment', async () => {
    const before = descriptors()
    const [parent, child] = makePair('json')
    assert.strictEqual(descriptors(), before + 4)
    parent.lane.close()
    child.lane.close()
    const closed = async () => {
      while (descriptors() !== before) await turn()
    }
    await inTime(closed(), 'close of the descriptors')
  })

  it('stays as it is when a lane cannot use it', () => {
    const ring = binding.createRing(SMALL)
    const before = descriptors()
    const [segment, poll, signal] = ring
    const socket = -1
    const options = { side: 0, segment, poll, signal, socket, advanced: true, spin: false, maxMessageSize: 1 }
    const null_ = fs.openSync('/dev/null')
    for (const wrong of [
      { segment: -1 }, { segment: poll }, { segment: null_ }, { segment: 'a' }, { poll: undefined },
      { poll: 9999 }, { signal: null }, { maxMessageSize: 'a' }, { advanced: undefined }, { side: 'parent' }
    ]) {
      assert.throws(() => new binding.Lane({ ...options, ...wrong }, () => {}, () => {}), JSON.stringify(wrong))
    }
    fs.closeSync(null_)
    assert.strictEqual(descriptors(), before)
    const lane = new binding.Lane(options, () => {}, () => {})
    open.add(lane)
    assert.strictEqual(lane.send('text'), 0)
    binding.closeDescriptors([segment, ...ring.slice(3)])
  })
})
