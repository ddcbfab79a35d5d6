'use strict'

// What is left of channels with a ring: no descriptor, no mapping, no process,
// however they were started, and where they could not be.

const assert = require('node:assert')
const forklane = require('../../lib/index.js')
const { happened, outcome, tracked } = require('../helpers/children.js')
const { inTime } = require('../helpers/inbox.js')
const { forkInARow, holdings, isAvailable, leftSince } = require('../helpers/leftovers.js')
const { PARENTS, SERIALIZATIONS, fixture } = require('../helpers/parties.js')

const NOTHING = { descriptors: 0, mappings: 0, children: 0 }
const IPC = ['pipe', 'pipe', 'pipe', 'ipc']

// The soak starts 2,000 Node children in a row (test/soak/soak.js).
const IN_A_ROW = 400
const EVERY_NTH_IS_NODE = 20
const AT_ONCE = 200

async function printed (command, args) {
  const { code, signal, stdout, stderr } = await outcome(tracked(PARENTS.stock.spawn(command, args)))
  assert.deepStrictEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' })
  return JSON.parse(stdout)
}

describe('lifecycle: resources of rings', function () {
  this.timeout(120_000)

  before(function () {
    if (!isAvailable) this.skip()
  })

  it(`leaves nothing of ${IN_A_ROW} children in a row`, async () => {
    assert.deepStrictEqual(await forkInARow(IN_A_ROW, EVERY_NTH_IS_NODE), NOTHING)
  })

  it(`leaves nothing of ${AT_ONCE} children at once`, async () => {
    const before = holdings()
    const children = Array.from({ length: AT_ONCE }, (_, i) => tracked(forklane.fork(
      fixture('lifecycle-echo.js'), { serialization: SERIALIZATIONS[i % 2] }
    )))
    const exits = children.map((child) => happened(child, 'exit'))
    // Node takes a while to start so many times.
    const echo = async (child, message) => {
      const echo = happened(child, 'message')
      child.send(message)
      assert.deepStrictEqual((await inTime(echo, 'echo', 90_000))[0], message)
    }
    await Promise.all(children.map(async (child, i) => {
      await echo(child, { i, text: 'on the socket' })
      await echo(child, { i, text: 'on the ring' })
      assert.strictEqual(forklane.lane(child).send, 'ring')
    }))
    for (const child of children) child.disconnect()
    const ends = await Promise.all(exits)
    assert.deepStrictEqual(ends, Array(AT_ONCE).fill([0, null]))
    assert.deepStrictEqual(await leftSince(before), NOTHING)
  })

  describe('a child that cannot be started', () => {
    const WAYS = {
      'no such program': ['/nonexistent/program', [], {}],
      'no such program in PATH': ['no-such-program-anywhere', [], {}],
      'no program': [__filename, [], {}],
      'a directory': [__dirname, [], {}],
      'no such directory': [process.execPath, ['-e', ''], { cwd: '/nonexistent' }],
      'arguments that are too long': ['true', ['x'.repeat(2 ** 21)], {}]
    }

    const observe = ({ spawn }, [program, args, options]) => {
      const log = []
      const facts = ({ name, code, errno, syscall, path }) => ({ name, code, errno, syscall, path })
      let child
      try {
        child = spawn(program, args, { stdio: IPC, ...options })
      } catch (error) {
        return ['thrown', facts(error)]
      }
      for (const event of ['exit', 'close', 'disconnect', 'spawn']) {
        child.on(event, (...args) => log.push([event, ...args]))
      }
      const sent = new Promise((resolve) => child.send('text', (error) => resolve(error?.code)))
      return new Promise((resolve) => child.on('error', async (error) => {
        log.push(['error', facts(error)], ['sent', await sent])
        setTimeout(() => resolve([...log, child.connected, child.pid]), 20)
      }))
    }

    for (const [what, way] of Object.entries(WAYS)) {
      it(`has the error that it has under stock, and leaves nothing: ${what}`, async () => {
        const expected = await inTime(observe(PARENTS.stock, way), 'error')
        const before = holdings()
        assert.deepStrictEqual(await inTime(observe(PARENTS.forklane, way), 'error'), expected)
        for (let i = 0; i < 20; i++) await inTime(observe(PARENTS.forklane, way), 'error')
        assert.deepStrictEqual(await leftSince(before), NOTHING)
      })
    }
  })

  describe('with few descriptors', () => {
    // Enough for Node itself.
    const LIMIT = 120
    const attempts = (party) => printed('sh', [
      '-c', `ulimit -n ${LIMIT} && exec "$0" "$@"`, process.execPath,
      fixture('ring-few-descriptors.js'), party
    ])
    let results

    before(async () => {
      const [stock, ours] = await Promise.all([attempts('stock'), attempts('forklane')])
      results = ours.map((one, i) => ({ ...one, stock: stock[i] }))
    })

    it('a child is started if it is under stock, and has the same error if not', () => {
      assert.deepStrictEqual(
        results.map(({ free, log }) => ({ free, log })),
        results.map(({ stock: { free, log } }) => ({ free, log }))
      )
    })

    it('a channel without a ring says why', () => {
      const lanes = results.filter(({ lane }) => lane !== null).map(({ lane }) => lane)
      assert(lanes.length > 0)
      for (const { send, receive, reason } of lanes) {
        assert.deepStrictEqual([send, receive], ['pipe', 'pipe'])
        assert.match(reason, /^(no ring can be made: |the other side has not attached yet$)/)
      }
      assert(lanes.some(({ reason }) => reason.startsWith('no ring')))
    })

    it('nothing is left but what Node leaves', () => {
      const most = Math.max(...results.map(({ stock }) => stock.left.descriptors))
      for (const { free, left: { descriptors, ...left } } of results) {
        assert.deepStrictEqual(left, { mappings: 0, children: 0 }, `${free} were free`)
        assert(descriptors <= most, `${descriptors} descriptors, when ${free} were free`)
      }
    })
  })

  describe('workers that are terminated', () => {
    for (const middle of [
      'sending', 'sending a large message', 'receiving', 'in a listener', 'in a getter',
      'in a getter that sends', 'starting'
    ]) {
      it(`${middle} leave nothing`, async () => {
        const left = await inTime(
          printed(process.execPath, [fixture('ring-workers.js'), middle]), 'end', 60_000)
        assert.deepStrictEqual(left, NOTHING)
      })
    }
  })
})
