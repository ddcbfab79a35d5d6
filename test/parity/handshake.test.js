'use strict'

// How two ends come to the ring, and what becomes of messages when they do not:
// the parent never knows what the child turns out to be.

const assert = require('node:assert')
const fs = require('node:fs')
const net = require('node:net')
const forklane = require('../../lib/index.js')
const { happened, standStillUntilDead, tracked } = require('../helpers/children.js')
const { Inbox, inTime } = require('../helpers/inbox.js')
const {
  PARENTS, SERIALIZATIONS, fixture, forEachParties, forkAs
} = require('../helpers/parties.js')
const { newWitness, witness } = require('../helpers/witness.js')

const IPC = ['ignore', 'pipe', 'inherit', 'ipc']
const PIPE = { send: 'pipe', receive: 'pipe' }
const RING = { send: 'ring', receive: 'ring', reason: null }
const UNATTACHED = { ...PIPE, reason: 'the other side has not attached yet' }
const MIB = 2 ** 20

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Starts a shell whose program gets Node as $0 and the arguments from $1 on. */
function shell (parent, program, args = [], options = {}) {
  return tracked(PARENTS[parent].spawn('sh', ['-c', program, process.execPath, ...args], {
    stdio: IPC, ...options
  }))
}

/** Messages that a child has to answer with themselves. */
const MESSAGES = [0, 'text', { a: ['b \u20ac', null] }, 'x'.repeat(3 * MIB), [], 'last']

async function assertEchoes (inbox, child) {
  for (const message of MESSAGES) child.send(message)
  assert.deepStrictEqual(await inbox.take(MESSAGES.length), MESSAGES)
}

/** Waits for the line that a shell prints. */
async function printed (child) {
  const [line] = await inTime(happened(child.stdout, 'data'), 'line')
  return line.toString()
}

for (const serialization of SERIALIZATIONS) {
  describe(`handshake: a child without the preload, ${serialization}`, () => {
    for (const parent of Object.keys(PARENTS)) {
      it(`that is no Node program gets and sends everything, parent ${parent}`, async () => {
        const child = shell(parent, 'exec cat <&"$NODE_CHANNEL_FD" >&"$NODE_CHANNEL_FD"', [], {
          serialization
        })
        const inbox = new Inbox(child)
        await assertEchoes(inbox, child)
        if (parent === 'forklane') assert.deepStrictEqual(forklane.lane(child), UNATTACHED)
        await inbox.close()
      })

      it(`that is Node without NODE_OPTIONS gets and sends everything, parent ${parent}`, async () => {
        const child = shell(parent, 'unset NODE_OPTIONS; exec "$0" "$@"', [fixture('echo.js')], {
          serialization
        })
        const inbox = new Inbox(child)
        await assertEchoes(inbox, child)
        if (parent === 'forklane') assert.deepStrictEqual(forklane.lane(child), UNATTACHED)
        await inbox.close()
      })
    }
  })

  describe(`handshake: programs in place of one another, ${serialization}`, () => {
    it('a shell that is replaced by Node goes to the ring', async () => {
      const child = shell('forklane', 'exec "$0" "$@"', [fixture('echo.js')], { serialization })
      const inbox = new Inbox(child)
      await assertEchoes(inbox, child)
      assert.deepStrictEqual(forklane.lane(child), RING)
      await inbox.close()
    })

    it('Node in a shell goes to the ring', async () => {
      const child = shell('forklane', '"$0" "$@"; exit $?', [fixture('echo.js')], { serialization })
      const inbox = new Inbox(child)
      await assertEchoes(inbox, child)
      assert.deepStrictEqual(forklane.lane(child), RING)
      await inbox.close()
    })

    it('Node that is replaced by another program ends the channel, as under stock', async function () {
      if (typeof process.execve !== 'function') this.skip()
      const logs = await Promise.all(Object.keys(PARENTS).map(async (parent) => {
        const child = tracked(PARENTS[parent].fork(fixture('handshake-execve.js'), [], { serialization }))
        const log = []
        child.on('message', (message) => log.push(message))
        child.on('disconnect', () => log.push('disconnect'))
        log.push(await inTime(happened(child, 'exit'), 'exit'))
        if (child.connected) await inTime(happened(child, 'disconnect'), 'disconnect')
        return log.filter((entry) => !Array.isArray(entry)).concat(log.find(Array.isArray))
      }))
      assert.deepStrictEqual(logs[0], ['before', 'disconnect', 7, null])
      assert.deepStrictEqual(logs[1], logs[0])
    })
  })
}

describe('handshake: two programs, one after the other, on one channel', () => {
  const program = fixture('handshake-program.js')
  // A shell says it of a program that was killed.
  const both = '{ "$0" "$1" first "$2"; } 2>/dev/null; echo gone; "$0" "$1" second'
  const start = (parent, serialization, end) =>
    shell(parent, both, [program, end], { serialization })
  const answers = (name, ...messages) => messages.map((message) => [name, message])

  function send (child, ...messages) {
    for (const message of messages) child.send(message)
  }

  for (const parent of Object.keys(PARENTS)) {
    for (const serialization of SERIALIZATIONS) {
      describe(`parent ${parent}, ${serialization}`, () => {
        // Ends the second one, whose answers are what it has sent.
        async function end (inbox, child) {
          child.send('exit')
          assert.deepStrictEqual(await inTime(inbox.exited, 'exit'), { code: 0, signal: null })
        }

        it('the second gets all of what the first has not read', async () => {
          const child = start(parent, serialization, 'at once')
          const inbox = new Inbox(child)
          send(child, 0, 'x'.repeat(1000), 2)
          await printed(child)
          send(child, 3, 4)
          assert.deepStrictEqual(await inbox.take(5), answers('second', 0, 'x'.repeat(1000), 2, 3, 4))
          send(child, 5, 'x'.repeat(MIB))
          assert.deepStrictEqual(await inbox.take(2), answers('second', 5, 'x'.repeat(MIB)))
          if (parent === 'forklane') assert.deepStrictEqual(forklane.lane(child), RING)
          await end(inbox, child)
        })

        it('each gets what is sent while it is there', async () => {
          const child = start(parent, serialization, 'at the message exit')
          const inbox = new Inbox(child)
          send(child, 0, 1)
          assert.deepStrictEqual(await inbox.take(2), answers('first', 0, 1))
          send(child, 2, 'x'.repeat(MIB))
          assert.deepStrictEqual(await inbox.take(2), answers('first', 2, 'x'.repeat(MIB)))
          if (parent === 'forklane') assert.deepStrictEqual(forklane.lane(child), RING)
          const gone = printed(child)
          child.send('exit')
          await gone
          send(child, 4, 5)
          assert.deepStrictEqual(await inbox.take(2), answers('second', 4, 5))
          send(child, 6, 'x'.repeat(MIB))
          assert.deepStrictEqual(await inbox.take(2), answers('second', 6, 'x'.repeat(MIB)))
          await end(inbox, child)
        })

        if (parent === 'stock') return // which takes the halves for a message

        it('what the first has not sent to the end is no message', async () => {
          const child = start(parent, serialization, 'in the middle of a message')
          const inbox = new Inbox(child)
          const gone = printed(child)
          assert.deepStrictEqual(await inbox.take(1), answers('first', 'before'))
          await gone
          send(child, 0, 1)
          assert.deepStrictEqual(await inbox.take(2), answers('second', 0, 1))
          await end(inbox, child)
        })

        it('what the first has not received to the end is no message for the second', async () => {
          const child = start(parent, serialization, 'when it is killed')
          const inbox = new Inbox(child)
          const pid = await inbox.next()
          const gone = printed(child)
          // More than send() passes on at once, whoever reads.
          child.send('x'.repeat(64 * MIB))
          process.kill(pid, 'SIGKILL')
          await gone
          send(child, 0, 1)
          assert.deepStrictEqual(await inbox.take(2), answers('second', 0, 1))
          await end(inbox, child)
        })
      })
    }
  }
})

describe('handshake: the order of messages', () => {
  forEachParties((parties) => {
    it('holds from the tick of fork() on, with megabytes on the socket, to the ring', async () => {
      const child = tracked(forkAs(parties, fixture('handshake-collect.js')))
      const inbox = new Inbox(child)
      const called = []
      let sent = 0
      let last
      const send = (filler) => {
        const number = sent++
        last = new Promise((resolve) => {
          child.send([number, filler], (error) => {
            called.push(error ?? number)
            resolve()
          })
        })
      }
      for (let i = 0; i < 8; i++) send('x'.repeat(MIB))
      for (let i = 0; i < 100; i++) send('')

      // On through the change of lanes, and some turns more.
      const numbers = Array.from({ length: 100 }, (_, i) => i)
      const ready = inbox.take(101)
      let isReady = false
      ready.then(() => { isReady = true }, () => { isReady = true })
      for (let rest = 20; rest > 0; await turn()) {
        send({ a: 'x'.repeat(1000) })
        for (let i = 0; i < 5; i++) send('')
        if (isReady) rest--
      }
      assert.deepStrictEqual(await ready, [...numbers, 'ready'])
      child.send('end')
      const { got, lane } = await inbox.next()
      assert.deepStrictEqual(got, Array.from({ length: sent }, (_, i) => i))
      await inTime(last, 'callback')
      assert.deepStrictEqual(called, got)
      if (parties.parent === 'forklane' && parties.child === 'forklane') {
        assert.deepStrictEqual(lane, RING)
        assert.deepStrictEqual(forklane.lane(child), RING)
      }
      await inbox.close()
    })

    it('holds for a message behind a handle that comes with the change of lanes', async () => {
      // The child reads nothing before the parent has sent the handle and changed,
      // and stops when it has acknowledged the handle: what comes then was sent
      // when the listener of the handle has not been called yet.
      const changed = newWitness()
      const acknowledged = newWitness()
      const child = tracked(forkAs(parties, fixture('handshake-handle.js'), [changed, acknowledged]))
      const inbox = new Inbox(child)
      const server = net.createServer()
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      child.on('internalMessage', ({ cmd }) => {
        if (cmd === 'NODE_HANDLE_ACK') setImmediate(() => witness(acknowledged))
      })
      child.send('x'.repeat(100_000), server)
      assert.strictEqual(await inbox.next(), 'started')
      child.send('behind')
      witness(changed)
      assert.deepStrictEqual(await inbox.next(), [[100_000, true], [6, false]])
      server.close()
      await inbox.close()
    })
  })
})

describe('handshake: a child that dies', () => {
  // What the parent has not read stays there for it.
  forEachParties((parties) => {
    for (const [when, sent] of Object.entries({
      'before it attaches': [],
      'as soon as it has attached': [],
      'when it has attached and sent something': ['sent', 1, { a: 1 }]
    })) {
      it(`${when}, while the parent does not look`, async () => {
        const child = tracked(forkAs(parties, fixture('handshake-die.js'), [JSON.stringify(sent)], {
          ...when.startsWith('before') && { execPath: '/bin/sh', execArgv: ['-c', 'kill -KILL $$'] }
        }))
        const log = []
        child.on('message', (message) => log.push(message))
        child.on('disconnect', () => log.push('disconnect'))
        child.on('error', (error) => log.push(error.code))
        child.send('before the end', () => {}) // which may be too late
        standStillUntilDead(child)
        const closed = await inTime(happened(child, 'close'), 'close')
        assert.deepStrictEqual([log, ...closed], [[...sent, 'disconnect'], null, 'SIGKILL'])
        assert.strictEqual(child.channel, null)
      })
    }

    it('while the parent goes over to the ring', async () => {
      const child = tracked(forkAs(parties, fixture('handshake-die.js'), ['["sent"]', 'witness']))
      const log = []
      const died = new Promise((resolve) => {
        child.once('message', (message) => {
          log.push(message)
          child.kill('SIGKILL')
          standStillUntilDead(child)
          child.send('to nobody', () => log.push('called'))
          resolve()
        })
      })
      child.on('error', (error) => log.push(error.code))
      child.on('disconnect', () => log.push('disconnect'))
      await inTime(died, 'message')
      const closed = await inTime(happened(child, 'close'), 'close')
      assert.deepStrictEqual(log.slice(0, 1), ['sent'])
      assert.deepStrictEqual(log.slice(1).sort(), ['called', 'disconnect'])
      assert.deepStrictEqual(closed, [null, 'SIGKILL'])
    })
  })
})

describe('handshake: a child that finds something else than a ring', () => {
  before(function () {
    if (!fs.existsSync('/proc/self/fd')) this.skip()
  })

  // A shell that gives the child another FORKLANE_CHANNEL: $1, or what `sed` makes
  // of it.
  const replace = 'export FORKLANE_CHANNEL="$1"; shift; exec "$0" "$@"'
  const edit = 'FORKLANE_CHANNEL=$(echo "$FORKLANE_CHANNEL" | sed "$1"); ' +
    'export FORKLANE_CHANNEL; shift; exec "$0" "$@"'

  async function report (program, argument, serialization) {
    const child = shell('forklane', program, [argument, fixture('handshake-report.js')], {
      serialization
    })
    const inbox = new Inbox(child)
    child.send({ a: 'message' })
    const { message, ...report } = await inbox.next()
    assert.deepStrictEqual(message, { a: 'message' })
    await inbox.close()
    return { ...report, parent: forklane.lane(child) }
  }

  for (const serialization of SERIALIZATIONS) {
    it(`of another version stays on the socket, and closes the descriptors, ${serialization}`, async () => {
      const { lane, descriptors, parent } = await report(edit, 's/"version":[0-9]*/"version":99/', serialization)
      assert.deepStrictEqual(lane, { ...PIPE, reason: 'the other side has another version of the ring' })
      assert.deepStrictEqual(parent, UNATTACHED)
      const { descriptors: usual } = await report('shift; exec "$0" "$@"', '', serialization)
      // Of a ring, its memory and those that wake the two sides.
      assert.strictEqual(descriptors.length, usual.length - 3)
    })
  }

  const OTHERS = {
    'descriptors that are none': ['s/"segment":[0-9]*/"segment":77/', /^the ring cannot be used: /],
    'the socket in place of the memory': ['s/"segment":[0-9]*/"segment":3/', /^the ring cannot be used: /],
    'a pipe in place of the memory': ['s/"segment":[0-9]*/"segment":1/', /^the ring cannot be used: /],
    'a negative descriptor': ['s/"segment":[0-9]*/"segment":-1/', /^the ring cannot be used: /],
    'text in place of a descriptor': ['s/"segment":[0-9]*/"segment":"a"/', /^the ring cannot be used: /],
    'no descriptor to poll': ['s/"poll":[0-9]*/"poll":77/', /^the ring cannot be used: /]
  }
  for (const [what, [script, reason]] of Object.entries(OTHERS)) {
    it(`stays on the socket with ${what}`, async () => {
      const { lane, parent } = await report(edit, script, 'json')
      assert.deepStrictEqual({ ...lane, reason: null }, { ...PIPE, reason: null })
      assert.match(lane.reason, reason)
      assert.deepStrictEqual(parent, UNATTACHED)
    })
  }

  for (const garbage of [
    '', 'garbage', '{', 'null', '0', '"text"', '[]', '{}', '{"added":5}', '{"added":"","ring":5}',
    '{"added":"","ring":{}}', '{"added":"","ring":{"version":1}}', `"${'x'.repeat(10_000)}"`
  ]) {
    it(`gets and sends everything with FORKLANE_CHANNEL=${garbage.slice(0, 40)}`, async () => {
      const { lane, parent } = await report(replace, garbage, 'advanced')
      assert.notStrictEqual(lane.receive, 'ring')
      assert.deepStrictEqual(parent, UNATTACHED)
    })
  }

  it('gets and sends everything when a wrapper turns forklane off', async () => {
    const { lane, parent } = await report('export FORKLANE="$1"; shift; exec "$0" "$@"', 'off', 'json')
    assert.strictEqual(lane.reason, 'FORKLANE=off')
    assert.deepStrictEqual(parent, UNATTACHED)
  })
})

describe('handshake: descriptors and environment', () => {
  before(function () {
    if (!fs.existsSync('/proc/self/fd')) this.skip()
  })

  for (const serialization of SERIALIZATIONS) {
    it(`of a child are of no use to its own children, which get none, ${serialization}`, async () => {
      const reports = await Promise.all(Object.keys(PARENTS).map(async (parent) => {
        const child = tracked(PARENTS[parent].fork(fixture('handshake-report.js'), { serialization }))
        const inbox = new Inbox(child)
        child.send('on the socket')
        await inbox.next()
        child.send('on the ring')
        const report = await inbox.next()
        await inbox.close()
        return report
      }))
      const [stock, ours] = reports
      assert.deepStrictEqual(ours.lane, RING)
      assert.deepStrictEqual(ours.inherited, stock.inherited)
      assert.deepStrictEqual(ours.variables, stock.variables)
      assert.strictEqual(ours.descriptors.length, stock.descriptors.length + 3)
    })
  }

  it('of a child that ends at once are closed in the parent', async () => {
    const count = () => fs.readdirSync('/proc/self/fd').length
    const settled = async (wanted) => {
      while (count() !== wanted) await turn()
    }
    const run = async () => {
      const child = shell('forklane', 'exit 5')
      const [code] = await inTime(happened(child, 'close'), 'end')
      assert.strictEqual(code, 5)
    }
    const before = count()
    for (let i = 0; i < 5; i++) await run()
    await inTime(settled(before), 'close of the last descriptor')
  })
})
