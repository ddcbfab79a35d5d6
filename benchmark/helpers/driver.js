'use strict'

// Runs the trials of a benchmark: takes its variants in turn, shows how far it
// is, and hands the results to the report.

const fs = require('node:fs')
const os = require('node:os')
const { BenchmarkError, readOptions, usage } = require('./options.js')
const { Progress } = require('./progress.js')
const { printReport } = require('./report.js')
const { endOnSignals, runTrial } = require('./run-trial.js')
const { summarizeCases } = require('./summary.js')

const WARM_UP = 0.15 // seconds
// A slow row gets this many times the duration until it has to be over.
const LIMIT_FACTOR = 4

const GIB = 1024 ** 3
const MIB = 1024 ** 2

/** Bytes that a sender may grow by. */
function memoryLimit () {
  return Math.min(2 * GIB, Math.floor(os.totalmem() / 4))
}

/**
 * All trials in the order in which they run: in each round every row once with
 * each variant, one right after the other, the order swapped between rounds.
 */
function schedule (cases, rounds) {
  const trials = []
  for (let round = 0; round < rounds; round++) {
    for (const row of cases) {
      const variants = round % 2 === 0 ? row.variants : [...row.variants].reverse()
      for (const variant of variants) trials.push({ round, row, variant })
    }
  }
  return trials
}

async function run (benchmark, options) {
  const tables = benchmark.tables(options)
  const cases = benchmark.cases(options)
  const common = {
    lane: options.lane,
    memoryLimit: memoryLimit(),
    warmUp: WARM_UP,
    duration: options.dur,
    limit: options.dur * LIMIT_FACTOR
  }
  const date = new Date().toISOString()
  const trials = schedule(cases, options.rounds)
  const describe = ({ row, variant }) => `${variant.name} ${row.title}, ${row.serialization}`
  const progress = new Progress(trials.map(describe))

  const results = []
  for (const trial of trials) {
    const { title, table, variants, ...row } = trial.row
    const { name, program, ...variant } = trial.variant
    const started = Date.now()
    const result = await runTrial(
      program, { ...common, ...row, ...variant, variant: name }, describe(trial))
    results.push({
      table, round: trial.round, row: title, serialization: row.serialization, ...result
    })
    progress.finish(describe(trial), (Date.now() - started) / 1000, describe(trial))
  }

  const cpus = os.cpus()
  const report = {
    benchmark: benchmark.name,
    question: benchmark.question,
    command: ['node', `benchmark/${benchmark.name}.js`, ...process.argv.slice(2)].join(' '),
    machine: {
      cpu: cpus[0]?.model.trim() ?? 'unknown',
      cpus: cpus.length,
      platform: `${os.platform()} ${os.release()}`,
      arch: os.arch()
    },
    node: process.version,
    date,
    rounds: options.rounds,
    duration: common.duration,
    warmUp: common.warmUp,
    limit: common.limit,
    memoryLimit: benchmark.hasMemoryLimit ? Math.round(common.memoryLimit / MIB) : null,
    lane: results.find(({ lane }) => lane !== null)?.lane ?? null,
    summary: summarizeCases(tables, cases, results),
    trials: results
  }
  printReport(tables, report)
  if (options.json !== undefined) {
    fs.writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
  }
}

/**
 * The whole of a benchmark. Ends the process with code 1 where an option is
 * wrong, or when a trial fails.
 * @param {object} benchmark
 * @param {string} benchmark.name of its file, without the ending
 * @param {string} benchmark.question what it answers, in a sentence
 * @param {boolean} [benchmark.hasMemoryLimit] if its senders queue without bound
 * @param {object} benchmark.defaults of each option that has one; `quick` holds
 *   those that --quick sets in their place
 * @param {object} [benchmark.options] further options, in the form of parseArgs()
 * @param {(options: object) => void} [benchmark.prepare] checks the further
 *   options and makes what the trials need
 * @param {(options: object) => Table[]} benchmark.tables
 * @param {(options: object) => Row[]} benchmark.cases the rows, of all tables
 *
 * @typedef {object} Row also has what its trial programs are to be told
 * @property {string} table the name of its table
 * @property {string} title unique in it, together with the serialization
 * @property {string} serialization
 * @property {object[]} variants each a `name`, the path of a trial `program`,
 *   `env` for it if need be, and what else it is to be told
 *
 * @typedef {object} Table
 * @property {string} name
 * @property {string} [heading] printed above
 * @property {string[]} [notes] printed above too
 * @property {object[]} comparisons as for summarizeCases()
 * @property {object[]} columns see columns.js
 * @property {(summary: object) => object[]} [lines] of a row; one if absent
 */
async function main (benchmark) {
  endOnSignals()
  try {
    const options = readOptions(process.argv.slice(2), benchmark)
    if (options.help) return process.stdout.write(usage(benchmark))
    benchmark.prepare?.(options)
    await run(benchmark, options)
  } catch (error) {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    process.stderr.write(`${error instanceof BenchmarkError ? error.message : error.stack}\n`)
    process.exitCode = 1
  }
}

module.exports = { main }
