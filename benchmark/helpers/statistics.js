'use strict'

// Medians and spreads of a handful of trials.

/**
 * The value below which the share `p` of `values` lies, interpolated linearly
 * between neighbours.
 * @param {number[]} values at least one
 * @param {number} p from 0 to 1
 */
function quantile (values, p) {
  const sorted = [...values].sort((a, b) => a - b)
  const position = (sorted.length - 1) * p
  const below = Math.floor(position)
  const above = Math.ceil(position)
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below)
}

function median (values) {
  return quantile(values, 0.5)
}

/**
 * @param {number[]} values at least one
 * @returns {{median: number, q1: number, q3: number, min: number, max: number,
 *   spread: number | null}} `spread` is half of the interquartile range as a
 *   share of the median, null where the median is 0
 */
function summarize (values) {
  const middle = median(values)
  const q1 = quantile(values, 0.25)
  const q3 = quantile(values, 0.75)
  return {
    median: middle,
    q1,
    q3,
    min: Math.min(...values),
    max: Math.max(...values),
    spread: middle === 0 ? null : (q3 - q1) / 2 / middle
  }
}

/**
 * How many times faster one variant is than another, from pairs of trials that
 * ran next to each other.
 *
 * A baseline that counted nothing has no rate to divide by, but it is known to
 * be slower than one message in the time that it had. Such a round contributes
 * the ratio to that rate, and `atLeast` is set: the truth is above the result.
 *
 * @param {Array<{baseline: Trial, candidate: Trial}>} rounds
 * @typedef {{count: number, seconds: number}} Trial
 * @returns {{median: number, min: number, max: number, atLeast: boolean,
 *   baselineIsZero: boolean}} `baselineIsZero` if no round counted anything
 */
function ratio (rounds) {
  const ratios = rounds.map(({ baseline, candidate }) =>
    rate(candidate) / rate({ ...baseline, count: Math.max(baseline.count, 1) }))
  const isZero = ({ baseline }) => baseline.count === 0
  return {
    median: median(ratios),
    min: Math.min(...ratios),
    max: Math.max(...ratios),
    atLeast: rounds.some(isZero),
    baselineIsZero: rounds.every(isZero)
  }
}

/** Messages per second. */
function rate ({ count, seconds }) {
  return count / seconds
}

module.exports = { median, quantile, rate, ratio, summarize }
