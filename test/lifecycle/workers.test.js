'use strict'

// Environments with open channels that end: worker threads have their own copy
// of the addon's state, and it goes with them without harm to the process.

const assert = require('node:assert')
const { outcome, tracked } = require('../helpers/children.js')
const { PARENTS, fixture } = require('../helpers/parties.js')

describe('lifecycle: workers with a child', () => {
  for (const [what, way] of Object.entries({
    'are terminated in the middle': 'terminate',
    'call process.exit() in a listener': 'exit',
    'throw in a listener': 'throw'
  })) {
    it(`end cleanly when they ${what}`, async () => {
      const end = await outcome(tracked(PARENTS.stock.spawn(
        process.execPath, [fixture('lifecycle-workers.js'), way]
      )))
      assert.deepStrictEqual(end, { code: 0, signal: null, stdout: '25\n', stderr: '' })
    })
  }
})
