'use strict'

// A receiver whose peer writes what is no message: it says so once, in the
// place of the bad frame, and delivers everything else. Bytes that only look
// bad are read as stock reads them.

const assert = require('node:assert')
const fs = require('node:fs')
const { inspect } = require('node:util')
const v8 = require('node:v8')
const { outcome, tracked } = require('../helpers/children.js')
const { END, badFrames, recordEvents } = require('../helpers/events.js')
const { inTime } = require('../helpers/inbox.js')
const { receive } = require('../helpers/malformed.js')
const { PARENTS, SERIALIZATIONS, fixture, forkAs } = require('../helpers/parties.js')
const { ROLES } = require('../helpers/scenario.js')
const {
  channelHandle, frame, lengthFrame, lineFrame, writeBehindBack
} = require('../helpers/wire.js')
const { readAsStock, readJsonAsStock } = require('../helpers/oracle.js')
const { seeded } = require('../helpers/seeded.js')

const HEADER = Buffer.from('ff0f', 'hex')

function varint (n) {
  const bytes = []
  for (; n > 127; n = Math.floor(n / 128)) bytes.push(n % 128 + 128)
  return Buffer.from([...bytes, n])
}

// A value in V8's format, of bytes, strings and buffers; with a header.
function v8Value (...parts) {
  return Buffer.concat([HEADER, ...parts.map((part) =>
    typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part))])
}

const view = (index, length, bytes) =>
  v8Value('\\', 0, varint(index), varint(length), Buffer.alloc(bytes))

// Frames that are no message, by what is wrong with them.
const BAD = {
  json: {
    'an object cut short': lineFrame('{"a":'),
    'an empty line': lineFrame(''),
    'a line of spaces': lineFrame('   '),
    undefined: lineFrame('undefined'),
    'an unquoted word': lineFrame('NaN'),
    'two values on a line': lineFrame('{"a":1}{"b":2}'),
    'two strings on a line': lineFrame('"a""b"'),
    'a NUL byte': lineFrame('\0'),
    'a value and a NUL byte': lineFrame('1\0'),
    'a NUL byte in a string': lineFrame('"a\0b"'),
    'a control character in a string': lineFrame('"a\tb"'),
    'a string that does not end': lineFrame('"abc'),
    'a lone quote': lineFrame('"'),
    'a bad escape': lineFrame('"\\x41"'),
    'invalid UTF-8 outside of strings': lineFrame(Buffer.from([0x80])),
    'a byte order mark': lineFrame('\ufeff1'),
    'an open array, deep': lineFrame('['.repeat(30_000)),
    'an advanced frame': lineFrame(lengthFrame(v8.serialize('advanced')))
  },
  advanced: {
    'no content': lengthFrame(Buffer.alloc(0)),
    'a header alone': lengthFrame(HEADER),
    'half a header': lengthFrame(HEADER.subarray(0, 1)),
    'a version of the future': lengthFrame(Buffer.from('ff7f22', 'hex')),
    'an endless version': lengthFrame(Buffer.alloc(40, 0xff)),
    'an unknown tag': lengthFrame(v8Value('?', 1)),
    'only padding': lengthFrame(v8Value(0, 0, 0, 0)),
    'a string longer than the frame': lengthFrame(v8Value('"', 100, 'abc')),
    'a two-byte string of odd length': lengthFrame(v8Value('c', 3, 'abc')),
    'an object cut short': lengthFrame(v8.serialize({ a: 1, b: 2 }).subarray(0, -4)),
    'a key without value': lengthFrame(v8Value('o', '"', 1, 'a')),
    'a dense array of 4294967295': lengthFrame(v8Value('A', varint(2 ** 32 - 1))),
    'a BigInt of 1 GiB': lengthFrame(v8Value('Z', varint(2 ** 31 - 16))),
    'an ArrayBuffer longer than the frame': lengthFrame(v8Value('B', varint(2 ** 31))),
    'a reference to nothing': lengthFrame(v8Value('^', 7)),
    'a SharedArrayBuffer': lengthFrame(v8Value('u', 0)),
    'a host object of a bad tag': lengthFrame(v8Value('\\', 2)),
    'a host object without tag': lengthFrame(v8Value('\\')),
    'a host object that is a number': lengthFrame(v8Value('\\', 1, 'I', 2)),
    'a view of a bad index': lengthFrame(view(99, 4, 4)),
    'a view of a huge index': lengthFrame(view(2 ** 32 - 1, 4, 4)),
    'a view longer than the frame': lengthFrame(view(1, 100, 4)),
    'a view of 4 GiB': lengthFrame(view(1, 2 ** 32 - 1, 4)),
    'host objects in each other, deep': lengthFrame(v8Value(
      Buffer.from('5c01'.repeat(200_000), 'hex'))),
    'arrays in each other, deep': lengthFrame(v8Value('A\x01'.repeat(200_000))),
    'a line of JSON': lengthFrame(Buffer.from('{"a":1}'))
  }
}

// Frames that look bad but are messages for stock.
const ODD = {
  json: {
    'invalid UTF-8 in strings': [
      '80', 'c3', 'e282', 'f09f98', 'eda080', 'c0af', 'fe', 'f4908080', 'e28228a1', '41c3'
    ].map((hex) => lineFrame(Buffer.concat([
      Buffer.from('"a'), Buffer.from(hex, 'hex'), Buffer.from('z"')
    ]))),
    'spaces around a value': [lineFrame('  1 '), lineFrame('\t{"a" : 1}\r')],
    'names that occur twice': [lineFrame('{"a":1,"a":2}')],
    'numbers out of range': [lineFrame('1e999'), lineFrame('-0'), lineFrame('1e-999')],
    '__proto__ as a name': [lineFrame('{"__proto__":{"a":1}}')],
    'null and primitives': ['null', 'true', '0', '""'].map((text) => lineFrame(text)),
    'lone surrogates as escapes': [lineFrame('"\\ud800"'), lineFrame('"\\udc00\\ud800"')]
  },
  advanced: {
    'bytes behind a value': [lengthFrame(Buffer.concat([v8.serialize('value'), Buffer.alloc(9, 7)]))],
    'views of an odd length': [3, 5, 6, 7, 8, 11, 12].flatMap((index) => [
      lengthFrame(view(index, 17, 17)), lengthFrame(view(index, 1, 1))
    ]),
    'views of nothing': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((index) =>
      lengthFrame(view(index, 0, 0))),
    'a sparse array of 4294967295': [lengthFrame(
      v8Value('o"\x06lengtha', varint(2 ** 32 - 1), '@\x00', varint(2 ** 32 - 1), '{\x01'))],
    'an older version': [lengthFrame(Buffer.from('ff0d220161', 'hex'))],
    '__proto__ as a name': [lengthFrame(v8Value('o"\x09__proto__o{\x00{\x01'))]
  }
}

// A message that JSON can report, with views and holes described.
const reported = (frames) => frames.map((bytes) => bytes.toString('latin1').slice(0, 20))

describe('malformed: bad frames', () => {
  for (const serialization of SERIALIZATIONS) {
    for (const [what, bad] of Object.entries(BAD[serialization])) {
      it(`reports ${what} in its place, ${serialization}`, async () => {
        const { log } = await receive({ role: 'parent', party: 'forklane', serialization },
          Buffer.concat([
            frame(serialization, 'before'), bad, frame(serialization, { after: 1 })
          ]))
        const [before, error, after] = log
        assert.deepStrictEqual([before, after, log.length], ['before', { after: 1 }, 3])
        const { cause, ...rest } = error
        assert.deepStrictEqual(rest, {
          error: 'Error',
          code: 'ERR_FORKLANE_CORRUPT',
          message: `Received data that is no message: ${cause}`,
          causeIsError: true
        })
        assert(cause.length > 0)
      })
    }

    for (const role of ROLES) {
      it(`reports each of many bad frames, as ${role}, ${serialization}`, async () => {
        const bad = Object.values(BAD[serialization])
        const bytes = Buffer.concat(bad.flatMap((one, i) => [one, frame(serialization, i)]))
        const { log } = await receive({ role, party: 'forklane', serialization }, bytes)
        assert.deepStrictEqual(
          log.map((entry) => entry.code ?? entry),
          bad.flatMap((one, i) => ['ERR_FORKLANE_CORRUPT', i])
        )
      })
    }
  }
})

describe('malformed: odd frames', () => {
  for (const serialization of SERIALIZATIONS) {
    for (const [what, frames] of Object.entries(ODD[serialization])) {
      it(`reads ${what} as stock, ${serialization}`, async () => {
        const logs = []
        for (const party of ['stock', 'forklane']) {
          const { log } = await receive(
            { role: 'parent', party, serialization }, Buffer.concat(frames))
          logs.push(log)
        }
        assert.strictEqual(logs[0].length, frames.length, `${reported(frames)}`)
        assert.deepStrictEqual(logs[1], logs[0])
      })
    }
  }
})

describe("malformed: without a listener for 'error'", () => {
  for (const role of ROLES) {
    const start = (...args) => {
      const child = tracked(role === 'parent'
        ? PARENTS.stock.spawn(process.execPath, [fixture('malformed-unheard.js'), role, ...args])
        : forkAs({ parent: 'stock', child: 'forklane', serialization: 'json' },
          fixture('malformed-unheard.js'), [role, ...args], { silent: true }))
      if (role === 'child') writeBehindBack(child, badFrames('json'))
      return outcome(child)
    }

    it(`dies of it, as ${role}`, async () => {
      const { code, signal, stdout, stderr } = await start()
      assert.deepStrictEqual([code, signal, stdout], [1, null, '["message","before"]\n'])
      assert.match(stderr, /code: 'ERR_FORKLANE_CORRUPT'/)
      assert.match(stderr, /\[cause\]: SyntaxError/)
    })

    it(`gets the other messages when it survives the exception, as ${role}`, async () => {
      const { stdout } = await start('catch')
      assert.deepStrictEqual(stdout.trim().split('\n').map((line) => JSON.parse(line)), [
        ['message', 'before'], ['uncaught', 'ERR_FORKLANE_CORRUPT'], ['message', 'after'],
        ['message', END]
      ])
    })
  }
})

describe('malformed: the end in the middle of a frame', () => {
  const BEGUN = {
    json: [lineFrame('"whole"').subarray(0, -1), Buffer.from('{'), Buffer.from([0xc3])],
    advanced: [
      lengthFrame(v8.serialize('whole')).subarray(0, -1),
      Buffer.from('00', 'hex'),
      Buffer.from('000000', 'hex'),
      Buffer.from('00000010', 'hex')
    ]
  }
  for (const serialization of SERIALIZATIONS) {
    for (const role of ROLES) {
      it(`only disconnects, as stock, as ${role}, ${serialization}`, async () => {
        for (const begun of BEGUN[serialization]) {
          const bytes = Buffer.concat([frame(serialization, 'before'), begun])
          for (const party of ['stock', 'forklane']) {
            const { log } = await receive({ role, party, serialization }, bytes, { ends: true })
            assert.deepStrictEqual(log, ['before', 'disconnect'], `${party}, ${begun.toString('hex')}`)
          }
        }
      })
    }
  }

  function memory () {
    const text = fs.existsSync('/proc/self/status') ? fs.readFileSync('/proc/self/status', 'utf8') : ''
    const [, peak = 0] = /VmPeak:\s+(\d+)/.exec(text) ?? []
    return { rss: process.memoryUsage.rss(), peak: peak * 1024 }
  }

  for (const length of ['ffffffff', 'fffffff0', '80000000', '7fffffff']) {
    it(`takes no memory for a length of 0x${length} that does not come`, async () => {
      const bytes = Buffer.concat([
        frame('advanced', 'before'), Buffer.from(`${length}ff0f2203616263`, 'hex')
      ])
      const receiver = { role: 'parent', party: 'forklane', serialization: 'advanced' }
      await receive(receiver, frame('advanced', 'warm up'), { ends: true })
      const before = memory()
      const { log } = await receive(receiver, bytes, { ends: true })
      const after = memory()
      assert.deepStrictEqual(log, ['before', 'disconnect'])
      assert(after.rss - before.rss < 16 * 2 ** 20, `${after.rss - before.rss} bytes resident`)
      assert(after.peak - before.peak < 256 * 2 ** 20, `${after.peak - before.peak} bytes of addresses`)
    })
  }
})

describe('malformed: FORKLANE_MAX_MESSAGE_SIZE', () => {
  const env = { FORKLANE_MAX_MESSAGE_SIZE: '64' }
  // A message of so many bytes on the wire, without the newline or the length.
  const sized = {
    json: (size) => frame('json', 'x'.repeat(size - 2)),
    advanced: (size) => frame('advanced', 'x'.repeat(size - 4))
  }
  const TOO_LONG = {
    json: {
      'a line one byte too long': sized.json(65),
      'a line that does not end': sized.json(5000).subarray(0, -1)
    },
    advanced: {
      'a frame one byte too long': sized.advanced(65),
      'a length alone': Buffer.from('00000041', 'hex')
    }
  }

  for (const serialization of SERIALIZATIONS) {
    for (const role of ROLES) {
      const receiver = { role, party: 'forklane', serialization }

      it(`takes messages up to it, as ${role}, ${serialization}`, async () => {
        const bytes = Buffer.concat([1, 2, 3].map(() => sized[serialization](64)))
        const { log } = await receive(receiver, bytes, { env })
        assert.deepStrictEqual(log.map(({ length }) => length),
          Array(3).fill(serialization === 'json' ? 62 : 60))
      })

      for (const [what, bytes] of Object.entries(TOO_LONG[serialization])) {
        it(`ends the channel at ${what}, as ${role}, ${serialization}`, async () => {
          const { log } = await receive(receiver, Buffer.concat([
            frame(serialization, 'before'), bytes, frame(serialization, 'after')
          ]), { env })
          const message = 'message longer than the maximum message size'
          assert.deepStrictEqual(log, ['before', {
            error: 'Error',
            code: 'ERR_FORKLANE_CORRUPT',
            message: `Received data that is no message: ${message}`,
            cause: message,
            causeIsError: true
          }, 'disconnect'])
        })
      }
    }
  }

  const warningsFor = async (value) => {
    const child = tracked(forkAs(
      { parent: 'stock', child: 'forklane', serialization: 'json' },
      fixture('malformed-warnings.js'), [],
      { silent: true, env: { FORKLANE_MAX_MESSAGE_SIZE: value } }
    ))
    return JSON.parse((await outcome(child)).stdout)
  }

  for (const value of ['', '0', '-1', '1e3', '64k', ' 64', '0x40', '1.5']) {
    it(`warns once of the value '${value}'`, async () => {
      assert.deepStrictEqual(await warningsFor(value), {
        warnings: [['FORKLANE_INVALID_ENVIRONMENT', true]], channels: 3
      })
    })
  }

  it('warns of nothing when it is a number', async () => {
    assert.deepStrictEqual(await warningsFor('9'.repeat(400)), { warnings: [], channels: 3 })
  })
})

describe('malformed: internal messages', () => {
  for (const serialization of SERIALIZATIONS) {
    for (const role of ROLES) {
      const receiver = { role, party: 'forklane', serialization }
      const around = (...frames) => Buffer.concat([
        frame(serialization, 'before'), ...frames, frame(serialization, 'after')
      ])

      for (const cmd of ['NODE_HANDLE_ACK', 'NODE_HANDLE_NACK']) {
        it(`reports ${cmd} for no handle, as ${role}, ${serialization}`, async () => {
          const { log, internal } = await receive(receiver, around(frame(serialization, { cmd })))
          assert.deepStrictEqual(
            log.map((entry) => entry.code ? [entry.code, entry.cause] : entry),
            ['before', ['ERR_FORKLANE_CORRUPT', `${cmd} for no handle`], 'after']
          )
          assert.deepStrictEqual(internal, [])
        })
      }

      it(`answers NODE_HANDLE without a handle as stock, as ${role}, ${serialization}`, async () => {
        const bytes = around(
          frame(serialization, { cmd: 'NODE_HANDLE', type: 'net.Socket', msg: 'lost' }),
          frame(serialization, { cmd: 'NODE_HANDLE', type: 'of nothing' }),
          frame(serialization, { cmd: 'NODE_HANDLE' })
        )
        const nack = { cmd: 'NODE_HANDLE_NACK' }
        for (const party of ['stock', 'forklane']) {
          assert.deepStrictEqual(await receive({ ...receiver, party }, bytes), {
            log: ['before', 'after'], internal: [nack, nack, nack]
          })
        }
      })

      it(`reports handles that cannot be received and answers, as ${role}, ${serialization}`, async () => {
        const handles = [
          ...['net.Unheard', '__proto__', 'constructor', null, 5, undefined].map((type) => ({ type })),
          { type: 'dgram.Socket', dgramType: 'nonsense' }
        ]
        const descriptors = () => role === 'parent' && fs.existsSync('/proc/self/fd')
          ? fs.readdirSync('/proc/self/fd').length
          : 0
        const before = descriptors()
        const { log, internal } = await receive(receiver, handles.map((handle) => around(
          frame(serialization, { cmd: 'NODE_HANDLE', ...handle, msg: 'lost' })
        )))
        assert.deepStrictEqual(
          log.map((entry) => entry.code ? [entry.code, entry.cause] : entry),
          handles.flatMap(() => [
            'before', ['ERR_FORKLANE_CORRUPT', 'Handle that cannot be received'], 'after'
          ])
        )
        assert.deepStrictEqual(internal, handles.map(() => ({ cmd: 'NODE_HANDLE_ACK' })))
        // The channel itself is open.
        assert(descriptors() <= before + 1, `${before} before, ${descriptors()} after`)
      })

      it(`gives unknown internal messages to nobody, as ${role}, ${serialization}`, async () => {
        const { log, internal } = await receive(receiver, around(
          ...['NODE_', 'NODE_FORKLANE_SWITCH', 'NODE_CLUSTER'].map((cmd) =>
            frame(serialization, { cmd, ack: 1, seq: 2, act: 'x' }))
        ))
        assert.deepStrictEqual([log, internal], [
          ['before', { cmd: 'NODE_', ack: 1, seq: 2, act: 'x' }, 'after'], []
        ])
      })
    }
  }
})

describe('malformed: frames in pieces', () => {
  const MESSAGES = ['a', { b: ['äöü€😀'] }, 'c'.repeat(100), 'é', '']

  for (const serialization of SERIALIZATIONS) {
    it(`reads a peer that writes byte by byte, ${serialization}`, async () => {
      const child = tracked(forkAs(
        { parent: 'forklane', child: 'stock', serialization }, fixture('malformed-peer.js')
      ))
      const { log, finished } = recordEvents(child)
      const bytes = Buffer.concat([...MESSAGES, END].map((one) => frame(serialization, one)))
      child.send({ command: 'writeBytes', hex: bytes.toString('hex') })
      await inTime(finished, 'end of the messages')
      assert.deepStrictEqual(log, MESSAGES)
    })

    it(`joins a frame cut at any place, ${serialization}`, async () => {
      const child = tracked(forkAs(
        { parent: 'forklane', child: 'stock', serialization }, fixture('malformed-peer.js')
      ))
      const handle = channelHandle(child)
      const { log, finished } = recordEvents(child)
      const bytes = frame(serialization, MESSAGES[1])
      const write = (part) => child.send({ command: 'write', hex: part.toString('hex') })
      const read = async (condition) => {
        while (!condition()) await new Promise((resolve) => setImmediate(resolve))
      }
      for (let cut = 1; cut < bytes.length; cut++) {
        write(bytes.subarray(0, cut))
        await inTime(read(() => handle.buffering), `read of the first ${cut} bytes`)
        write(bytes.subarray(cut))
        await inTime(read(() => log.length === cut), `message after a cut at ${cut}`)
        assert.strictEqual(handle.buffering, false)
      }
      write(frame(serialization, END))
      await finished
      assert.deepStrictEqual(log, Array(bytes.length - 1).fill(MESSAGES[1]))
    })
  }
})

describe('malformed: garbage', () => {
  const COUNT = 3000

  // Invalid dates, which garbage has, equal nothing, not even themselves.
  const inspectAll = (value) => inspect(value, { depth: Infinity, maxArrayLength: Infinity })

  // The value of a good read, or that there is none.
  const read = (reader, bytes) => {
    try {
      return { value: reader(bytes) }
    } catch {
      return 'no message'
    }
  }

  const GARBAGE = {
    json (random) {
      const text = Buffer.from(JSON.stringify([{ a: [1, 'zwölf', null] }, 'text "quoted"', -1.5]))
      const bytes = random.mutate(random.chance(0.2) ? random.bytes(40) : text)
      return bytes.map((byte) => byte === 10 ? 11 : byte)
    },
    advanced (random) {
      const sample = v8.serialize([
        { a: [1, 'zwölf', null] }, new Map([[1, new Date(5)]]), 2n ** 70n, new Set(['x']),
        new Error('message'), /r/g, new ArrayBuffer(8), [,, 3], -1.5, undefined // eslint-disable-line no-sparse-arrays
      ])
      const host = Buffer.concat([HEADER, Buffer.from('A\x01\\\x00\x05\x08abcdefgh$\x00\x01', 'latin1')])
      if (random.chance(0.2)) return Buffer.concat([HEADER, random.bytes(40)])
      return random.mutate(random.chance(0.5) ? sample : host)
    }
  }
  const ORACLES = { json: readJsonAsStock, advanced: readAsStock }

  for (const serialization of SERIALIZATIONS) {
    it(`reads ${COUNT} frames of garbage as stock's reader, ${serialization}`, async () => {
      const random = seeded(20)
      const contents = Array.from({ length: COUNT }, () => GARBAGE[serialization](random))
      const child = tracked(forkAs(
        { parent: 'forklane', child: 'stock', serialization }, fixture('malformed-peer.js')
      ))
      const log = []
      const done = new Promise((resolve) => {
        child.on('message', (value) => value === END ? resolve() : log.push({ value }))
      })
      child.on('error', (error) => {
        assert.strictEqual(error.code, 'ERR_FORKLANE_CORRUPT')
        log.push('no message')
      })
      const make = serialization === 'json' ? lineFrame : lengthFrame
      child.send({
        command: 'write',
        hex: Buffer.concat([...contents.map(make), frame(serialization, END)]).toString('hex')
      })
      await inTime(done, 'end of the garbage')

      assert.strictEqual(log.length, COUNT)
      let messages = 0
      for (const [i, content] of contents.entries()) {
        const expected = read(ORACLES[serialization], content)
        if (expected !== 'no message') messages++
        assert.strictEqual(inspectAll(log[i]), inspectAll(expected), `frame ${i}: ${content.toString('hex')}`)
      }
      // Both kinds occur, or nothing has been tried.
      assert(messages > COUNT / 20 && messages < COUNT * 19 / 20, `${messages} messages`)
    })
  }
})
