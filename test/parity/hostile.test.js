'use strict'

// A peer that attaches to the ring as it should and then writes any nonsense into
// the shared memory. What makes no sense costs the channel and one 'error'; what
// is only a bad message costs one 'error'; and in any case the victim has the
// messages before it, lives, and serves its timers and other channels. There is
// nothing of it to compare with stock.

const assert = require('node:assert')
const fs = require('node:fs')
const v8 = require('node:v8')
const { binding } = require('../../lib/binding.js')
const { END } = require('../helpers/events.js')
const {
  ATTACKS, KIND, attackChildren, attackParent, begin, compilePeer, first, hello, immediate, last,
  onSocket, put, record, removePeer
} = require('../helpers/hostile.js')
const { readAsStock } = require('../helpers/oracle.js')
const { SERIALIZATIONS } = require('../helpers/parties.js')
const { frame } = require('../helpers/wire.js')

const CORRUPT = 'ERR_FORKLANE_CORRUPT'
const ROLES = Object.keys(ATTACKS)
const RING_SIZE = 2 ** 21
const MAX = 100_000 // bytes of a message, where that is set

/** The kinds that a value of each serialization may have. */
const KINDS = {
  json: [KIND.LATIN1, KIND.UTF16, KIND.JSON_LATIN1, KIND.JSON_UTF16],
  advanced: [KIND.LATIN1, KIND.UTF16, KIND.V8]
}

// What a peer does, the message before it included.
const around = (...commands) => [hello, first, 'wake', ...commands, 'wake']
const publishing = (...records) => around(put(...records))

const utf16 = (text) => Buffer.from(text, 'utf16le')

/**
 * Runs a table of scripts, and expects one log of all of them.
 * @param {Record<string, string[]>} table
 * @param {any[] | ((name: string) => any[])} expected
 */
async function expectAll (role, serialization, table, expected, options = {}) {
  const { env, ...rest } = options
  const names = Object.keys(table)
  const results = await ATTACKS[role](
    names.map((name) => ({ serialization, script: table[name], ...rest })), env
  )
  const logs = Object.fromEntries(names.map((name, i) => [name, results[i].log]))
  assert.deepStrictEqual(logs, Object.fromEntries(names.map((name) =>
    [name, typeof expected === 'function' ? expected(name) : expected])))
  for (const [i, { code }] of results.entries()) assert.strictEqual(code, 0, names[i])
}

// It is over after an error.
const BROKEN = ['before', CORRUPT, 'disconnect']

// The same cases for each role and serialization; a name says what is wrong.
const VIOLATIONS = {
  'an index': () => ({
    ...Object.fromEntries([1, 2, 4, 7].map((n) => [`not aligned, by ${n}`, around('wake', 'read', `head:${n}`)])),
    'beyond the ring by 8': around('wake', 'read', `head:${RING_SIZE + 8}`),
    'beyond the ring by far': around('wake', 'read', `head:${2n ** 63n}`),
    'back by 8': around('wake', 'read', `head:${2n ** 64n - 8n}`),
    'back by a ring': around('wake', 'read', `head:${2n ** 64n - BigInt(RING_SIZE)}`),
    'as large as it can be': around('wake', 'read', `head:${2n ** 64n - 1n}`),
    'over nothing': around('wake', 'read', 'head:8'),
    'over a ring full of nothing': around('wake', 'read', `head:${RING_SIZE}`)
  }),

  'a length': () => ({
    'just beyond the head': publishing(record(KIND.LATIN1, '12345678', { word: 9 })),
    'beyond the head': publishing(record(KIND.LATIN1, '12345678', { word: 100_000 })),
    'beyond the ring': publishing(record(KIND.LATIN1, '12345678', { word: RING_SIZE })),
    'of 2 GiB': publishing(record(KIND.LATIN1, '12345678', { word: 2 ** 31 })),
    'whose padding is beyond 32 bits': publishing(record(KIND.LATIN1, '12345678', { word: 2 ** 32 - 1 })),
    'beyond the limit for messages': around(`fill:${KIND.LATIN1}:${MAX + 1}`),
    'of UTF-16, odd': publishing(record(KIND.UTF16, '123')),
    ...Object.fromEntries([0, 7, 9, 16].map((length) =>
      [`of a double, ${length}`, publishing(record(KIND.DOUBLE, Buffer.alloc(length)))]))
  }),

  'a header': () => ({
    ...Object.fromEntries(Array.from({ length: 254 }, (_, i) => i + 2).map((flags) =>
      [`flags ${flags}`, publishing(record(KIND.LATIN1, 'text', { flags }))])),
    ...Object.fromEntries(Array.from({ length: 16 }, (_, bit) =>
      [`reserved bit ${bit}`, publishing(record(KIND.LATIN1, 'text', { reserved: 2 ** bit }))]))
  }),

  'a constant': () => Object.fromEntries([3, 255, 2 ** 31, 2 ** 32 - 1].map((word) =>
    [`of value ${word}`, publishing(immediate(KIND.CONSTANT, word))])),

  parts: (serialization) => ({
    ...Object.fromEntries([0, 8, 15, 17, 24].map((length) =>
      [`begun with ${length} bytes`, publishing(record(KIND.BEGIN, Buffer.alloc(length, 1)))])),
    ...Object.fromEntries([0n, BigInt(MAX) + 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n].map((total) =>
      [`of ${total} bytes`, publishing(begin(KIND.LATIN1, total))])),
    'of UTF-16, odd': publishing(begin(KIND.UTF16, 9)),
    ...Object.fromEntries(
      [0, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 128, 255].map((kind) =>
        [`of kind ${kind}`, publishing(begin(kind, 10))])),
    'of a kind of the other serialization': publishing(
      begin(serialization === 'json' ? KIND.V8 : KIND.JSON_LATIN1, 10)),
    'that nobody has begun': publishing(record(KIND.PART, 'a')),
    'after the last': publishing(
      begin(KIND.LATIN1, 3), record(KIND.PART, 'end'), record(KIND.PART, 'a')),
    'beyond the total': publishing(
      begin(KIND.LATIN1, 3), record(KIND.PART, 'en'), record(KIND.PART, 'd.')),
    'of no bytes': publishing(begin(KIND.LATIN1, 3), record(KIND.PART, '')),
    'begun twice': publishing(begin(KIND.LATIN1, 3), begin(KIND.LATIN1, 3)),
    'begun twice, with some there': publishing(
      begin(KIND.LATIN1, 3), record(KIND.PART, 'a'), begin(KIND.LATIN1, 3)),
    'after a program took the other end': publishing(
      begin(KIND.LATIN1, 3), record(KIND.PART, 'a'), immediate(KIND.HELLO, 1), record(KIND.PART, 'bc')),
    ...Object.fromEntries([
      record(KIND.LATIN1, 'a'), immediate(KIND.INT32, 1), immediate(KIND.CONSTANT, 0),
      record(KIND.DOUBLE, Buffer.alloc(8)), immediate(KIND.SWITCH, 0)
    ].map((value) => [`with a record of kind ${value[4]} in between`,
      publishing(begin(KIND.LATIN1, 3), record(KIND.PART, 'a'), value)]))
  })
}

// Of a long table a child, which is a process each, gets every n-th case.
function sample (table, role, n) {
  if (role === 'parent') return table
  return Object.fromEntries(Object.entries(table).filter((_, i) => i % n === 0))
}

const EVERY = { 'a header': 40 }

describe('hostile', function () {
  this.timeout(120_000)
  before(compilePeer)
  after(removePeer)

  describe('what makes no sense ends the channel', () => {
    for (const role of ROLES) {
      for (const serialization of SERIALIZATIONS) {
        for (const [what, make] of Object.entries(VIOLATIONS)) {
          it(`${what}, to a ${role}, ${serialization}`, async () => {
            const table = sample(make(serialization), role, EVERY[what] ?? 1)
            await expectAll(role, serialization, table, (name) =>
              name === 'after the last' ? ['before', 'end', CORRUPT, 'disconnect'] : BROKEN
            , { env: { FORKLANE_MAX_MESSAGE_SIZE: MAX } })
          })
        }
      }
    }
  })

  describe('every kind', () => {
    // What the payload says, which is eight digits, or the value 0.
    const VALUES = {
      json: {
        [KIND.LATIN1]: '12345678',
        [KIND.UTF16]: Buffer.from('12345678').toString('utf16le'),
        [KIND.JSON_LATIN1]: 12345678,
        [KIND.JSON_UTF16]: CORRUPT,
        [KIND.DOUBLE]: Buffer.from('12345678').readDoubleLE()
      },
      advanced: {
        [KIND.LATIN1]: '12345678',
        [KIND.UTF16]: Buffer.from('12345678').toString('utf16le'),
        [KIND.V8]: CORRUPT,
        [KIND.DOUBLE]: Buffer.from('12345678').readDoubleLE()
      }
    }
    const IMMEDIATES = {
      [KIND.INT32]: [0], [KIND.CONSTANT]: [null], [KIND.HELLO]: [], [KIND.SWITCH]: []
    }

    for (const role of ROLES) {
      for (const serialization of SERIALIZATIONS) {
        for (const isImmediate of [false, true]) {
          it(`${isImmediate ? 'without' : 'with'} a payload, to a ${role}, ${serialization}`, async () => {
            const make = (kind) => isImmediate ? immediate(kind, 0) : record(kind, '12345678')
            const goodOf = (kind) => {
              if (isImmediate) return IMMEDIATES[kind]
              return Object.hasOwn(VALUES[serialization], kind) ? [VALUES[serialization][kind]] : undefined
            }
            const table = Object.fromEntries(Array.from({ length: 256 }, (_, kind) =>
              [kind, [...publishing(make(kind)), last, 'wake']]))
            await expectAll(role, serialization, sample(table, role, 9), (kind) => {
              const good = goodOf(kind)
              return good ? ['before', ...good, END, 'disconnect'] : BROKEN
            })
          })
        }
      }
    }
  })

  describe('what is no message costs one', () => {
    const BAD = {
      json: [
        ...['', ' ', '{', '{"a":1', '"a', 'undefined', '\0', '[1,]', '1 2', '\xff'].map((text) =>
          record(KIND.JSON_LATIN1, Buffer.from(text, 'latin1'))),
        ...['', '{', '\ud800', '\ufeff1'].map((text) => record(KIND.JSON_UTF16, utf16(text)))
      ],
      advanced: ['', 'ff', 'ff0f', 'ff10', 'ff0f22', 'ff0f2205', 'ff0f5c', 'ff0f5c02', 'ff0f5c0063',
        'ff0f5c000a7f00', 'ff0f42ffffffff0f', 'ff0f41ffffffff0f', '00'].map((hex) =>
        record(KIND.V8, Buffer.from(hex, 'hex')))
    }
    const inParts = ({ 4: kind }, payload) => Buffer.concat([
      begin(kind, payload.length),
      ...Array.from(payload, (byte) => record(KIND.PART, Buffer.of(byte)))
    ])

    for (const role of ROLES) {
      for (const serialization of SERIALIZATIONS) {
        it(`text or bytes, to a ${role}, ${serialization}`, async () => {
          const bad = BAD[serialization]
          const good = record(KIND.INT32, '', { word: 7, flags: 1 })
          const parted = bad.filter((one) => one.readUInt32LE() > 0)
            .map((one) => inParts(one, one.subarray(8, 8 + one.readUInt32LE())))
          const table = {
            all: [...publishing(...[...bad, ...parted].flatMap((one) => [one, good])), last, 'wake']
          }
          await expectAll(role, serialization, table, [
            'before', ...[...bad, ...parted].flatMap(() => [CORRUPT, 7]), END, 'disconnect'
          ])
        })

        it(`internal messages that make no sense, to a ${role}, ${serialization}`, async () => {
          const make = (message) => serialization === 'json'
            ? record(KIND.JSON_LATIN1, JSON.stringify(message))
            : record(KIND.V8, v8.serialize(message))
          const faulty = [{ cmd: 'NODE_HANDLE_ACK' }, { cmd: 'NODE_HANDLE_NACK' }]
          // Node tells the sender of a handle that has not come.
          const idle = [
            { cmd: 'NODE_HANDLE' }, { cmd: 'NODE_HANDLE', type: 'net.Socket' },
            { cmd: 'NODE_HANDLE', type: 1, msg: {} },
            { cmd: 'NODE_FORKLANE_SWITCH' }, { cmd: 'NODE_FORKLANE_SWITCH', number: 9 },
            { cmd: 'NODE_CLUSTER', act: 'x' }, { cmd: 'NODE_X' }
          ]
          const table = { all: [...publishing(...[...faulty, ...idle].map(make)), last, 'wake'] }
          await expectAll(role, serialization, table, [
            'before', ...faulty.map(() => CORRUPT), END, 'disconnect'
          ])
        })

        it(`a switch that is none, on the socket, to a ${role}, ${serialization}`, async () => {
          const numbers = [undefined, null, 'x', {}, [], true, -1, 1.5, 1e300, 2 ** 32]
          const frames = numbers.map((number) =>
            frame(serialization, { cmd: 'NODE_FORKLANE_SWITCH', number }))
          const table = {
            all: [...around('attached', 'read', onSocket(Buffer.concat([
              ...frames, frame(serialization, 'on the socket')
            ])), 'sleep:100'), last, 'wake']
          }
          const [{ log }] = await ATTACKS[role]([{ serialization, script: table.all }])
          assert.deepStrictEqual(log.filter((entry) => entry !== CORRUPT), [
            'before', 'on the socket', END, 'disconnect'
          ])
        })
      }
    }

    for (const role of ROLES) {
      it(`V8's bytes with any tag, to a ${role}`, async () => {
        // A few bytes that mean something to most tags.
        const contents = Array.from({ length: 256 }, (_, tag) =>
          Buffer.concat([Buffer.from('ff0f', 'hex'), Buffer.of(tag), Buffer.from('02613004490600', 'hex')]))
        const table = {
          all: [...publishing(...contents.flatMap((content) =>
            [record(KIND.V8, content), immediate(KIND.INT32, 7)])), last, 'wake']
        }
        const [{ log }] = await ATTACKS[role]([{ serialization: 'advanced', script: table.all }])
        const isRead = (content) => {
          try {
            readAsStock(content)
            return true
          } catch {
            return false
          }
        }
        const results = log.slice(1, -2)
        assert.deepStrictEqual(
          contents.map((_, i) => [results[2 * i] !== CORRUPT, results[2 * i + 1]]),
          contents.map((content) => [isRead(content), 7])
        )
        assert.deepStrictEqual(log.slice(-2), [END, 'disconnect'])
      })
    }
  })

  describe('the index of what the victim writes', () => {
    // The victim fills the ring, and waits for room.
    const FULL = RING_SIZE - 128 * 1024
    const TABLE = {
      'not aligned': around('attached', 'tail:1'),
      'beyond the head': around('attached', `tail:${RING_SIZE}`),
      'beyond the head by far': around('attached', `tail:${2n ** 63n}`),
      'back by 8': around('attached', `tail:${2n ** 64n - 8n}`),
      'not aligned, when the ring is full': [
        ...around(`written:${FULL}`), 'tail:4', 'wake'
      ],
      'back, when the ring is full': [
        ...around(`written:${FULL}`), 'tail:131072', 'wake', `written:${RING_SIZE}`,
        `tail:${2n ** 64n - 131072n}`, 'wake'
      ]
    }

    for (const role of ROLES) {
      for (const serialization of SERIALIZATIONS) {
        it(`to a ${role}, ${serialization}`, async () => {
          await expectAll(role, serialization, TABLE, BROKEN, { reaction: 'send' })
        })
      }
    }
  })

  describe('conduct', () => {
    const GOOD = ['before', END, 'disconnect']
    const GONE = ['before', 'disconnect']
    const late = put(record(KIND.LATIN1, 'late'))

    // Script and log.
    const CONDUCT = {
      'never wakes': [[hello, first, 'wake', 'read', 'sleep:50', late, 'exit'], ['before', 'late', 'disconnect']],
      'wakes without end': [[...around('storm', 'sleep:200'), last], GOOD],
      'wakes for nothing': [[...around(...Array(100).fill('wake')), last, 'wake'], GOOD],
      'sets flags to anything': [[
        ...around('asleep:4294967295', 'hungry:4294967295', 'wake', 'asleep:2', 'hungry:7'), last, 'wake'
      ], GOOD],
      'says hello a hundred times': [[
        ...publishing(...Array(100).fill(immediate(KIND.HELLO, 1))), last, 'wake'
      ], GOOD],
      'says hello with another version': [[...publishing(immediate(KIND.HELLO, 77)), last, 'wake'], GOOD],
      'waits for a switch that never comes': [[
        ...publishing(immediate(KIND.SWITCH, 5), record(KIND.LATIN1, 'never')), 'sleep:50', 'exit'
      ], GONE],
      'announces much and sends little': [[
        ...publishing(begin(KIND.LATIN1, 400_000_000), record(KIND.PART, 'a'), immediate(KIND.HELLO, 1)),
        last, 'wake'
      ], GOOD],
      'cannot change the size of the segment': [[...around('shrink'), last, 'wake'], GOOD],
      'exits at once': [['exit'], ['disconnect']],
      'exits after attaching': [[hello, 'wake', 'attached', 'exit'], ['disconnect']],
      'exits after hello': [[hello, 'wake', 'exit'], ['disconnect']],
      'exits without a wake': [[hello, first, 'exit'], GONE],
      'exits with half a record': [[hello, first, `bytes:${record(KIND.LATIN1, 'half').toString('hex')}`, 'exit'], GONE],
      'exits within a message': [[...publishing(begin(KIND.LATIN1, 3), record(KIND.PART, 'ab')), 'exit'], GONE],
      'exits behind nonsense': [[hello, first, 'wake', 'read', 'head:1', 'exit'], BROKEN],
      'is killed within a message': [[...publishing(begin(KIND.LATIN1, 3)), 'kill'], GONE]
    }

    // The generic variant has no seals (src/transport/segment_posix.c).
    function isSealed () {
      const descriptors = binding.createRing(65536)
      try {
        return fs.readlinkSync(`/proc/self/fd/${descriptors[0]}`).includes('memfd:')
      } finally {
        binding.closeDescriptors(descriptors)
      }
    }

    for (const role of ROLES) {
      for (const serialization of SERIALIZATIONS) {
        for (const [what, [script, expected]] of Object.entries(CONDUCT)) {
          it(`a peer that ${what}, of a ${role}, ${serialization}`, async function () {
            if (what.includes('size') && !isSealed()) this.skip()
            const [{ log, code }] = await ATTACKS[role]([{ serialization, script }])
            // What a socket that ends early has to say is Node's.
            assert.deepStrictEqual(log.filter((entry) => entry !== 'EPIPE' && entry !== 'ECONNRESET'), expected)
            assert.strictEqual(code, what.includes('killed') ? 'SIGKILL' : 0)
          })
        }
      }
    }

    it('a parent whose indices begin anywhere', async () => {
      for (const index of [8n, 2n ** 32n - 8n, 2n ** 63n, 2n ** 64n - 8n, 2n ** 64n - 64n]) {
        const [{ log }] = await attackChildren([{
          serialization: 'json',
          script: publishing(...Array(20).fill(record(KIND.LATIN1, 'across')), record(KIND.LATIN1, END))
        }], { index })
        assert.deepStrictEqual(log, ['before', ...Array(20).fill('across'), END, 'disconnect'], `${index}`)
      }
    })

    it('a parent whose indices begin where none can be: the child stays on the socket', async () => {
      for (const index of [1n, 4n, 2n ** 64n - 1n]) {
        const script = [onSocket(Buffer.concat(['before', END].map((one) => frame('json', one))))]
        const [{ log, receive }] = await attackChildren([{ serialization: 'json', script }], { index })
        assert.deepStrictEqual([log, receive], [GOOD, 'pipe'], `${index}`)
      }
    })

    // A peer that is faster than its reader for as long as it likes.
    const FLOOD = `flood:4000:${Buffer.concat(Array(50).fill(immediate(KIND.INT32, 7))).toString('hex')}`

    for (const role of ROLES) {
      for (const serialization of SERIALIZATIONS) {
        // The flood ends with the channel, or else the last message comes.
        const check = async (script, reaction) => {
          const [{ log }] = await ATTACKS[role]([{ serialization, brief: true, reaction, script }])
          assert.deepStrictEqual(log, ['message', 'disconnect'])
        }

        it(`a flood, with a timer of a ${role}, ${serialization}`, () =>
          check([hello, first, 'wake', FLOOD, last, 'wake'], 'disconnect from a timer'))

        it(`a flood and a message on the socket, with a timer of a ${role}, ${serialization}`, () =>
          check([
            hello, 'wake', 'attached', onSocket(frame(serialization, 'on the socket')), FLOOD, last, 'wake'
          ], 'disconnect from a timer'))

        it(`a flood, and a ${role} that disconnects, ${serialization}`, () =>
          check([hello, first, 'wake', FLOOD, last, 'wake'], 'disconnect'))
      }
    }
  })

  describe('bytes that change while they are read', () => {
    // Records of 4 KiB in a ring of 64 KiB: each stands where another stood.
    const SIZE = 4096
    const ringSize = 64 * 1024
    const object = { list: [1, 2.5, null, 'text'], text: 'x'.repeat(200), nested: { deep: [{}] } }
    const values = Array(9).fill(object)

    const cut = (bytes) => bytes.subarray(0, SIZE - 8)
    const padded = (text) => text.padEnd(SIZE - 8)
    const PAYLOADS = {
      [KIND.LATIN1]: () => Buffer.alloc(SIZE - 8, 'latin'),
      [KIND.UTF16]: () => utf16('two-byte'.repeat(SIZE).slice(0, SIZE / 2 - 4)),
      [KIND.JSON_LATIN1]: () => Buffer.from(padded(JSON.stringify(values))),
      [KIND.JSON_UTF16]: () => utf16(padded(JSON.stringify(values)).slice(0, SIZE / 2 - 4)),
      [KIND.V8]: () => {
        const bytes = v8.serialize([
          ...values, new Map([[1, new Set(['a', 2n ** 70n])]]), new Date(), /a/g, [, 1.5], // eslint-disable-line no-sparse-arrays
          new ArrayBuffer(100), new Error('message')
        ])
        return cut(Buffer.concat([bytes, Buffer.alloc(SIZE)]))
      }
    }
    const flood = (bytes) => `flood:400:${bytes.toString('hex')}`

    // As attackParent() and attackChildren(), with the small ring.
    const attack = (role, cases) => role === 'parent'
      ? attackParent(cases, { FORKLANE_RING_SIZE: ringSize })
      : attackChildren(cases, { ringSize })

    for (const role of ROLES) {
      for (const serialization of SERIALIZATIONS) {
        it(`of a payload, in a ${role}, ${serialization}`, async () => {
          const cases = KINDS[serialization].flatMap((kind) => {
            const payload = PAYLOADS[kind]()
            const whole = record(kind, payload)
            const parts = Buffer.concat([
              begin(kind, payload.length - 24), record(KIND.PART, payload.subarray(0, payload.length - 24))
            ])
            return [[whole, 8], [parts, 32]].map(([bytes, from]) => ({
              serialization,
              brief: true,
              // From where the records stand, not from where hello does.
              script: [
                hello, put(record(KIND.LATIN1, Buffer.alloc(SIZE - 16))), 'wake', 'read',
                `flip:${from}:${SIZE - from}`, flood(bytes), 'still', 'read', last, 'wake'
              ]
            }))
          })
          const results = await attack(role, cases)
          for (const { log } of results) {
            assert.deepStrictEqual(log.filter((entry) => entry !== CORRUPT), ['message', END, 'disconnect'])
          }
        })

        it(`of headers too, in a ${role}, ${serialization}`, async () => {
          const cases = Array.from({ length: role === 'parent' ? 24 : 4 }, (_, i) => {
            const kind = KINDS[serialization][i % KINDS[serialization].length]
            return {
              serialization,
              brief: true,
              script: [
                hello, put(record(KIND.LATIN1, Buffer.alloc(SIZE - 16))), 'wake', 'read',
                `flip:0:${i % 2 ? 24 : SIZE}`, flood(record(kind, PAYLOADS[kind]())), 'still', last, 'wake'
              ]
            }
          })
          const results = await attack(role, cases)
          for (const { log } of results) {
            const rest = log.filter((entry) => ![CORRUPT, END].includes(entry))
            assert.deepStrictEqual(rest, ['message', 'disconnect'])
          }
        })
      }
    }
  })
})
