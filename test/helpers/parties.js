'use strict'

// Who is at the two ends of a channel. Every parity case runs with forklane and
// with stock on either side, in both serializations, and expects the same; and
// once more when forklane at both ends has left the socket for the ring, which
// two ends of forklane do only after a while.

const assert = require('node:assert')
const path = require('node:path')
const stock = require('node:child_process')
const forklane = require('../../lib/index.js')
const { onRing } = require('./on-ring.js')

const preload = path.join(__dirname, '..', '..', 'lib', 'child.js')

const PARENTS = { stock, forklane }
const CHILDREN = ['stock', 'forklane']
const SERIALIZATIONS = ['json', 'advanced']

// Bytes of one ring. In the small one messages wait for room, and travel in
// parts, all the time.
const RINGS = { 'the ring': undefined, 'a small ring': 64 * 1024 }

/** The path of a child program in test/fixtures. */
function fixture (name) {
  return path.join(__dirname, '..', 'fixtures', name)
}

// Calls `start` with the size of rings in the environment.
function withRingSize (size, start) {
  const before = process.env.FORKLANE_RING_SIZE
  if (size !== undefined) process.env.FORKLANE_RING_SIZE = size
  try {
    return start()
  } finally {
    if (before === undefined) delete process.env.FORKLANE_RING_SIZE
    else process.env.FORKLANE_RING_SIZE = before
  }
}

/**
 * Starts a child with the given parties at the ends.
 * @param {{parent: string, child: string, serialization: string, onRing?: boolean,
 *   ringSize?: number}} parties
 * @param {string} file a module path
 * @param {string[]} [args]
 * @param {object} [options] as of fork()
 * @returns {import('node:child_process').ChildProcess}
 */
function forkAs ({ parent, child, serialization, onRing, ringSize }, file, args = [], options = {}) {
  const env = { ...process.env, ...options.env }
  const execArgv = [...(options.execArgv ?? [])]
  if (parent === 'forklane' && child === 'stock') env.FORKLANE = 'off'
  if (parent === 'stock' && child === 'forklane') execArgv.push('--require', preload)
  if (onRing) execArgv.push('--require', fixture('on-ring.js'))
  const target = withRingSize(ringSize, () =>
    PARENTS[parent].fork(file, args, { ...options, env, execArgv, serialization }))
  assert.strictEqual(forklane.lane(target).send, parent === 'stock' ? 'core' : 'pipe')
  return target
}

/**
 * As forkAs(), and waits for the ring if the parties are to use it. If not, the
 * child has not begun to run.
 * @returns {Promise<import('node:child_process').ChildProcess>}
 */
async function startAs (parties, file, args, options) {
  const target = forkAs(parties, file, args, options)
  try {
    if (parties.onRing) await onRing(target)
  } catch (error) {
    target.kill('SIGKILL')
    throw error
  }
  return target
}

/**
 * Declares a suite for each combination of parties; `body` gets it and declares
 * the cases.
 * @param {(parties: {parent: string, child: string, serialization: string}) => void} body
 * @param {{serializations?: string[]}} [only]
 */
function forEachParties (body, { serializations = SERIALIZATIONS } = {}) {
  for (const parent of Object.keys(PARENTS)) {
    for (const child of CHILDREN) {
      for (const serialization of serializations) {
        describe(`parent ${parent}, child ${child}, ${serialization}`, () => {
          body({ parent, child, serialization })
        })
      }
    }
  }
}

/**
 * The same for each way of being on the ring, for startAs().
 * @param {(parties: object) => void} body
 * @param {{serializations?: string[]}} [only]
 */
function forEachRing (body, { serializations = SERIALIZATIONS } = {}) {
  for (const [ring, ringSize] of Object.entries(RINGS)) {
    for (const serialization of serializations) {
      describe(`on ${ring}, ${serialization}`, () => {
        body({ parent: 'forklane', child: 'forklane', serialization, onRing: true, ringSize })
      })
    }
  }
}

/** Both, for cases that are the same everywhere. */
function forEachChannel (body, only) {
  forEachParties(body, only)
  forEachRing(body, only)
}

module.exports = {
  PARENTS,
  SERIALIZATIONS,
  fixture,
  forEachChannel,
  forEachParties,
  forEachRing,
  forkAs,
  preload,
  startAs
}
