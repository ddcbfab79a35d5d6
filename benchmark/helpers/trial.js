'use strict'

// What all trial programs have in common. A trial program (fixtures/trial-*.js)
// is told what to do as JSON in its first argument, prints one line of JSON and
// ends. The driver starts it anew for each trial, so nothing that V8 or the
// allocator has learnt is carried over.

const fs = require('node:fs')

const trial = JSON.parse(process.argv[2])

let child = null
let isOver = false

// The driver holds the other end open while it lives.
process.stdin.resume().on('end', () => fail(new Error('The driver is gone')))
process.on('uncaughtException', fail)

/** Makes a child end with the trial; if it ends earlier, the trial has failed. */
function own (started) {
  child = started
  child.on('error', fail)
  child.on('exit', (code, signal) => {
    if (isOver) process.exit()
    else fail(new Error(`The child ended too early: ${signal ?? `code ${code}`}`))
  })
}

/** Ends the trial. What belongs to every result is added. */
function succeed (result) {
  if (isOver) return
  fs.writeSync(1, `${JSON.stringify({ variant: trial.variant, lane: null, ...result })}\n`)
  end()
}

function fail (error) {
  if (isOver) return
  process.exitCode = 1
  end()
  try {
    fs.writeSync(2, `${error.stack}\n`)
  } catch {
    // Nobody is there to read it.
  }
}

// Ends the process once the child is gone.
function end () {
  isOver = true
  const isGone = !child?.pid || child.exitCode !== null || child.signalCode !== null
  // Not at once, as there is something to be said first.
  if (isGone) process.nextTick(() => process.exit())
  else child.kill('SIGKILL')
}

module.exports = { fail, own, succeed, trial }
