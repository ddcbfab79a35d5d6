'use strict'

// Prints the summary of a benchmark as text that can be pasted into a README as
// it is.

/** A markdown table that is aligned as plain text too. */
function formatTable (columns, lines) {
  const rows = [columns.map(({ name }) => name),
    ...lines.map((line) => columns.map(({ format }) => format(line)))]
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => row[i].length)))
  const [head, ...body] = rows.map((row) => {
    const cells = row.map((cell, i) =>
      columns[i].isLeft ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))
    return `| ${cells.join(' | ')} |`
  })
  const rule = widths.map((width, i) =>
    columns[i].isLeft ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)
  return [head, `|${rule.join('|')}|`, ...body]
}

function formatSection ({ name, heading, notes = [], columns, lines = (line) => [line] }, summary) {
  const rows = summary.filter(({ table }) => table === name)
  if (rows.length === 0) return []
  return [
    ...(heading === undefined ? [] : ['', `**${heading}**`]),
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => `- ${note}`)]),
    '',
    ...formatTable(columns, rows.flatMap(lines))
  ]
}

function formatMemoryLimit ({ summary, rounds, memoryLimit }) {
  if (memoryLimit === null) return []
  const lines = [`- a sender that has grown by more than ${memoryLimit} MiB ends its trial`]
  for (const { row, serialization, ...line } of summary) {
    for (const [variant, { memoryLimitReached }] of Object.entries(line)) {
      if (!(memoryLimitReached > 0)) continue
      lines.push(`  - so did ${variant}, ${serialization}, ${row}: ` +
        `${memoryLimitReached} of ${rounds} trials`)
    }
  }
  return lines
}

function printReport (tables, report) {
  const { machine } = report
  const round = (seconds) => Number(seconds.toFixed(3))
  const lines = [
    `**${report.benchmark}**: ${report.question}`,
    '',
    `- \`${report.command}\`, ${report.date}`,
    `- ${machine.cpu}, ${machine.cpus} CPUs, ${machine.platform} ${machine.arch}, ` +
      `Node ${report.node}`,
    ...(report.lane === null
      ? []
      : [`- forklane on lane \`${report.lane}\`; stock is \`node:child_process\``]),
    `- median of ${report.rounds} rounds, ± half the interquartile range; ` +
      `${round(report.duration)} s counted after ${round(report.warmUp)} s of warm-up ` +
      `(slow rows up to ${round(report.limit)} s); CPU of both processes`,
    ...formatMemoryLimit(report),
    ...tables.flatMap((table) => formatSection(table, report.summary))
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

module.exports = { printReport }
