'use strict'

// The command line of the benchmarks.

const fs = require('node:fs')
const { parseArgs } = require('node:util')
const { MAX_STRING_LENGTH } = require('node:buffer').constants

const SERIALIZATIONS = ['json', 'advanced']
const LANES = ['pipe', 'ring']

// Where both ends are forklane.
const DEFAULT_LANE = 'ring'

const OPTIONS = {
  quick: { type: 'boolean', help: 'fewer rows and rounds, for a first look' },
  len: { type: 'string', value: 'A,B,C', help: 'lengths of the string' },
  serialization: { type: 'string', value: 'MODES', help: 'json,advanced or one of them' },
  dur: { type: 'string', value: 'SECONDS', help: 'what is counted of each trial' },
  rounds: { type: 'string', value: 'N', help: 'trials of each row and variant' },
  json: { type: 'string', value: 'FILE', help: 'write each trial and the summary there' },
  help: { type: 'boolean', help: 'this text' }
}

// Options that some benchmarks have.
const LANE_OPTION = {
  type: 'string', value: 'LANE', help: 'the lane that forklane has to be on'
}
const QUOTED_OPTION = {
  type: 'boolean', help: 'send the JSON text of the string, quotes and all'
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

function oneOf (name, text, allowed) {
  if (!allowed.includes(text)) {
    throw new BenchmarkError(`--${name}: '${text}' is not one of ${allowed.join(', ')}`)
  }
  return text
}

/** The items of a list with commas, all of which have to be in `allowed`. */
function oneOrMoreOf (name, text, allowed) {
  const items = [...new Set(text.split(',').map((item) => item.trim()))]
  return items.map((item) => oneOf(name, item, allowed))
}

function lengths (text) {
  // A frame has a few bytes more than the string, and is a string itself.
  const limits = { max: MAX_STRING_LENGTH - 32, whole: true }
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
 * @param {object} benchmark as for main() in driver.js
 */
function readOptions (args, { defaults: { quick, ...defaults }, options }) {
  let values
  try {
    ({ values } = parseArgs({ args, options: allOptions(options) }))
  } catch (error) {
    throw new BenchmarkError(error.message)
  }
  const text = { ...defaults, ...(values.quick ? quick : {}), ...values }
  if (values.json !== undefined) checkWritable(values.json)
  return {
    ...text,
    len: lengths(text.len),
    serialization: oneOrMoreOf('serialization', text.serialization, SERIALIZATIONS),
    lane: oneOf('lane', text.lane, LANES),
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

module.exports = {
  BenchmarkError, DEFAULT_LANE, LANE_OPTION, QUOTED_OPTION, oneOrMoreOf, readOptions, usage
}
