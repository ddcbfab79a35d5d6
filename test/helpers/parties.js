'use strict'

// Who is at the two ends of a channel. Every parity case runs with forklane and
// with stock on either side, in both serializations, and expects the same.

const assert = require('node:assert')
const path = require('node:path')
const stock = require('node:child_process')
const forklane = require('../../lib/index.js')

const preload = path.join(__dirname, '..', '..', 'lib', 'child.js')

const PARENTS = { stock, forklane }
const CHILDREN = ['stock', 'forklane']
const SERIALIZATIONS = ['json', 'advanced']

/** The path of a child program in test/fixtures. */
function fixture (name) {
  return path.join(__dirname, '..', 'fixtures', name)
}

/**
 * Starts a child with the given parties at the ends.
 * @param {{parent: string, child: string, serialization: string}} parties
 * @param {string} file a module path
 * @param {string[]} [args]
 * @param {object} [options] as of fork()
 * @returns {import('node:child_process').ChildProcess}
 */
function forkAs ({ parent, child, serialization }, file, args = [], options = {}) {
  const env = { ...process.env, ...options.env }
  const execArgv = [...(options.execArgv ?? [])]
  if (parent === 'forklane' && child === 'stock') env.FORKLANE = 'off'
  if (parent === 'stock' && child === 'forklane') execArgv.push('--require', preload)
  const target = PARENTS[parent].fork(file, args, { ...options, env, execArgv, serialization })
  assert.strictEqual(forklane.lane(target).send, parent === 'stock' ? 'core' : 'pipe')
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

module.exports = { PARENTS, SERIALIZATIONS, fixture, forEachParties, forkAs, preload }
