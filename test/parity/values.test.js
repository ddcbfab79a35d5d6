'use strict'

// What a message is on the other side. Each value of the catalogue goes both
// ways between all parties and has to arrive as it does from stock to stock (or
// be refused with the same error); the rules that people rely on are also
// written out. Then the bytes on the socket, and random values.

const assert = require('node:assert')
const childProcess = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { describeThrown, describeValue } = require('../helpers/describe-value.js')
const { Inbox, inTime } = require('../helpers/inbox.js')
const { messages, sendCatalogue } = require('../helpers/messages.js')
const {
  PARENTS, SERIALIZATIONS, fixture, forEachChannel, forkAs, preload, startAs
} = require('../helpers/parties.js')
const { randomValue } = require('../helpers/random-value.js')

function assertSame (actual, expected, message) {
  const text = describeValue(expected)
  assert.strictEqual(describeValue(actual), text, message)
  // Node cannot compare all: to Node 20 two invalid Dates are not equal, and on
  // an error that is its own cause the stack overflows.
  if (!/Date NaN|"cause" hidden: #0/.test(text)) assert.deepStrictEqual(actual, expected, message)
}

const STOCK = { parent: 'stock', child: 'stock' }

/** A channel with a child that swaps messages. */
class Swap {
  constructor (child) {
    this.child = child
    this.inbox = new Inbox(child)
  }

  static async start (parties) {
    return new Swap(await startAs(parties, fixture('swap-messages.js')))
  }

  /** Sends the value: how the child saw it, or what was thrown. */
  async push ({ make, dispose }) {
    const value = make()
    try {
      this.child.send(value)
    } catch (error) {
      return describeThrown(error)
    } finally {
      dispose?.(value)
    }
    return this.inbox.next()
  }

  /** Has the child send the value: what arrived, or what was thrown there. */
  pull ({ title }) {
    this.child.send(['make', title])
    return this.inbox.next()
  }

  close () {
    return this.inbox.close()
  }
}

// serialization -> title -> what stock makes of it
const expected = { json: new Map(), advanced: new Map() }

describe('values', () => {
  before(async function () {
    this.timeout(60_000)
    for (const serialization of SERIALIZATIONS) {
      const swap = await Swap.start({ ...STOCK, serialization })
      for (const message of messages) {
        expected[serialization].set(message.title, {
          pushed: await swap.push(message),
          pulled: await swap.pull(message)
        })
      }
      await swap.close()
    }
  })

  describe('as stock to stock', () => {
    forEachChannel((parties) => {
      let swap

      before(async () => {
        swap = await Swap.start(parties)
      })

      after(() => swap?.close())

      for (const message of messages) {
        it(`treats as stock does: ${message.title}`, async () => {
          const { pushed, pulled } = expected[parties.serialization].get(message.title)
          assert.strictEqual(await swap.push(message), pushed)
          assertSame(await swap.pull(message), pulled)
        })
      }
    })
  })

  describe('by the book', () => {
    const circular = { a: 1 }
    circular.self = circular
    const shared = [1]
    const refused = (name, code, message) => ({ name, code, message })
    const notClonable = (text) => refused('Error', undefined, `${text} could not be cloned.`)
    const invalidType = refused('TypeError', 'ERR_INVALID_ARG_TYPE', /^The "message" argument must be one of type/)

    // [what, value, received in json, received in advanced]
    const RULES = [
      ['a RegExp', /a/g, {}, /a/g],
      ['a Map', new Map([[1, { a: 2 }]]), {}, new Map([[1, { a: 2 }]])],
      ['a Set', new Set(['a']), {}, new Set(['a'])],
      ['a Date', new Date(0), '1970-01-01T00:00:00.000Z', new Date(0)],
      ['an invalid Date', [new Date(NaN)], [null], [new Date(NaN)]],
      ['an ArrayBuffer', Uint8Array.of(1, 2).buffer, {}, Uint8Array.of(1, 2).buffer],
      ['a typed array', Uint16Array.of(1, 500), { 0: 1, 1: 500 }, Uint16Array.of(1, 500)],
      ['a BigInt array', new BigInt64Array(0), {}, new BigInt64Array(0)],
      ['a DataView', new DataView(Uint8Array.of(1).buffer), {}, new DataView(Uint8Array.of(1).buffer)],
      ['a Buffer', Buffer.from('a'), { type: 'Buffer', data: [97] }, Buffer.from('a')],
      ['undefined in an object', { a: undefined, b: 1 }, { b: 1 }, { a: undefined, b: 1 }],
      ['undefined in an array', [undefined], [null], [undefined]],
      ['a hole', Array(1), [null], Array(1)],
      ['a BigInt inside', { a: 1n }, refused('TypeError', undefined, 'Do not know how to serialize a BigInt'), { a: 1n }],
      ['undefined at the top', undefined, refused('TypeError', 'ERR_MISSING_ARGS', 'The "message" argument must be specified')],
      ['a BigInt at the top', 1n, invalidType],
      ['a function at the top', () => {}, invalidType],
      ['a symbol at the top', Symbol('a'), invalidType],
      ['NaN', NaN, null, NaN],
      ['an infinity', -Infinity, null, -Infinity],
      ['-0', -0, 0, -0],
      ['-0, NaN and infinities inside', [-0, NaN, Infinity], [0, null, null], [-0, NaN, Infinity]],
      ['a circular reference', circular, refused('TypeError', undefined, /^Converting circular structure to JSON/), circular],
      ['a function inside', { a: 1, f: () => {} }, { a: 1 }, notClonable('() => {}')],
      ['a function in an array', [() => {}], [null], notClonable('() => {}')],
      ['a symbol inside', { a: 1, s: Symbol('s') }, { a: 1 }, notClonable('Symbol(s)')],
      ['a Promise', Promise.resolve(), {}, notClonable('#<Promise>')],
      ['a Proxy', new Proxy({ a: 1 }, {}), { a: 1 }, notClonable('#<Object>')],
      ['an Intl object', new Intl.NumberFormat('en'), {}, notClonable('#<NumberFormat>')],
      ['toJSON()', { toJSON: () => 'text' }, 'text', notClonable("() => 'text'")],
      ['a symbol key', { [Symbol('a')]: 1, b: 2 }, { b: 2 }, { b: 2 }],
      ['an accessor', { get a () { return 1 } }, { a: 1 }, { a: 1 }],
      ['an inherited property', Object.create({ a: 1 }), {}, {}],
      ['a non-enumerable property', Object.defineProperty({}, 'a', { value: 1 }), {}, {}],
      ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }, { a: 1 }],
      ['an own key __proto__', JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":1}')],
      ['a boxed number', new Number(5), 5, new Number(5)], // eslint-disable-line no-new-wrappers
      ['a lone surrogate', '\ud800', '\ud800', '\ud800']
    ]

    forEachChannel((parties) => {
      let child
      let inbox

      before(async () => {
        child = await startAs(parties, fixture('echo.js'))
        inbox = new Inbox(child)
      })

      after(() => inbox?.close())

      for (const [what, value, json, advanced = json] of RULES) {
        const result = parties.serialization === 'json' ? json : advanced

        if (typeof result?.name === 'string' && 'code' in result) {
          it(`refuses ${what}`, () => {
            assert.throws(() => child.send(value), (error) => {
              const { name, code, message } = result
              assert.strictEqual(error.name, name)
              assert.strictEqual(error.code, code)
              if (typeof message === 'string') assert.strictEqual(error.message, message)
              else assert.match(error.message, message)
              return true
            })
          })
        } else {
          it(`carries ${what}`, async () => {
            child.send(value)
            assertSame(await inbox.next(), result)
          })
        }
      }

      it(parties.serialization === 'json' ? 'copies a shared reference' : 'keeps a shared reference', async () => {
        child.send({ a: shared, b: shared })
        const { a, b } = await inbox.next()
        assert.deepStrictEqual(a, shared)
        assert.deepStrictEqual(b, shared)
        assert.strictEqual(a === b, parties.serialization === 'advanced')
      })

      it('sends what the message is at the time of send()', async () => {
        const message = { text: 'before', list: [1], bytes: Buffer.alloc(3_000_000, 'a') }
        child.send(message)
        child.send(message.list)
        message.text = 'after'
        message.list.push(2)
        message.bytes.fill('b')
        const [{ text, list, bytes }, again] = await inbox.take(2)
        assert.strictEqual(text, 'before')
        assert.deepStrictEqual(list, [1])
        assert.deepStrictEqual(again, [1])
        assert.strictEqual(Buffer.from(bytes).indexOf('b'), -1)
      })

      it('reads each property once, in order', async () => {
        const reads = []
        const spied = (name) => ({ enumerable: true, get () { reads.push(name); return name } })
        child.send(Object.defineProperties({}, { a: spied('a'), 2: spied('2'), b: spied('b'), 1: spied('1') }))
        assert.deepStrictEqual(await inbox.next(), { 1: '1', 2: '2', a: 'a', b: 'b' })
        assert.deepStrictEqual(reads, ['1', '2', 'a', 'b'])
      })

      it('throws what a getter throws, and calls no callback for it', async () => {
        const error = new Error('from a getter')
        let called = false
        const message = { long: 'x'.repeat(1000), get a () { throw error } }
        assert.throws(() => child.send(message, () => { called = true }), (thrown) => thrown === error)
        child.send('next')
        assert.strictEqual(await inbox.next(), 'next')
        assert.strictEqual(called, false)
      })

      it('lets a getter send a message, which comes first', async () => {
        child.send({ get a () { child.send('from a getter'); return 1 } })
        assert.deepStrictEqual(await inbox.take(2), ['from a getter', { a: 1 }])
      })

      it('lets a getter send more than the socket takes, which comes first', async () => {
        const long = 'x'.repeat(1_000_000)
        child.send({ get a () { child.send(long); return 1 } })
        child.send('last')
        assert.deepStrictEqual(await inbox.take(3), [long, { a: 1 }, 'last'])
      })
    })
  })

  describe('a message that JSON leaves nothing of', () => {
    for (const child of ['stock', 'forklane']) {
      it(`is refused, and the channel goes on (child ${child})`, async () => {
        const target = forkAs({ parent: 'forklane', child, serialization: 'json' }, fixture('echo.js'))
        const inbox = new Inbox(target)
        const expected = { name: 'TypeError', code: 'ERR_FORKLANE_NO_JSON' }
        assert.throws(() => target.send({ toJSON () {} }), expected)
        assert.throws(() => target.send({ toJSON: () => () => {} }), expected)
        target.send('next')
        assert.strictEqual(await inbox.next(), 'next')
        await inbox.close()
      })
    }
  })

  describe('strings of every length', () => {
    const CLASSES = {
      ASCII: 'a',
      'Latin-1': '\u00e9',
      'two-byte': '\u20ac',
      'surrogate pairs': '\u{1f600}',
      'lone surrogates': '\udc00',
      NUL: '\0',
      'line separators': '\u2028',
      quotes: '"',
      backslashes: '\\',
      'control characters': '\u001f',
      newlines: '\n',
      DEL: '\u007f',
      'first of Latin-1': '\u0080',
      'last of Latin-1': '\u00ff'
    }
    const LENGTHS = [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65]

    // One character at each place of plain text.
    function * misplaced (character) {
      for (const length of LENGTHS) {
        for (let at = 0; at < length; at++) {
          yield `${'a'.repeat(at)}${character}${'a'.repeat(length - at - 1)}`
        }
      }
    }

    function * ofEachLength (character) {
      for (let length = 0; length <= 300; length++) yield character.repeat(length).slice(0, length)
    }

    forEachChannel((parties) => {
      let child
      let inbox

      before(async () => {
        child = await startAs(parties, fixture('echo.js'))
        inbox = new Inbox(child)
      })

      after(() => inbox?.close())

      for (const [name, character] of Object.entries(CLASSES)) {
        it(`carries 0 to 300 characters, and one at each place: ${name}`, async () => {
          const strings = [...ofEachLength(character), ...misplaced(character)]
          for (const string of strings) child.send(string)
          const received = await inbox.take(strings.length)
          for (const [index, string] of strings.entries()) assert.strictEqual(received[index], string)
        })
      }
    })
  })

  describe('views that arrive', () => {
    const sent = () => [
      Buffer.from('one'), Buffer.from('two'), new Uint8Array(1000).subarray(3, 9), new Uint8Array(0),
      new DataView(new ArrayBuffer(100), 1, 5), new Float64Array(2), Buffer.alloc(100_000), Buffer.from('three')
    ]

    forEachChannel((parties) => {
      let inbox
      let messages

      beforeEach(async () => {
        const target = await startAs(parties, fixture('echo.js'))
        inbox = new Inbox(target)
        for (let left = 3; left > 0; left--) target.send(sent())
        messages = await inbox.take(3)
      })

      afterEach(() => inbox?.close())

      it('hold the bytes that were sent and no others', () => {
        for (const message of messages) assert.deepStrictEqual(message, sent())
      })

      if (parties.parent === 'stock') return

      it('own memory of exactly their size', () => {
        for (const view of messages.flat()) {
          assert.strictEqual(view.buffer.byteLength, view.byteLength)
          assert.strictEqual(view.byteOffset, 0)
        }
      })

      it('share no memory', () => {
        const views = messages.flat()
        assert.strictEqual(new Set(views.map((view) => view.buffer)).size, views.length)
        for (const [index, view] of views.entries()) Buffer.from(view.buffer).fill(index + 1)
        for (const [index, view] of views.entries()) {
          assert.ok(new Uint8Array(view.buffer).every((byte) => byte === index + 1))
        }
      })

      it('can be transferred without harm to the others', () => {
        const [{ buffer }, ...others] = messages.flat()
        const expected = others.map(describeValue)
        assert.strictEqual(Buffer.from(structuredClone(buffer, { transfer: [buffer] })).toString(), 'one')
        assert.strictEqual(buffer.byteLength, 0)
        assert.deepStrictEqual(others.map(describeValue), expected)
      })
    }, { serializations: ['advanced'] })
  })

  describe('the bytes on the socket', () => {
    function assertSameBytes (actual, expected) {
      assert.ok(expected.bytes.length > 500_000)
      assert.deepStrictEqual(actual.titles, expected.titles)
      if (actual.bytes.equals(expected.bytes)) return
      const at = actual.bytes.findIndex((byte, index) => byte !== expected.bytes[index])
      const excerpt = (bytes) => bytes.subarray(at - 40, at + 40).toString('latin1')
      assert.strictEqual(excerpt(actual.bytes), excerpt(expected.bytes), `differs at ${at}`)
      assert.strictEqual(actual.bytes.length, expected.bytes.length)
    }

    // What a parent writes, by a child that only copies it to its output.
    async function fromParent (parent, serialization) {
      const child = PARENTS[parent].spawn('sh', ['-c', 'exec cat <&"$NODE_CHANNEL_FD"'], {
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'], serialization
      })
      const output = child.stdout.toArray()
      const titles = sendCatalogue(child)
      const flushed = new Promise((resolve) => child.send('last', resolve))
      await inTime(flushed, 'last callback')
      child.disconnect()
      return { titles, bytes: Buffer.concat(await inTime(output, 'end of output')) }
    }

    // What a child writes, by a socket that no channel reads.
    async function fromChild (child, serialization) {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-'))
      const server = net.createServer().listen(path.join(directory, 'socket'))
      try {
        await once(server, 'listening')
        const client = net.connect(server.address())
        const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')])
        const received = peer.toArray()
        const target = childProcess.spawn(process.execPath, [
          ...(child === 'forklane' ? ['--require', preload] : []), fixture('send-catalogue.js')
        ], {
          stdio: ['ignore', 'pipe', 'inherit', client],
          env: { ...process.env, NODE_CHANNEL_FD: '3', NODE_CHANNEL_SERIALIZATION_MODE: serialization }
        })
        client.destroy()
        const titles = JSON.parse(Buffer.concat(await inTime(target.stdout.toArray(), 'list of titles')))
        return { titles, bytes: Buffer.concat(await inTime(received, 'end of the channel')) }
      } finally {
        server.close()
        fs.rmSync(directory, { recursive: true })
      }
    }

    for (const serialization of SERIALIZATIONS) {
      it(`are stock's, byte for byte, from a parent (${serialization})`, async () => {
        assertSameBytes(await fromParent('forklane', serialization), await fromParent('stock', serialization))
      })

      it(`are stock's, byte for byte, from a child (${serialization})`, async () => {
        assertSameBytes(await fromChild('forklane', serialization), await fromChild('stock', serialization))
      })
    }
  })

  describe('random values', () => {
    const COUNT = 300
    const first = Number(process.env.FORKLANE_TEST_SEED ?? Date.now() % 2 ** 31)
    const expected = {}

    // How COUNT values look after the way there, and after the way back.
    async function swapAll (parties) {
      const swap = await Swap.start(parties)
      const { serialization } = parties
      for (let seed = first; seed < first + COUNT; seed++) {
        swap.child.send(randomValue(seed, serialization))
        swap.child.send(['make random', seed, serialization])
      }
      const answers = await swap.inbox.take(COUNT * 2)
      await swap.close()
      return answers
    }

    before(async () => {
      for (const serialization of SERIALIZATIONS) {
        expected[serialization] = await swapAll({ ...STOCK, serialization })
      }
    })

    forEachChannel((parties) => {
      it('arrive as from stock to stock', async () => {
        const answers = await swapAll(parties)
        for (const [index, answer] of expected[parties.serialization].entries()) {
          const seed = first + Math.floor(index / 2)
          const message = `FORKLANE_TEST_SEED=${seed}`
          assertSame(answers[index], answer, message)
        }
      })
    })
  })
})
