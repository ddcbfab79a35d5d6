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
  const ends = middleAndEnds(values)
  const q1 = quantile(values, 0.25)
  const q3 = quantile(values, 0.75)
  return { ...ends, q1, q3, spread: ends.median === 0 ? null : (q3 - q1) / 2 / ends.median }
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
    ...middleAndEnds(ratios),
    atLeast: rounds.some(isZero),
    baselineIsZero: rounds.every(isZero)
  }
}

/**
 * How many times shorter one variant's time is than another's, from pairs of
 * trials that ran next to each other.
 * @param {Array<{baseline: number, candidate: number}>} rounds
 * @returns as ratio()
 */
function ratioOfTimes (rounds) {
  const ratios = rounds.map(({ baseline, candidate }) => baseline / candidate)
  return { ...middleAndEnds(ratios), atLeast: false, baselineIsZero: false }
}

function middleAndEnds (values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** Messages per second. */
function rate ({ count, seconds }) {
  return count / seconds
}

/**
 * What is told of the single times of a trial.
 * @param {import('node:perf_hooks').Histogram} histogram of nanoseconds
 */
function percentiles (histogram) {
  return { p50: histogram.percentile(50), p99: histogram.percentile(99) }
}

module.exports = { percentiles, rate, ratio, ratioOfTimes, summarize }
