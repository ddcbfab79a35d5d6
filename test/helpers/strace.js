'use strict'

// Suites that count system calls.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

/**
 * To be called in a suite: skips it where strace cannot be used, and makes a folder
 * for the traces, which is gone afterwards.
 * @returns {() => string} gives the folder, in a test
 */
function traceFolder () {
  let directory

  before(function () {
    if (spawnSync('strace', ['-o', os.devNull, 'true']).status !== 0) {
      console.log('      strace cannot be used here')
      this.skip()
    }
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-'))
  })

  after(() => {
    if (directory) fs.rmSync(directory, { recursive: true })
  })

  return () => directory
}

module.exports = { traceFolder }
