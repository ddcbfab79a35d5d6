'use strict'

// CPU time, user and system, in seconds.

const fs = require('node:fs')

const TICKS_PER_SECOND = 100 // USER_HZ, on every Linux that Node runs on

/** Of this process, all of its threads. */
function ownCpu () {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Of another process, from /proc in steps of 10 ms; null where there is none. */
function cpuOf ({ pid }) {
  let text
  try {
    text = fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return null
  }
  // The name of the program may hold anything, also spaces and parentheses;
  // the fields after it begin with the third. utime and stime are 14 and 15.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Of this process and a child. */
function cpuWith (child) {
  const own = ownCpu()
  const other = cpuOf(child)
  return other === null ? null : own + other
}

module.exports = { cpuWith, ownCpu }
