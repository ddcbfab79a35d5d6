'use strict'

// The end of a channel waits for its lanes, and not for ever.

const assert = require('node:assert')
const { Finish } = require('../../lib/finish.js')
const { inTime } = require('../helpers/inbox.js')

class Lane {
  busy = true
  moved = 0
  isBusy () { return this.busy }
  progress () { return this.moved }
}

// The watch has a timer that does not keep a process alive.
async function alive (promise) {
  const timer = setInterval(() => {}, 1000)
  try {
    return await inTime(promise, 'end')
  } finally {
    clearInterval(timer)
  }
}

function makeFinish (...lanes) {
  const ends = []
  let finish
  const ended = new Promise((resolve) => {
    finish = new Finish(lanes, () => {
      ends.push('end')
      resolve()
    })
  })
  return { ends, ended, finish }
}

describe('Finish', () => {
  it('ends at once if no lane is busy', () => {
    const lane = new Lane()
    lane.busy = false
    for (const lanes of [[], [lane], [lane, lane]]) {
      const { ends, finish } = makeFinish(...lanes)
      assert.deepStrictEqual(ends, [])
      finish.start()
      assert.deepStrictEqual(ends, ['end'])
    }
  })

  it('ends when the last lane is not busy any more, and once', () => {
    const lanes = [new Lane(), new Lane()]
    const { ends, finish } = makeFinish(...lanes)
    finish.start()
    finish.check()
    lanes[1].busy = false
    finish.check()
    assert.deepStrictEqual(ends, [])
    lanes[0].busy = false
    finish.check()
    assert.deepStrictEqual(ends, ['end'])
    finish.check()
    finish.end()
    assert.deepStrictEqual(ends, ['end'])
  })

  it('ends when it is told to, whatever the lanes say', () => {
    const { ends, finish } = makeFinish(new Lane())
    finish.start()
    finish.end()
    finish.check()
    assert.deepStrictEqual(ends, ['end'])
  })

  it('ends when no lane moves', async () => {
    const { ends, ended, finish } = makeFinish(new Lane(), new Lane())
    finish.start()
    await alive(ended)
    assert.deepStrictEqual(ends, ['end'])
  })

  it('waits while one of the lanes moves', async () => {
    const still = new Lane()
    const lane = new Lane()
    // A look of the watch is one call; it sees something new a few times.
    let looks = 0
    lane.progress = () => Math.min(++looks, 3)
    const { ends, ended, finish } = makeFinish(still, lane)
    finish.start()
    await alive(ended)
    assert.deepStrictEqual([ends.length, looks], [1, 4])
  })

  it('can be checked from its own end', () => {
    const lane = new Lane()
    const ends = []
    const finish = new Finish([lane], () => {
      ends.push('end')
      finish.check() // as a lane does that is closed now
    })
    finish.start()
    lane.busy = false
    finish.check()
    assert.deepStrictEqual(ends, ['end'])
  })

  it('does not keep a process alive', () => {
    const before = process.getActiveResourcesInfo()
    const { finish } = makeFinish(new Lane())
    finish.start()
    assert.deepStrictEqual(process.getActiveResourcesInfo(), before)
    finish.end()
  })
})
