'use strict'

// Turns the trials of a benchmark into its summary, and prints that as text
// that can be pasted into a README as it is.

const { rate, ratio, summarize } = require('./statistics.js')

const NOT_AVAILABLE = 'n/a'

function summarizeVariant (trials) {
  const { bytesPerMessage } = trials[0]
  const messages = summarize(trials.map(rate))
  const cpu = trials
    .filter(({ count, cpuSeconds }) => count > 0 && cpuSeconds !== null)
    .map(({ count, cpuSeconds }) => cpuSeconds * 1e6 / count)
  return {
    messagesPerSecond: messages,
    megabytesPerSecond: messages.median * bytesPerMessage / 1e6,
    cpuMicrosecondsPerMessage: cpu.length > 0 ? summarize(cpu) : null,
    memoryLimitReached: trials.filter((trial) => trial.memoryLimitReached).length
  }
}

/**
 * @param {object[]} cases rows of the table
 * @param {object[]} results of all trials
 */
function summarizeCases (cases, results) {
  return cases.map(({ title, serialization }) => {
    const select = (variant) => results
      .filter((trial) => trial.row === title && trial.serialization === serialization &&
        trial.variant === variant)
      .sort((a, b) => a.round - b.round)
    const stock = select('stock')
    const forklane = select('forklane')
    return {
      row: title,
      serialization,
      stock: summarizeVariant(stock),
      forklane: summarizeVariant(forklane),
      ratio: ratio(stock.map((baseline, i) => ({ baseline, candidate: forklane[i] })))
    }
  })
}

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

function formatRatio ({ median, min, max, atLeast, baselineIsZero }) {
  // Of a lower bound below 1 nothing follows.
  if (baselineIsZero && median <= 1) return `${NOT_AVAILABLE} (stock: 0)`
  if (atLeast) return `> ${median.toFixed(2)}`
  return `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`
}

const COLUMNS = [
  ['serialization', ({ serialization }) => serialization],
  ['message', ({ row }) => row],
  ['stock msg/s', ({ stock }) => formatRate(stock.messagesPerSecond)],
  ['forklane msg/s', ({ forklane }) => formatRate(forklane.messagesPerSecond)],
  ['ratio (min..max)', (line) => formatRatio(line.ratio)],
  ['stock MB/s', ({ stock }) => formatNumber(stock.megabytesPerSecond)],
  ['forklane MB/s', ({ forklane }) => formatNumber(forklane.megabytesPerSecond)],
  ['stock CPU us/msg', ({ stock }) => formatCpu(stock.cpuMicrosecondsPerMessage)],
  ['forklane CPU us/msg', ({ forklane }) => formatCpu(forklane.cpuMicrosecondsPerMessage)]
]
const LEFT_ALIGNED = 2

/** A markdown table that is aligned as plain text too. */
function formatTable (summary) {
  const rows = [COLUMNS.map(([name]) => name),
    ...summary.map((line) => COLUMNS.map(([, format]) => format(line)))]
  const widths = COLUMNS.map((_, i) => Math.max(...rows.map((row) => row[i].length)))
  const [head, ...body] = rows.map((row) => {
    const cells = row.map((cell, i) =>
      i < LEFT_ALIGNED ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))
    return `| ${cells.join(' | ')} |`
  })
  const rule = widths.map((width, i) =>
    i < LEFT_ALIGNED ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)
  return [head, `|${rule.join('|')}|`, ...body].join('\n')
}

function formatMemoryLimit ({ summary, rounds, memoryLimit }) {
  if (memoryLimit === null) return []
  const lines = [`- a sender that has grown by more than ${memoryLimit} MiB ends its trial`]
  for (const line of summary) {
    for (const variant of ['stock', 'forklane']) {
      const trials = line[variant].memoryLimitReached
      if (trials === 0) continue
      lines.push(`  - so did ${variant}, ${line.serialization}, ${line.row}: ` +
        `${trials} of ${rounds} trials`)
    }
  }
  return lines
}

function printReport (report) {
  const { machine } = report
  const round = (seconds) => Number(seconds.toFixed(3))
  const lines = [
    `**${report.benchmark}**: ${report.question}`,
    '',
    `- \`${report.command}\`, ${report.date}`,
    `- ${machine.cpu}, ${machine.cpus} CPUs, ${machine.platform} ${machine.arch}, ` +
      `Node ${report.node}`,
    `- forklane on lane \`${report.lane}\`; stock is \`node:child_process\``,
    `- median of ${report.rounds} rounds, ± half the interquartile range; ` +
      `${round(report.duration)} s counted after ${round(report.warmUp)} s of warm-up ` +
      `(slow rows up to ${round(report.limit)} s); CPU of both processes`,
    ...formatMemoryLimit(report),
    '',
    formatTable(report.summary)
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

module.exports = { formatRatio, formatTable, printReport, summarizeCases }
