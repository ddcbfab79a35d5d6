'use strict'

// Whatever send() has accepted arrives, in whatever way the sender ends behind it;
// and no receiver can keep a sender from ending. Stock loses most of it.

const assert = require('node:assert')
const { spawn } = require('node:child_process')
const fs = require('node:fs')
const { outcome, tracked } = require('../helpers/children.js')
const { inTime } = require('../helpers/inbox.js')
const { SERIALIZATIONS, fixture } = require('../helpers/parties.js')
const { ROLES } = require('../helpers/scenario.js')

const ALL = { count: 164, wrong: null } // 100 small ones and 64 MiB

function startPair (sender, way, serialization) {
  return tracked(spawn(process.execPath, [fixture('ring-pair.js'), sender, way, serialization]))
}

// What the two print, of which the order is not certain.
async function printedBy (pair) {
  const { code, signal, stdout, stderr } = await inTime(outcome(pair), 'end of the pair')
  assert.strictEqual(stderr, '')
  const entries = stdout.trim().split('\n').map((line) => JSON.parse(line))
  return { code, signal, ...Object.assign({}, ...entries) }
}

// How the sender has ended, whichever it is.
const endOf = (sender, { code, signal, exit }) => sender === 'parent' ? [code, signal] : exit

describe('ring: what was sent before the end arrives', () => {
  const WAYS = {
    'calls process.exit()': 0,
    'calls process.exit() in a listener': 0,
    "sends in an 'exit' handler": 0,
    "sends in a 'beforeExit' handler": 0,
    'throws what nobody catches': 1,
    'has nothing more to do': 0,
    'calls process.exit() in a getter of a message': 0,
    'calls disconnect()': 0
  }

  for (const sender of ROLES) {
    for (const serialization of SERIALIZATIONS) {
      for (const [way, code] of Object.entries(WAYS)) {
        it(`64 MiB of a ${sender} that ${way}, ${serialization}`, async () => {
          const printed = await printedBy(startPair(sender, way, serialization))
          const { count, wrong } = printed
          assert.deepStrictEqual({ count, wrong }, ALL)
          assert.deepStrictEqual(endOf(sender, printed), [code, null])
        })
      }

      it(`what a ${sender} has published before it is killed, ${serialization}`, async () => {
        const printed = await printedBy(startPair(sender, 'kills itself', serialization))
        const { accepted, count, wrong } = printed
        // The small ones had room, so they were published.
        assert.ok(count >= 100 && count <= accepted, `${count} of ${accepted}`)
        assert.strictEqual(wrong, null)
        assert.deepStrictEqual(endOf(sender, printed), [null, 'SIGKILL'])
      })
    }
  }
})

describe('ring: the end of a sender does not wait for ever', () => {
  const ENDED = /^\d+ \(.*\) Z|^$/s

  function statusOf (pid) {
    try {
      return fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
    } catch {
      return ''
    }
  }

  async function ended (pid) {
    while (!ENDED.test(statusOf(pid))) await new Promise((resolve) => setTimeout(resolve, 10))
  }

  for (const sender of ROLES) {
    it(`for a receiver that stands still (${sender} sends)`, async () => {
      const pair = startPair(sender, 'calls process.exit(), and the other one stands still', 'json')
      const [line] = await inTime(new Promise((resolve) => pair.stdout.once('data', (text) => resolve([text]))), 'line')
      const { sender: pid, receiver } = JSON.parse(line)
      try {
        await inTime(ended(pid), 'end of the sender')
      } finally {
        for (const each of [pid, receiver]) {
          try { process.kill(each, 'SIGKILL') } catch {} // it may be gone
        }
      }
    })

    it(`for a receiver that is gone (${sender} sends)`, async () => {
      const pair = startPair(sender, 'calls process.exit(), and the other one is gone', 'json')
      const { signal, stderr } = await inTime(outcome(pair), 'end of the pair')
      assert.deepStrictEqual([signal, stderr], [sender === 'parent' ? null : 'SIGKILL', ''])
    })
  }
})
