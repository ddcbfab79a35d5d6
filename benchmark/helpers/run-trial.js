'use strict'

// Runs trial programs, and lets none of their processes outlive this one.

const { spawn } = require('node:child_process')
const { BenchmarkError } = require('./options.js')

// What a trial may need beyond its own time, on a busy machine too.
const TRIAL_GRACE = 60_000

// The trials that run; a signal ends them all.
const running = new Set()

function killGroup ({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

function endOnSignals () {
  for (const [signal, number] of [['SIGHUP', 1], ['SIGINT', 2], ['SIGTERM', 15]]) {
    process.once(signal, () => process.exit(128 + number))
  }
  process.on('exit', () => running.forEach(killGroup))
}

/**
 * Runs one trial in fresh processes.
 * @param {string} program
 * @param {object} trial what it is told; `env` is also added to its environment
 * @param {string} description for errors
 * @returns {Promise<object>} what it printed
 */
function runTrial (program, trial, description) {
  return new Promise((resolve, reject) => {
    // In a group of its own, so that the child goes with it when it is killed.
    const parent = spawn(process.execPath, [program, JSON.stringify(trial)], {
      detached: true,
      env: { ...process.env, ...trial.env },
      stdio: ['pipe', 'pipe', 'pipe']
    })
    running.add(parent)

    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr']) {
      parent[name].setEncoding('utf8').on('data', (text) => { output[name] += text })
    }

    const deadline = (trial.warmUp + trial.limit) * 1000 + TRIAL_GRACE
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      killGroup(parent)
    }, deadline)

    const failed = (why) => reject(new BenchmarkError(
      `Trial failed (${description}): ${why}\n${output.stderr}`.trimEnd()))

    parent.on('error', (error) => {
      clearTimeout(timer)
      running.delete(parent)
      failed(error.message)
    })
    parent.on('close', (code, signal) => {
      clearTimeout(timer)
      running.delete(parent)
      if (isLate) return failed(`not over after ${deadline / 1000} s`)
      if (code !== 0) return failed(signal ?? `exit code ${code}`)
      try {
        resolve(JSON.parse(output.stdout))
      } catch {
        failed(`unexpected output '${output.stdout}'`)
      }
    })
  })
}

module.exports = { endOnSignals, runTrial }
