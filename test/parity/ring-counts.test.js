'use strict'

// What a channel on the ring costs, in numbers that do not depend on the machine's
// speed: system calls, and bytes of memory.

const assert = require('node:assert')
const { execFileSync, spawn } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { outcome, tracked } = require('../helpers/children.js')
const { inTime } = require('../helpers/inbox.js')
const { fixture } = require('../helpers/parties.js')
const { ROLES } = require('../helpers/scenario.js')
const { traceFolder } = require('../helpers/strace.js')

describe('ring: system calls', function () {
  this.timeout(40_000)
  const directory = traceFolder()

  // The calls of each side's main thread between its marks, by their names.
  function trace (party, what) {
    const prefix = path.join(directory(), `${party}-${what.replace(' ', '-')}`)
    execFileSync('strace', [
      '-ff', '-o', prefix, '-e', 'signal=none',
      process.execPath, fixture('ring-counts.js'), 'parent', party, what
    ], { timeout: 20_000 })
    const calls = {}
    for (const name of fs.readdirSync(directory())) {
      const file = path.join(directory(), name)
      if (!file.startsWith(prefix)) continue
      const lines = fs.readFileSync(file, 'latin1').split('\n')
      for (const side of ROLES) {
        const [begin, end] = ['begin', 'end'].map((mark) =>
          lines.findIndex((line) => line.includes(`"/forklane-${side}-${mark}"`)))
        if (begin === -1) continue
        assert.ok(end > begin, `the ${side} has not come to its end`)
        calls[side] = lines.slice(begin + 1, end).map((line) => line.slice(0, line.indexOf('(')))
      }
    }
    assert.deepStrictEqual(Object.keys(calls).sort(), ['child', 'parent'])
    return calls
  }

  for (const sender of ROLES) {
    it(`are under 1 for 100 messages at both ends (${sender} floods)`, () => {
      const calls = trace('forklane', `${sender} floods`)
      for (const side of ROLES) {
        assert.ok(calls[side].length < 500, `${calls[side].length} of the ${side} for 50,000 messages`)
      }
    })
  }

  it('are none of the channel while nothing is sent', () => {
    const [stock, ring] = ['stock', 'forklane'].map((party) => trace(party, 'idle'))
    // V8 may collect garbage at any moment: it gives memory back then, and wakes
    // the thread for that a few times. A channel that polls would do so for ever.
    const OF_V8 = ['mmap', 'munmap', 'madvise', 'mprotect', 'brk', 'futex', 'getpid']
    const WAKES = 12
    const count = (calls) => calls.filter((name) => !OF_V8.includes(name)).length
    for (const side of ROLES) {
      const message = `${side}: ${ring[side].join(' ')}`
      assert.ok(count(ring[side]) <= count(stock[side]) + WAKES, message)
    }
  })
})

describe('ring: memory', () => {
  const SIZE = 256 * 1024 * 1024

  for (const sender of ROLES) {
    it(`of both sides stays below three times a Buffer of 256 MiB (${sender} sends)`, async () => {
      const child = tracked(spawn(process.execPath, [fixture('ring-memory.js'), sender, SIZE]))
      const { code, stdout, stderr } = await inTime(outcome(child), 'end of both')
      assert.deepStrictEqual([code, stderr], [0, ''])
      const peaks = Object.assign({}, ...stdout.trim().split('\n').map((line) => JSON.parse(line)))
      assert.deepStrictEqual(Object.keys(peaks).sort(), ['child', 'parent'])
      for (const side of ROLES) {
        const { grown, whole } = peaks[side]
        assert.ok(whole, 'the bytes that were sent')
        // The sender's own Buffer is one of them, and the receiver's another.
        assert.ok(grown > SIZE && grown < 3 * SIZE, `${grown} of the ${side}`)
      }
    })
  }
})
