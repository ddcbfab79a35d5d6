'use strict'

// Measures work of this process alone, that waits for nobody.

const { performance } = require('node:perf_hooks')
const { ownCpu } = require('./cpu.js')
const { trial } = require('./trial.js')

// Bytes, and calls, between two looks at the clock.
const BATCH_BYTES = 256 * 1024
const BATCH_CALLS = 4096

/**
 * Calls `step` during the warm-up and the time of a trial.
 * @param {number} size bytes that a step is about
 * @param {() => void} step
 * @returns {object} the result of the trial
 */
function measureLoop (size, step) {
  const calls = Math.min(BATCH_CALLS, Math.max(1, Math.floor(BATCH_BYTES / size)))

  function run (seconds) {
    const start = performance.now()
    const cpuAtStart = ownCpu()
    let count = 0
    let end
    do {
      for (let i = 0; i < calls; i++) step()
      count += calls
      end = performance.now()
    } while (end - start < seconds * 1000)
    return {
      count,
      seconds: (end - start) / 1000,
      bytesPerMessage: size,
      cpuSeconds: ownCpu() - cpuAtStart
    }
  }

  run(trial.warmUp)
  return run(trial.duration)
}

module.exports = { measureLoop }
