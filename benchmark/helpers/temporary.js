'use strict'

// A directory that is there until this process ends.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

let directory

/** The path of a file of that name in it. */
function temporaryFile (name) {
  if (directory === undefined) {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-benchmark-'))
    process.on('exit', () => fs.rmSync(directory, { recursive: true, force: true }))
  }
  return path.join(directory, name)
}

module.exports = { temporaryFile }
