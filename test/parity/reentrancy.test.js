'use strict'

// A message that sends another one while it is being serialized, and a peer that
// empties the socket meanwhile: what was known of the socket before is not true
// any more, and one frame inside another would end the channel. The same with a
// ring.

const assert = require('node:assert')
const net = require('node:net')
const { tracked } = require('../helpers/children.js')
const { fixture, startAs } = require('../helpers/parties.js')

const MORE_THAN_A_SOCKET_HOLDS = [219_000, 230_000, 280_000, 600_000]
const MORE_THAN_A_RING_HOLDS = [2_097_000, 3_000_000]
const RING = { parent: 'forklane', child: 'forklane', onRing: true }

// Parties, and how long the messages are.
const CHANNELS = {
  stock: [{ parent: 'stock', child: 'stock' }, MORE_THAN_A_SOCKET_HOLDS],
  forklane: [{ parent: 'forklane', child: 'stock' }, MORE_THAN_A_SOCKET_HOLDS],
  'on the ring': [RING, MORE_THAN_A_RING_HOLDS],
  'on a small ring': [{ ...RING, ringSize: 64 * 1024 }, [16_000, 65_000, ...MORE_THAN_A_SOCKET_HOLDS]]
}

// Long enough for the child to have read everything.
function readMeanwhile () {
  const end = Date.now() + 300
  while (Date.now() < end);
}

function answerTo (child, makeMessage) {
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('message', (message) => {
      if (message !== 'ready') resolve(message)
      else child.send(makeMessage())
    })
  })
}

describe('re-entrancy', () => {
  for (const [name, [parties, lengths]] of Object.entries(CHANNELS)) {
    const start = async (serialization) =>
      tracked(await startAs({ ...parties, serialization }, fixture('two-messages.js')))

    for (const length of lengths) {
      const inner = 'x'.repeat(length)

      it(`keeps a message whole that toJSON() sends, ${length} characters, ${name}`, async () => {
        const child = await start('json')
        assert.deepStrictEqual(await answerTo(child, () => ({
          toJSON () {
            child.send(inner)
            readMeanwhile()
            return { outer: true }
          }
        })), [`text of ${length}`, { outer: true }])
      })

      it(`keeps a message whole that a getter sends, ${length} characters, ${name}`, async () => {
        const child = await start('advanced')
        assert.deepStrictEqual(await answerTo(child, () => ({
          get outer () {
            child.send(inner)
            readMeanwhile()
            return true
          }
        })), [`text of ${length}`, { outer: true }])
      })
    }

    it(`keeps a message whole that a getter sends with a handle, ${name}`, async () => {
      const child = await start('advanced')
      const got = await answerTo(child, () => ({
        get outer () {
          const server = net.createServer().listen(0)
          child.send('x'.repeat(400_000), server)
          server.close()
          readMeanwhile()
          return true
        }
      }))
      // A message with a handle is emitted when the handle is ready.
      assert.deepStrictEqual(got.map(String).sort(), ['[object Object]', 'text of 400000'])
    })
  }
})
