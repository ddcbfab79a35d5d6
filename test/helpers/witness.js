'use strict'

// Files by which one process shows another that something has happened, also
// when neither of them gets to its event loop.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const DEADLINE = 15_000

// The children of a test have theirs in the directory of its process, which goes
// in time even if they are killed.
const DIRECTORY = 'FORKLANE_TEST_DIRECTORY'

let count = 0

/** A path that nothing is at. */
function newWitness () {
  if (!process.env[DIRECTORY]) {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-'))
    process.env[DIRECTORY] = directory
    process.on('exit', () => fs.rmSync(directory, { recursive: true, force: true }))
  }
  return path.join(process.env[DIRECTORY], `${process.pid}-${++count}`)
}

/** Shows that it has happened. */
function witness (file) {
  fs.writeFileSync(file, '')
}

function hasHappened (file) {
  return fs.existsSync(file)
}

/**
 * Holds up this thread, with its event loop, until it has happened.
 * @param {string} file
 */
function standStill (file) {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const end = Date.now() + DEADLINE
  while (!hasHappened(file)) {
    if (Date.now() > end) throw new Error(`nothing has happened in ${DEADLINE} ms`)
    Atomics.wait(cell, 0, 0, 1)
  }
}

module.exports = { hasHappened, newWitness, standStill, witness }
