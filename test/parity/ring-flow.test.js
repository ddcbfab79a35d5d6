'use strict'

// What a sender and a receiver do to each other at different speeds: a receiver
// that is flooded has its other work done, and one that reads nothing only makes
// the sender's queue longer.

const assert = require('node:assert')
const { once } = require('node:events')
const http = require('node:http')
const { happened, tracked } = require('../helpers/children.js')
const { Inbox, inTime } = require('../helpers/inbox.js')
const { fixture, forEachRing, forkAs, startAs } = require('../helpers/parties.js')
const { ROLES, play } = require('../helpers/scenario.js')
const { sendInLoop, tellWhenSeen } = require('../helpers/sync-loop.js')
const { newWitness, witness } = require('../helpers/witness.js')

const SCENARIOS = 'ring-scenarios.js'
const RING_SIZE = 2 * 1024 * 1024 // by default
const HIGH_WATER_MARK = 128 * 1024
const TURN_MESSAGES = 1024 // at most, of one turn of the event loop

describe('ring: a receiver that stands still', () => {
  forEachRing((parties) => {
    for (const role of ROLES) {
      it(`has the ${role} told to stop at 128 KiB beyond the ring`, async () => {
        assert.deepStrictEqual(await play(SCENARIOS, 'acceptedWhileStill', role, parties), [
          ['accepted', (parties.ringSize ?? RING_SIZE) + HIGH_WATER_MARK],
          ['and more', false, false, false],
          ['free', true]
        ])
      })

      it(`holds back the callbacks of the ${role} from the first that waits, and their order stays`, async () => {
        assert.deepStrictEqual(await play(SCENARIOS, 'callbacksWhileStill', role, parties), [
          ['while it stands still', true], ['in the end', true, true]
        ])
      })
    }
  })
})

describe('ring: a sender in a loop that never ends', () => {
  forEachRing((parties) => {
    it('is seen by the child during the loop', async () => {
      const file = newWitness()
      const child = tracked(await startAs(parties, fixture('ring-sync-loop.js'), ['receive', file]))
      assert.strictEqual(sendInLoop(child, file), true)
    })

    it('is seen by the parent during the loop', async () => {
      const file = newWitness()
      const child = tracked(await startAs(parties, fixture('ring-sync-loop.js'), ['send', file]))
      const inbox = new Inbox(child)
      tellWhenSeen(child, file)
      child.send('go')
      assert.deepStrictEqual(await inbox.take(2), ['in a loop', { seen: true }])
    })
  })
})

describe('ring: a child that floods', () => {
  const ask = (port) => new Promise((resolve, reject) => {
    http.get({ port, host: '127.0.0.1', agent: false }, (response) => {
      response.setEncoding('utf8').on('data', resolve)
    }).on('error', reject)
  })

  forEachRing((parties) => {
    for (const length of [10, 60_000]) {
      it(`leaves the parent its timers and its HTTP server, ${length} characters each`, async () => {
        const file = newWitness()
        const child = tracked(forkAs(parties, fixture('ring-flood.js'), [file, length]))
        const exited = happened(child, 'exit')
        let count = 0
        let most = 0
        let sinceTurn = 0
        let isTurning = true
        child.on('message', () => {
          count++
          sinceTurn++
        })
        const turn = () => {
          most = Math.max(most, sinceTurn)
          sinceTurn = 0
          if (isTurning) setImmediate(turn)
        }
        turn()
        await inTime(once(child, 'message'), 'first message')
        const server = http.createServer((request, response) => response.end('served'))
        server.listen(0, '127.0.0.1')
        await inTime(once(server, 'listening'), 'server')
        const before = count
        for (let i = 0; i < 10; i++) {
          assert.strictEqual(await inTime(ask(server.address().port), 'answer'), 'served')
          await inTime(new Promise((resolve) => setTimeout(resolve, 10)), 'timer')
        }
        assert.ok(count > before, 'the flood has ended')
        witness(file)
        server.close()
        isTurning = false
        assert.deepStrictEqual(await inTime(exited, 'end of the child'), [0, null])
        assert.ok(most <= 2 * TURN_MESSAGES, `${most} messages in a turn`)
      })
    }

    it('cannot keep the parent from disconnecting', async () => {
      const file = newWitness()
      const child = tracked(forkAs(parties, fixture('ring-flood.js'), [file, 1000]))
      const disconnected = happened(child, 'disconnect')
      const exited = happened(child, 'exit')
      let count = 0
      child.on('message', () => {
        // Slower than the child: it would always find more to read.
        for (const end = process.hrtime.bigint() + 20_000n; process.hrtime.bigint() < end;);
        if (++count === 1000) child.disconnect()
      })
      await inTime(disconnected, 'disconnect')
      witness(file)
      assert.deepStrictEqual(await inTime(exited, 'end of the child'), [0, null])
    })
  })
})

describe('ring: disconnect() among the parts of a message', () => {
  forEachRing((parties) => {
    for (const role of ROLES) {
      it(`waits for the rest of them (${role})`, async () => {
        assert.deepStrictEqual(await play(SCENARIOS, 'disconnectAmongParts', role, parties), [
          0, 20 * 2 ** 20, 'disconnect'
        ])
      })
    }
  })
})
