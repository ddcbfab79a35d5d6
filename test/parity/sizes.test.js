'use strict'

// Large messages and many of them: that they arrive, that the time they take
// grows with their size and not faster, and that a queue leaves in few writes.

const assert = require('node:assert')
const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { Inbox, inTime } = require('../helpers/inbox.js')
const { SERIALIZATIONS, fixture, forEachChannel, forEachRing, startAs } = require('../helpers/parties.js')
const { expectSequence, makeSequence, sendSequence } = require('../helpers/sequence.js')
const { traceFolder } = require('../helpers/strace.js')

const MiB = 1024 * 1024
const FORKLANE = { parent: 'forklane', child: 'forklane' }

const KINDS = {
  'one-byte string': (size) => 'abcdefghijklmno\u00e4'.repeat(size / 16),
  'two-byte string': (size) => 'abcdefg\u20ac'.repeat(size / 16),
  'object of many keys': (size) => Object.fromEntries(
    Array.from({ length: size / 64 }, (_, index) => [`key${index}`, `${index} ${'v'.repeat(36)}`])
  ),
  Buffer: (size) => Buffer.alloc(size, 'the bytes of a Buffer ')
}

function kindsOf (serialization) {
  const kinds = Object.keys(KINDS)
  return serialization === 'advanced' ? kinds : kinds.filter((kind) => kind !== 'Buffer')
}

// deepStrictEqual() takes seconds to say so if two long strings differ.
function assertSame (actual, expected) {
  if (typeof expected === 'string') assert.ok(actual === expected)
  else if (Buffer.isBuffer(expected)) assert.ok(expected.equals(actual))
  else assert.deepStrictEqual(actual, expected)
}

describe('sizes', function () {
  this.timeout(60_000)

  describe('a large message goes there and back', () => {
    async function echo (parties, message) {
      const child = await startAs(parties, fixture('echo.js'))
      const inbox = new Inbox(child)
      child.send(message)
      child.send('next')
      const [received, next] = await inbox.take(2)
      assertSame(received, message)
      assert.strictEqual(next, 'next')
      await inbox.close()
    }

    forEachChannel((parties) => {
      // From stock to stock nothing of forklane is involved.
      if (parties.parent === 'stock' && parties.child === 'stock') return

      for (const size of [1, 16]) {
        for (const kind of kindsOf(parties.serialization)) {
          if (size > 1 && kind === 'object of many keys' && parties.parent === 'stock') continue
          it(`${size} MiB, ${kind}`, () => echo(parties, KINDS[kind](size * MiB)))
        }
      }
    })

    for (const parties of [FORKLANE, { parent: 'forklane', child: 'stock' }]) {
      for (const serialization of SERIALIZATIONS) {
        const kind = serialization === 'json' ? 'one-byte string' : 'Buffer'
        it(`64 MiB, ${kind}, ${serialization}, child ${parties.child}`, () =>
          echo({ ...parties, serialization }, KINDS[kind](64 * MiB)))
      }
    }

    forEachRing((parties) => {
      const kind = parties.serialization === 'json' ? 'one-byte string' : 'Buffer'
      it(`64 MiB, ${kind}`, () => echo(parties, KINDS[kind](64 * MiB)))
    })
  })

  describe('the time per byte does not grow with the message', () => {
    const TOTAL = 64 * MiB
    const SIZES = [1, 4, 16, 64].map((size) => size * MiB)
    const FACTOR = 8

    // A longer message may cost less; and time is CPU time of a busy machine.
    function assertLinear (times) {
      const [longest, ...shorter] = times.toReversed()
      assert.ok(longest <= Math.min(...shorter) * FACTOR, `microseconds for ${TOTAL} bytes: ${times}`)
    }

    forEachRing((parties) => {
      it('that a child receives', async () => {
        const child = await startAs(parties, fixture('measure-receiving.js'))
        const inbox = new Inbox(child)
        const times = []
        for (const size of [MiB, ...SIZES]) {
          const message = 'a'.repeat(size)
          child.send({ count: TOTAL / size })
          for (let sent = 0; sent < TOTAL; sent += size) child.send(message)
          times.push(await inbox.next())
        }
        assertLinear(times.slice(1)) // the first round warms up
        await inbox.close()
      })

      it('that a parent receives', async () => {
        const child = await startAs(parties, fixture('send-strings.js'))
        const inbox = new Inbox(child)
        const times = []
        for (const size of [MiB, ...SIZES]) {
          const start = process.cpuUsage()
          child.send({ count: TOTAL / size, length: size })
          const messages = await inbox.take(TOTAL / size)
          const { user, system } = process.cpuUsage(start)
          times.push(user + system)
          assert.ok(messages.every(({ length }) => length === size))
        }
        assertLinear(times.slice(1))
        await inbox.close()
      })
    })
  })

  describe('20,000 messages sent at once arrive in order, and their callbacks come in order', () => {
    const COUNT = 20_000
    const inOrder = Array.from({ length: COUNT }, (_, index) => index)
    const sequences = {}

    before(() => {
      for (const serialization of SERIALIZATIONS) {
        sequences[serialization] = makeSequence(COUNT, serialization)
      }
    })

    forEachChannel((parties) => {
      const { serialization } = parties

      it('from the parent', async () => {
        const child = await startAs(parties, fixture('receive-sequence.js'), [COUNT, serialization])
        const inbox = new Inbox(child)
        const called = await inTime(sendSequence(child, sequences[serialization]), 'last callback')
        assert.deepStrictEqual(called, inOrder)
        assert.deepStrictEqual(await inbox.next(), { wrong: null })
        await inbox.close()
      })

      it('from the child', async () => {
        const child = await startAs(parties, fixture('send-sequence.js'), [COUNT, serialization])
        const inbox = new Inbox(child)
        child.send('go')
        const messages = await inbox.take(COUNT + 1)
        const { called } = messages.pop()
        let outcome
        messages.forEach(expectSequence(sequences[serialization], (wrong) => { outcome = wrong }))
        assert.strictEqual(outcome, null)
        assert.deepStrictEqual(called, inOrder)
        await inbox.close()
      })
    })
  })

  describe('system calls', () => {
    const directory = traceFolder()

    // How often write-to-cat.js writes to its channel.
    function countWrites (serialization, count, how) {
      const trace = path.join(directory(), 'trace')
      const output = execFileSync('strace', [
        '-o', trace, '-e', 'trace=write,writev,sendmsg', '-e', 'signal=none',
        process.execPath, fixture('write-to-cat.js'), serialization, count, how
      ], { encoding: 'utf8', timeout: 15_000 })
      const descriptor = Number(output)
      assert.ok(descriptor > 2)
      const pattern = new RegExp(`^(write|writev|sendmsg)\\(${descriptor},.* = [1-9]\\d*$`)
      return fs.readFileSync(trace, 'utf8').split('\n').filter((line) => pattern.test(line)).length
    }

    for (const serialization of SERIALIZATIONS) {
      it(`are one write for a message when the socket is free (${serialization})`, () => {
        assert.strictEqual(countWrites(serialization, 100, 'echo'), 100)
      })

      it(`are few writes for what waited behind a full socket (${serialization})`, () => {
        const writes = countWrites(serialization, 5000, 'burst')
        assert.ok(writes < 1000, `${writes} writes`)
      })

      // The callback tells when its message has left, so that is the end of a
      // write; the few more are messages that left in two parts.
      it(`are one write for a message with a callback (${serialization})`, () => {
        const writes = countWrites(serialization, 5000, 'callbacks')
        assert.ok(writes < 5100, `${writes} writes`)
      })
    }
  })
})
