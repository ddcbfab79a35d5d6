'use strict'

// Runs the trials of a benchmark: reads the options, takes stock and forklane in
// turn, shows how far it is, and hands the results to the report.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { parseArgs } = require('node:util')
const { MAX_STRING_LENGTH } = require('node:buffer').constants
const { printReport, summarizeCases } = require('./report.js')

const TRIAL_PARENT = path.join(__dirname, '..', 'fixtures', 'trial-parent.js')

const VARIANTS = ['stock', 'forklane']
const SERIALIZATIONS = ['json', 'advanced']

const WARM_UP = 0.15 // seconds
// A slow row gets this many times the duration until it has to be over.
const LIMIT_FACTOR = 4
// What a trial may need beyond its own time, on a busy machine too.
const TRIAL_GRACE = 60_000

const GIB = 1024 ** 3
const MIB = 1024 ** 2

const OPTIONS = {
  quick: { type: 'boolean', help: 'fewer rows and rounds, for a first look' },
  len: { type: 'string', value: 'A,B,C', help: 'lengths of the string' },
  serialization: { type: 'string', value: 'MODES', help: 'json,advanced or one of them' },
  quoted: { type: 'boolean', help: 'send the JSON text of the string, quotes and all' },
  dur: { type: 'string', value: 'SECONDS', help: 'what is counted of each trial' },
  rounds: { type: 'string', value: 'N', help: 'trials of each row and variant' },
  json: { type: 'string', value: 'FILE', help: 'write each trial and the summary there' },
  help: { type: 'boolean', help: 'this text' }
}

/** Something that is no fault of the benchmark; the message says all. */
class BenchmarkError extends Error {}

function positiveNumber (name, text, { max, whole = false }) {
  const number = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : NaN
  if (!(number > 0 && number <= max) || (whole && !Number.isInteger(number))) {
    throw new BenchmarkError(`--${name}: '${text}' is not a ${whole ? 'whole ' : ''}number ` +
      `above 0 and up to ${max}`)
  }
  return number
}

/** The items of a list with commas, all of which have to be in `allowed`. */
function oneOrMoreOf (name, text, allowed) {
  const items = [...new Set(text.split(',').map((item) => item.trim()))]
  for (const item of items) {
    if (!allowed.includes(item)) {
      throw new BenchmarkError(`--${name}: '${item}' is not one of ${allowed.join(', ')}`)
    }
  }
  return items
}

function lengths (text) {
  // A frame has a few bytes more than the string, and is a string itself.
  const limits = { max: MAX_STRING_LENGTH - 16, whole: true }
  return [...new Set(text.split(',').map((item) => positiveNumber('len', item, limits)))]
}

function checkWritable (file) {
  try {
    fs.closeSync(fs.openSync(file, 'a'))
  } catch (error) {
    throw new BenchmarkError(`--json: ${error.message}`)
  }
}

/**
 * Reads the command line.
 * @param {string[]} args
 * @param {object} defaults for each option that has one; `quick` holds those
 *   that --quick sets in their place
 * @param {object} [extra] further options, in the form of OPTIONS
 */
function readOptions (args, { quick, ...defaults }, extra) {
  let values
  try {
    ({ values } = parseArgs({ args, options: allOptions(extra) }))
  } catch (error) {
    throw new BenchmarkError(error.message)
  }
  const text = { ...defaults, ...(values.quick ? quick : {}), ...values }
  if (values.json !== undefined) checkWritable(values.json)
  return {
    ...text,
    len: lengths(text.len),
    serialization: oneOrMoreOf('serialization', text.serialization, SERIALIZATIONS),
    dur: positiveNumber('dur', text.dur, { max: 600 }),
    rounds: positiveNumber('rounds', text.rounds, { max: 1000, whole: true })
  }
}

function allOptions (extra) {
  const { help, ...others } = OPTIONS
  return { ...others, ...extra, help }
}

function usage (benchmark) {
  const lines = Object.entries(allOptions(benchmark.options)).map(([name, { value, help }]) => {
    const initial = benchmark.defaults[name]
    const note = typeof initial === 'string' ? ` (${initial})` : ''
    return `  ${`--${name} ${value ?? ''}`.padEnd(24)}${help}${note}`
  })
  return `${benchmark.question}\n\nUsage: node benchmark/${benchmark.name}.js [options]\n\n` +
    `${lines.join('\n')}\n`
}

/** Bytes that a sender may grow by. */
function memoryLimit () {
  return Math.min(2 * GIB, Math.floor(os.totalmem() / 4))
}

// The trials that run; a signal ends them all.
const running = new Set()

function killGroup ({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

function endOnSignals () {
  for (const [signal, number] of [['SIGHUP', 1], ['SIGINT', 2], ['SIGTERM', 15]]) {
    process.once(signal, () => process.exit(128 + number))
  }
  process.on('exit', () => running.forEach(killGroup))
}

/**
 * Runs one trial in a fresh pair of processes.
 * @param {object} trial for trial-parent.js
 * @returns {Promise<object>} what it printed
 */
function runTrial (trial) {
  const describe = `${trial.variant}, ${trial.serialization}, ${JSON.stringify(trial.message)}`
  return new Promise((resolve, reject) => {
    // In a group of its own, so that the child goes with it when it is killed.
    const parent = spawn(process.execPath, [TRIAL_PARENT, JSON.stringify(trial)], {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe']
    })
    running.add(parent)

    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr']) {
      parent[name].setEncoding('utf8').on('data', (text) => { output[name] += text })
    }

    const deadline = (trial.warmUp + trial.limit) * 1000 + TRIAL_GRACE
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      killGroup(parent)
    }, deadline)

    const failed = (why) => reject(new BenchmarkError(
      `Trial failed (${describe}): ${why}\n${output.stderr}`.trimEnd()))

    parent.on('error', (error) => {
      clearTimeout(timer)
      running.delete(parent)
      failed(error.message)
    })
    parent.on('close', (code, signal) => {
      clearTimeout(timer)
      running.delete(parent)
      if (isLate) return failed(`not over after ${deadline / 1000} s`)
      if (code !== 0) return failed(signal ?? `exit code ${code}`)
      try {
        resolve(JSON.parse(output.stdout))
      } catch {
        failed(`unexpected output '${output.stdout}'`)
      }
    })
  })
}

/** Says on stderr how many trials are done and how long the rest will take. */
class Progress {
  #total
  #done = 0
  #started = Date.now()
  #lastLine = Date.now()
  #seconds = new Map() // by row and variant, of its last trial
  #pending = new Map() // by row and variant, trials to come

  constructor (keys) {
    this.#total = keys.length
    for (const key of keys) this.#pending.set(key, (this.#pending.get(key) ?? 0) + 1)
  }

  finish (key, seconds, text) {
    this.#done++
    this.#seconds.set(key, seconds)
    this.#pending.set(key, this.#pending.get(key) - 1)

    const line = `${this.#done}/${this.#total} trials, ` +
      `about ${Math.ceil(this.#secondsLeft())} s left`
    if (process.stderr.isTTY) {
      const isLast = this.#done === this.#total
      process.stderr.write(`\r\x1b[K${isLast ? '' : `${line} (${text})`}`)
    } else if (Date.now() - this.#lastLine >= 10_000) {
      this.#lastLine = Date.now()
      process.stderr.write(`${line}\n`)
    }
  }

  // Rows differ a lot, so each is expected to take as long as it did before,
  // and as long as the others on average when it has not run yet.
  #secondsLeft () {
    const average = (Date.now() - this.#started) / 1000 / this.#done
    let left = 0
    for (const [key, trials] of this.#pending) {
      left += trials * (this.#seconds.get(key) ?? average)
    }
    return left
  }
}

/**
 * All trials in the order in which they run: in each round every row once with
 * either variant, one right after the other, the order swapped between rounds.
 */
function schedule (cases, rounds) {
  const trials = []
  for (let round = 0; round < rounds; round++) {
    const variants = round % 2 === 0 ? VARIANTS : [...VARIANTS].reverse()
    for (const row of cases) {
      for (const variant of variants) trials.push({ round, row, variant })
    }
  }
  return trials
}

async function run (benchmark, options) {
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
  const keyOf = ({ row, variant }) => `${variant} ${row.title}, ${row.serialization}`
  const progress = new Progress(trials.map(keyOf))

  const results = []
  for (const trial of trials) {
    const { title, ...row } = trial.row
    const started = Date.now()
    const result = await runTrial({ ...common, ...row, variant: trial.variant })
    results.push({
      round: trial.round, row: title, serialization: row.serialization, ...result
    })
    progress.finish(keyOf(trial), (Date.now() - started) / 1000, keyOf(trial))
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
    // Only a sender in JavaScript queues what it sends.
    memoryLimit: cases.some(({ producer }) => producer)
      ? null
      : Math.round(common.memoryLimit / MIB),
    lane: results.find(({ variant }) => variant === 'forklane').lane,
    summary: summarizeCases(cases, results),
    trials: results
  }
  printReport(report)
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
 * @param {object} benchmark.defaults for readOptions()
 * @param {object} [benchmark.options] further options
 * @param {(options: object) => void} [benchmark.prepare] checks the further
 *   options and makes what the trials need
 * @param {(options: object) => object[]} benchmark.cases the rows: a `title`,
 *   and what trial-parent.js is to be told
 */
async function main (benchmark) {
  endOnSignals()
  try {
    const options = readOptions(process.argv.slice(2), benchmark.defaults, benchmark.options)
    if (options.help) return process.stdout.write(usage(benchmark))
    benchmark.prepare?.(options)
    await run(benchmark, options)
  } catch (error) {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    process.stderr.write(`${error instanceof BenchmarkError ? error.message : error.stack}\n`)
    process.exitCode = 1
  }
}

module.exports = { BenchmarkError, main, oneOrMoreOf }
