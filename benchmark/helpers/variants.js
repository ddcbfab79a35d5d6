'use strict'

// What is compared: the same trial program on Node's own child_process, and on
// forklane.

const path = require('node:path')

/** The path of a file in fixtures/. */
function fixture (name) {
  return path.join(__dirname, '..', 'fixtures', name)
}

/** @param {string} program the name of a trial program in fixtures/ */
function stockAndForklane (program) {
  return ['stock', 'forklane'].map((name) => ({
    name, implementation: name, program: fixture(program)
  }))
}

/** The same trial program on a forklane that never spins, in both processes. */
function withoutSpin (program) {
  return {
    name: 'forklane without spin',
    implementation: 'forklane',
    program: fixture(program),
    env: { FORKLANE_SPIN: '0' }
  }
}

module.exports = { fixture, stockAndForklane, withoutSpin }
