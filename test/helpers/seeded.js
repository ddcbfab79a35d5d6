'use strict'

// Random bytes that are the same in each run.

/** @param {number} seed */
function seeded (seed) {
  let state = seed

  // mulberry32
  function next () {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n) => Math.floor(next() * n)

  return {
    below,
    chance: (p) => next() < p,
    bytes: (max) => Buffer.from({ length: below(max) }, () => below(256)),
    /** A copy with some bytes changed, and sometimes an end cut off. */
    mutate (bytes) {
      const copy = Buffer.from(bytes)
      for (let i = below(4); i > 0; i--) copy[below(copy.length)] = below(256)
      return below(4) === 0 ? copy.subarray(0, below(copy.length)) : copy
    }
  }
}

module.exports = { seeded }
