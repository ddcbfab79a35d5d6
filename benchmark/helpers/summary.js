'use strict'

// Turns the trials of a benchmark into its summary.

const { rate, ratio, ratioOfTimes, summarize } = require('./statistics.js')

function summarizeVariant (trials) {
  const { bytesPerMessage } = trials[0]
  const messages = summarize(trials.map(rate))
  const cpu = trials
    .filter(({ count, cpuSeconds }) => count > 0 && cpuSeconds !== null)
    .map(({ count, cpuSeconds }) => cpuSeconds * 1e6 / count)
  const summary = {
    messagesPerSecond: messages,
    megabytesPerSecond: messages.median * bytesPerMessage / 1e6,
    cpuMicrosecondsPerMessage: cpu.length > 0 ? summarize(cpu) : null,
    memoryLimitReached: trials.filter((trial) => trial.memoryLimitReached).length
  }
  if (trials[0].latency !== undefined) {
    summary.latencyNanoseconds = {
      p50: summarize(trials.map(({ latency }) => latency.p50)),
      p99: summarize(trials.map(({ latency }) => latency.p99))
    }
  }
  return summary
}

function compare (baselines, candidates, of) {
  const pairs = baselines.map((baseline, i) => ({ baseline, candidate: candidates[i] }))
  if (of === 'rate') return ratio(pairs)
  return ratioOfTimes(pairs.map(({ baseline, candidate }) => ({
    baseline: baseline.latency[of], candidate: candidate.latency[of]
  })))
}

/**
 * @param {Array<{name: string, comparisons: Comparison[]}>} tables
 * @typedef {{key: string, baseline: string, candidate: string,
 *   of: 'rate' | 'p50'}} Comparison how many times faster the variant
 *   `candidate` is than `baseline`; it gets into the summary as `key`
 * @param {object[]} cases rows of the tables
 * @param {object[]} results of all trials
 */
function summarizeCases (tables, cases, results) {
  return cases.map(({ table, title, serialization, variants }) => {
    const trialsOf = (variant) => results
      .filter((trial) => trial.table === table && trial.row === title &&
        trial.serialization === serialization && trial.variant === variant)
      .sort((a, b) => a.round - b.round)
    const line = { table, row: title, serialization }
    for (const { name } of variants) line[name] = summarizeVariant(trialsOf(name))
    const { comparisons } = tables.find(({ name }) => name === table)
    for (const { key, baseline, candidate, of } of comparisons) {
      line[key] = compare(trialsOf(baseline), trialsOf(candidate), of)
    }
    return line
  })
}

module.exports = { summarizeCases }
