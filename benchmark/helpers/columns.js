'use strict'

// The columns that tables are made of: a name, and the text for a row of the
// summary.

const NOT_AVAILABLE = 'n/a'

function formatNumber (number) {
  const digits = number >= 100 ? 0 : number >= 10 ? 1 : 2
  return number.toLocaleString('en-US', {
    minimumFractionDigits: digits, maximumFractionDigits: digits
  })
}

function formatSpread (spread) {
  return spread === null ? '' : ` ±${(spread * 100).toFixed(0)}%`
}

function formatRate ({ median, spread, max }) {
  return max === 0 ? '0' : `${formatNumber(median)}${formatSpread(spread)}`
}

function formatCpu (cpu) {
  return cpu === null ? NOT_AVAILABLE : formatNumber(cpu.median)
}

function formatRatio ({ median, min, max, atLeast, baselineIsZero }, baseline) {
  // Of a lower bound below 1 nothing follows.
  if (baselineIsZero && median <= 1) return `${NOT_AVAILABLE} (${baseline}: 0)`
  if (atLeast) return `> ${median.toFixed(2)}`
  return `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`
}

/** What a row is about. */
const messageColumns = [
  { name: 'serialization', isLeft: true, format: ({ serialization }) => serialization },
  { name: 'message', isLeft: true, format: ({ row }) => row }
]

/** Each of these takes the name of a variant, and of what it counts. */

const rateColumn = (variant, unit = 'msg') => ({
  name: `${variant} ${unit}/s`,
  format: (line) => formatRate(line[variant].messagesPerSecond)
})

const megabytesColumn = (variant) => ({
  name: `${variant} MB/s`,
  format: (line) => formatNumber(line[variant].megabytesPerSecond)
})

const cpuColumn = (variant, unit = 'msg', name = `${variant} CPU us/${unit}`) => ({
  name,
  format: (line) => formatCpu(line[variant].cpuMicrosecondsPerMessage)
})

/** @param {'p50' | 'p99'} percentile */
const latencyColumn = (variant, percentile, name = `${variant} ${percentile} us`) => ({
  name,
  format: (line) => {
    const { median, spread } = line[variant].latencyNanoseconds[percentile]
    return `${formatNumber(median / 1000)}${formatSpread(spread)}`
  }
})

/** A comparison, by its key; `baseline` is what it compares with. */
const ratioColumn = (key, name = 'ratio (min..max)', baseline = 'stock') => ({
  name,
  format: (line) => formatRatio(line[key], baseline)
})

module.exports = {
  cpuColumn, latencyColumn, megabytesColumn, messageColumns, rateColumn, ratioColumn
}
