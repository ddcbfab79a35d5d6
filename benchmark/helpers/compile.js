'use strict'

// Makes programs of the C files in fixtures/, with `cc` or what CC names.

const { spawnSync } = require('node:child_process')
const { BenchmarkError } = require('./options.js')
const { fixture } = require('./variants.js')
const { temporaryFile } = require('./temporary.js')

/**
 * @param {string} name of the file in fixtures/, without the ending
 * @returns {string} path of the program, which is there until this process ends
 */
function compile (name) {
  const compiler = process.env.CC || 'cc'
  const program = temporaryFile(name)
  const { error, status, stderr } = spawnSync(
    compiler, ['-O2', '-Wall', '-Wextra', '-o', program, fixture(`${name}.c`)],
    { encoding: 'utf8' })
  if (error) throw new BenchmarkError(`Cannot run the C compiler '${compiler}': ${error.message}`)
  if (status !== 0) throw new BenchmarkError(`${name}.c does not compile:\n${stderr}`.trimEnd())
  return program
}

module.exports = { compile }
