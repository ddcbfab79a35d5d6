'use strict'

// The package that a trial measures, for the programs at both of its ends.

const childProcess = require('node:child_process')

/**
 * @param {{implementation: 'stock' | 'forklane', lane: string}} trial
 */
function implementationOf ({ implementation, lane: expected }) {
  // The lane is told by the package that is measured; without it there is Node's.
  const forklane = implementation === 'forklane' ? require('../../lib/index.js') : null

  return {
    ...(forklane ?? childProcess),
    lane: forklane?.lane ?? (() => null),

    /**
     * Throws if an end is not on the lane that was asked for.
     * @param {'parent' | 'child'} side
     * @param {object | null} description what lane() said there
     * @param {string[]} directions 'send', 'receive'
     * @returns {string | null} the lane; null on stock, where there is none
     */
    checkLane (side, description, directions) {
      if (forklane === null) return null
      for (const direction of directions) {
        const lane = description?.[direction] ?? 'core'
        if (lane === expected) continue
        throw new Error(`The ${side} is on lane '${lane}' to ${direction}, not on '${expected}' ` +
          `(${description?.reason ?? 'not attached'})`)
      }
      return expected
    }
  }
}

module.exports = { implementationOf }
