'use strict'

// Children of the tests: what they print, how they end, and that none outlives
// its test.

const { spawnSync } = require('node:child_process')
const { text } = require('node:stream/consumers')

const started = new Set()

/**
 * Remembers a child, which is killed after the test if it still runs.
 * @template {import('node:child_process').ChildProcess} T
 * @param {T} child
 * @returns {T}
 */
function tracked (child) {
  started.add(child)
  child.once('exit', () => started.delete(child))
  return child
}

/**
 * As once() of node:events, which an 'error' would make reject.
 * @param {import('node:events').EventEmitter} emitter
 * @param {string} name
 * @returns {Promise<any[]>} the arguments
 */
function happened (emitter, name) {
  return new Promise((resolve) => emitter.once(name, (...args) => resolve(args)))
}

// Not for 'close': Node does not emit it when the parent disconnects first.

/**
 * Waits for the end of a child that has pipes for stdout and stderr.
 * @returns {Promise<{code: number | null, signal: string | null, stdout: string,
 *   stderr: string}>}
 */
async function outcome (child) {
  const [[code, signal], stdout, stderr] = await Promise.all([
    happened(child, 'exit'), text(child.stdout), text(child.stderr)
  ])
  return { code, signal, stdout, stderr }
}

/**
 * Holds up this thread, with its event loop, until a child is dead.
 * @param {{pid: number}} child
 * @param {number} deadline in ms
 */
function standStillUntilDead ({ pid }, deadline = 15_000) {
  const end = Date.now() + deadline
  const state = () => spawnSync('ps', ['-o', 'stat=', '-p', pid]).stdout.toString()
  while (!/^(Z|$)/.test(state())) {
    if (Date.now() > end) throw new Error(`the child has not died in ${deadline} ms`)
  }
}

globalThis.afterEach?.('no child is left', () => {
  for (const child of started) child.kill('SIGKILL')
})

module.exports = { happened, outcome, standStillUntilDead, tracked }
