'use strict'

// A child or a parent that ends at each stage of its life: the other side gets
// what was sent, sees the end as under stock, and goes on.

const assert = require('node:assert')
const { happened, outcome, tracked } = require('../helpers/children.js')
const { inTime } = require('../helpers/inbox.js')
const { PARENTS, SERIALIZATIONS, fixture, forkAs } = require('../helpers/parties.js')

const HUNDRED = Array.from({ length: 100 }, (_, i) => i)

// Stage: [what arrives, exit code, signal]
const STAGES = {
  'exits at once': [[], 3, null],
  'is killed at once': [[], null, 'SIGKILL'],
  'exits right after sending': [HUNDRED, 3, null],
  'is killed right after sending': [HUNDRED, null, 'SIGKILL'],
  'throws right after sending': [HUNDRED, 1, null],
  'is killed in the middle of a message': [['before'], null, 'SIGKILL'],
  'exits in a listener': [[0, 1], 3, null],
  'is killed in a listener': [[0, 1], null, 'SIGKILL'],
  'disconnects in a listener': [[0, 1], 3, null]
}

describe('lifecycle: the end of a child', () => {
  for (const serialization of SERIALIZATIONS) {
    for (const child of ['stock', 'forklane']) {
      const parties = { parent: 'forklane', child, serialization }

      describe(`child ${child}, ${serialization}`, () => {
        for (const [stage, [messages, code, signal]] of Object.entries(STAGES)) {
          it(`which ${stage}`, async () => {
            const target = tracked(forkAs(parties, fixture('lifecycle-child.js'), [stage]))
            const log = []
            target.on('message', (message) => log.push(message))
            target.on('disconnect', () => log.push('disconnect'))
            target.on('error', (error) => log.push(error.code))
            if (stage.endsWith('in a listener')) for (let i = 0; i < 2; i++) target.send(i)
            const end = await inTime(happened(target, 'close'), 'close')
            assert.deepStrictEqual([log, ...end], [[...messages, 'disconnect'], code, signal])
            assert.deepStrictEqual([target.channel, target.connected], [null, false])
          })
        }

        for (const [when, execArgv] of Object.entries({
          'before it loads': [],
          'when it has loaded what comes before the program': [
            '--require', fixture('lifecycle-die.js')
          ]
        })) {
          it(`which is killed ${when}`, async () => {
            const target = tracked(forkAs(parties, fixture('lifecycle-child.js'), [
              'runs until the channel closes'
            ], { execArgv }))
            const log = []
            target.on('message', (message) => log.push(message))
            target.on('disconnect', () => log.push('disconnect'))
            target.on('error', (error) => log.push(error.code))
            target.send('before it can read')
            if (execArgv.length === 0) target.kill('SIGKILL')
            const end = await inTime(happened(target, 'close'), 'close')
            assert.deepStrictEqual([log, ...end], [['disconnect'], null, 'SIGKILL'])
          })
        }

        it('while megabytes are queued for it', async () => {
          const target = tracked(forkAs(parties, fixture('lifecycle-child.js'), [
            'exits in a timer while it is sent to'
          ]))
          const log = []
          target.on('disconnect', () => log.push('disconnect'))
          target.on('error', (error) => log.push(error.code))
          for (let i = 0; i < 8; i++) target.send('x'.repeat(2 ** 20), (error) => log.push(error))
          // The events of the end and the callback come in no fixed order.
          const last = new Promise((resolve) => target.send('last', resolve))
          const disconnected = happened(target, 'disconnect')
          const [code] = await inTime(happened(target, 'close'), 'close')
          assert.strictEqual(code, 3)
          assert.strictEqual(await inTime(last, 'callback'), null)
          await inTime(disconnected, 'disconnect')
          assert.deepStrictEqual(log.filter((entry) => entry === null), Array(8).fill(null))
          assert.deepStrictEqual(log.filter((entry) => entry !== null), ['disconnect'])
        })
      })
    }
  }

  it('that is told to end by disconnect() ends', async () => {
    for (const serialization of SERIALIZATIONS) {
      const parties = { parent: 'forklane', child: 'forklane', serialization }
      const target = tracked(forkAs(parties, fixture('lifecycle-child.js'), [
        'runs until the channel closes'
      ]))
      target.send('x'.repeat(2 ** 20), () => target.disconnect())
      const end = await inTime(happened(target, 'exit'), 'exit')
      assert.deepStrictEqual(end, [0, null])
    }
  })
})

describe('lifecycle: the end of a parent', () => {
  const WAYS = {
    'exits in a listener': [0, null],
    'exits in a tick': [0, null],
    'exits from a timer': [0, null],
    'throws in a listener': [1, null],
    'is killed': [null, 'SIGKILL'],
    'disconnects in a listener': [0, null]
  }

  for (const [way, [code, signal]] of Object.entries(WAYS)) {
    for (const serialization of SERIALIZATIONS) {
      it(`which ${way} ends its child, ${serialization}`, async () => {
        // stdout closes when the child, which shares it, has ended as well.
        const parent = tracked(PARENTS.stock.spawn(process.execPath, [
          fixture('lifecycle-parent.js'), way, serialization
        ]))
        const end = await inTime(outcome(parent), 'end of parent and child')
        assert.deepStrictEqual(end, {
          code, signal, stderr: '', stdout: 'child: disconnect\nchild: exit 0\n'
        })
      })
    }
  }
})
