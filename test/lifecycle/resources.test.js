'use strict'

// What is left of channels that were opened and closed: no descriptor, no object
// and no memory. Garbage is collected in processes of its own.

const assert = require('node:assert')
const fs = require('node:fs')
const { Inbox } = require('../helpers/inbox.js')
const { outcome, tracked } = require('../helpers/children.js')
const { PARENTS, SERIALIZATIONS, fixture, forkAs } = require('../helpers/parties.js')

const MIB = 2 ** 20

async function report (file, ...args) {
  const { code, signal, stdout, stderr } = await outcome(tracked(PARENTS.stock.spawn(
    process.execPath, ['--expose-gc', fixture(file), ...args]
  )))
  assert.deepStrictEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' })
  return JSON.parse(stdout)
}

describe('lifecycle: resources', () => {
  it('leaves nothing of 500 channels', async () => {
    const { finalized, grown } = await report('lifecycle-resources.js', '500')
    assert.strictEqual(grown.descriptors, 0)
    assert(finalized > 450, `${finalized} collected`)
    assert(grown.heapUsed < 4 * MIB, `heap: ${grown.heapUsed}`)
    assert(grown.external < 4 * MIB, `external: ${grown.external}`)
    assert(grown.rss < 48 * MIB, `resident: ${grown.rss}`)
  })

  it('frees the memory of readers and writers', async () => {
    const { reader, writer } = await report('lifecycle-memory.js')
    assert(reader < 64 * MIB, `readers: ${reader}`)
    assert(writer < 64 * MIB, `writers: ${writer}`)
  })

  it('leaves no descriptor of Node children in either end', async function () {
    if (!fs.existsSync('/proc/self/fd')) this.skip()
    const count = () => fs.readdirSync('/proc/self/fd').length
    const parties = { parent: 'forklane', child: 'forklane', serialization: 'json' }
    const counts = []
    for (let i = 0; i < 12; i++) {
      const inbox = new Inbox(tracked(forkAs(parties, fixture('lifecycle-descriptors.js'))))
      counts.push(await inbox.next())
      await inbox.close()
      if (i === 3) counts.before = count()
    }
    assert.strictEqual(count(), counts.before)
    const stock = new Inbox(tracked(forkAs(
      { ...parties, parent: 'stock', child: 'stock' }, fixture('lifecycle-descriptors.js')
    )))
    // Those of the ring: its memory, and the two that wake its sides.
    assert.deepStrictEqual([...counts], Array(12).fill(await stock.next() + 3))
    await stock.close()
  })

  it('serves 50 children at once', async () => {
    const inboxes = Array.from({ length: 50 }, (_, i) => {
      const serialization = SERIALIZATIONS[i % 2]
      const parties = { parent: 'forklane', child: 'forklane', serialization }
      const child = tracked(forkAs(parties, fixture('lifecycle-echo.js')))
      for (let n = 0; n < 20; n++) child.send([i, n, 'x'.repeat(n * 100)])
      return new Inbox(child)
    })
    await Promise.all(inboxes.map(async (inbox, i) => {
      const messages = await inbox.take(20)
      assert.deepStrictEqual(messages, Array.from({ length: 20 }, (_, n) =>
        [i, n, 'x'.repeat(n * 100)]))
      await inbox.close()
    }))
  })
})
