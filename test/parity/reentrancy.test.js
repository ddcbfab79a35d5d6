'use strict'

// A message that sends another one while it is being serialized, and a peer that
// empties the socket meanwhile: what was known of the socket before is not true
// any more, and one frame inside another would end the channel.

const assert = require('node:assert')
const net = require('node:net')
const { tracked } = require('../helpers/children.js')
const { fixture, forkAs } = require('../helpers/parties.js')

const PARENTS = ['stock', 'forklane']
const MORE_THAN_A_SOCKET_HOLDS = [219_000, 230_000, 280_000, 600_000]

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
  for (const parent of PARENTS) {
    for (const length of MORE_THAN_A_SOCKET_HOLDS) {
      const inner = 'x'.repeat(length)

      it(`keeps a message whole that toJSON() sends, ${length} characters, ${parent}`, async () => {
        const child = tracked(forkAs({ parent, child: 'stock', serialization: 'json' }, fixture('two-messages.js')))
        assert.deepStrictEqual(await answerTo(child, () => ({
          toJSON () {
            child.send(inner)
            readMeanwhile()
            return { outer: true }
          }
        })), [`text of ${length}`, { outer: true }])
      })

      it(`keeps a message whole that a getter sends, ${length} characters, ${parent}`, async () => {
        const child = tracked(forkAs({ parent, child: 'stock', serialization: 'advanced' }, fixture('two-messages.js')))
        assert.deepStrictEqual(await answerTo(child, () => ({
          get outer () {
            child.send(inner)
            readMeanwhile()
            return true
          }
        })), [`text of ${length}`, { outer: true }])
      })
    }

    it(`keeps a message whole that a getter sends with a handle, ${parent}`, async () => {
      const child = tracked(forkAs({ parent, child: 'stock', serialization: 'advanced' }, fixture('two-messages.js')))
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
