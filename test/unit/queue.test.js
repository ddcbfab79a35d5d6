'use strict'

// The queue of held messages.

const assert = require('node:assert')
const { Queue } = require('../../lib/queue.js')
const { seeded } = require('../helpers/seeded.js')

describe('Queue', () => {
  it('gives back what it got, first in, first out', () => {
    const random = seeded(7)
    const queue = new Queue()
    const model = []
    for (let i = 0; i < 20_000; i++) {
      // Turns of growing and of shrinking, down to empty and beyond.
      if (random.chance(i % 2000 < 1000 ? 0.6 : 0.3)) {
        queue.push(i)
        model.push(i)
      } else {
        assert.strictEqual(queue.shift(), model.shift())
      }
      assert.strictEqual(queue.length, model.length)
    }
  })

  it('is empty at first and again', () => {
    const queue = new Queue()
    assert.strictEqual(queue.length, 0)
    assert.strictEqual(queue.shift(), undefined)
    assert.strictEqual(queue.length, 0)
    queue.push('a')
    assert.deepStrictEqual([queue.length, queue.shift(), queue.length], [1, 'a', 0])
  })

  it('shows its first item and keeps it', () => {
    const queue = new Queue()
    assert.strictEqual(queue.first, undefined)
    for (let i = 0; i < 100; i++) queue.push(i)
    for (let i = 0; i < 100; i++) {
      assert.strictEqual(queue.first, i)
      assert.strictEqual(queue.length, 100 - i)
      assert.strictEqual(queue.shift(), i)
    }
    assert.strictEqual(queue.first, undefined)
    queue.push('again')
    assert.strictEqual(queue.first, 'again')
  })

  it('keeps undefined and null as items', () => {
    const queue = new Queue()
    for (const item of [undefined, null, 0]) queue.push(item)
    assert.strictEqual(queue.length, 3)
    assert.deepStrictEqual([queue.shift(), queue.shift(), queue.shift()], [undefined, null, 0])
  })

  it('takes time in proportion to its length', () => {
    // A queue that moves all the rest at each shift needs minutes for this.
    const queue = new Queue()
    for (let i = 0; i < 1_000_000; i++) queue.push(i)
    for (let i = 0; i < 1_000_000; i++) if (queue.shift() !== i) assert.fail()
    assert.strictEqual(queue.length, 0)
  }).timeout(5000)
})
