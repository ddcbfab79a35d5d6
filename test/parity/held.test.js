'use strict'

// Messages that wait for a listener, where programs take all listeners away or
// disconnect in between. Stock loses some of them, so only forklane is asked.

const assert = require('node:assert')
const { once } = require('node:events')
const { tracked } = require('../helpers/children.js')
const { describeValue } = require('../helpers/describe-value.js')
const { SERIALIZATIONS, fixture, forEachRing, forkAs, startAs } = require('../helpers/parties.js')
const { channelHandle, frame } = require('../helpers/wire.js')

const turn = () => new Promise((resolve) => setImmediate(resolve))

function write (child, bytes) {
  child.send({ command: 'write', hex: bytes.toString('hex') })
}

for (const serialization of SERIALIZATIONS) {
  describe(`held messages, ${serialization}`, () => {
    const frames = (...messages) =>
      Buffer.concat(messages.map((message) => frame(serialization, message)))

    function peer () {
      return tracked(forkAs(
        { parent: 'forklane', child: 'stock', serialization }, fixture('malformed-peer.js')
      ))
    }

    // Has the first message and a part of the second.
    async function inTheMiddle (bytes, cut) {
      const child = peer()
      write(child, bytes.subarray(0, cut))
      while (!channelHandle(child).buffering) await turn()
      write(child, bytes.subarray(cut))
      child.disconnect()
      return child
    }

    it('are handed on after removeAllListeners()', async () => {
      const child = peer()
      write(child, frames(0, 1, 2))
      await new Promise((resolve) => child.once('message', () => {
        child.removeAllListeners()
        resolve()
      }))
      await turn()
      const messages = []
      const all = new Promise((resolve) => child.on('message', (message) => {
        if (messages.push(message) === 4) resolve()
      }))
      write(child, frames(3, 4))
      await all
      assert.deepStrictEqual(messages, [1, 2, 3, 4])
    })

    it('outlive a disconnect() in the middle of a message', async () => {
      const bytes = frames('held', 'cut in two')
      const child = await inTheMiddle(bytes, bytes.length - 4)
      await once(child, 'disconnect')
      const messages = []
      child.on('message', (message) => messages.push(message))
      await turn()
      assert.deepStrictEqual(messages, ['held', 'cut in two'])
    })

    it('do not keep a disconnect() waiting for a message that turns out bad', async () => {
      const bytes = frames('held', 'cut in two')
      bytes[bytes.length - 12] = 0xff
      bytes[bytes.length - 11] = 0xff
      bytes[bytes.length - 13] = serialization === 'json' ? 0 : 0xff
      const child = await inTheMiddle(bytes, bytes.length - 4)
      const events = []
      child.on('error', ({ code }) => events.push(code))
      await new Promise((resolve) => child.once('disconnect', resolve))
      assert.deepStrictEqual(events, ['ERR_FORKLANE_CORRUPT'])
    })
  })
}

describe('held messages', () => {
  forEachRing((parties) => {
    const start = async () => tracked(await startAs(parties, fixture('swap-messages.js')))
    // What the child answers, however many reads it takes.
    const texts = Array.from({ length: 200 }, (_, i) => 'x'.repeat(i * 50))

    it('are handed on after removeAllListeners()', async () => {
      const child = await start()
      for (const text of texts) child.send(text)
      const messages = []
      await new Promise((resolve) => child.once('message', (message) => {
        messages.push(message)
        child.removeAllListeners()
        resolve()
      }))
      await turn()
      await new Promise((resolve) => child.on('message', (message) => {
        if (messages.push(message) === texts.length) resolve()
      }))
      assert.deepStrictEqual(messages, texts.map(describeValue))
    })

    it('that came before the end are handed on after it', async () => {
      const child = await start()
      for (const text of texts) child.send(text)
      await once(child, 'message')
      const disconnected = once(child, 'disconnect')
      child.send(['disconnect'])
      await disconnected
      await turn()
      const messages = []
      child.on('message', (message) => messages.push(message))
      await turn()
      assert.deepStrictEqual(messages, texts.slice(1).map(describeValue))
    })
  })
})
