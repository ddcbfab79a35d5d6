'use strict'

// What a process holds of its channels, as Linux tells: descriptors, mappings of
// shared memory, and children.

const fs = require('node:fs')
const path = require('node:path')
const forklane = require('../../lib/index.js')
const { happened } = require('./children.js')
const { inTime } = require('./inbox.js')

const ECHO = path.join(__dirname, '..', 'fixtures', 'lifecycle-echo.js')

// The segment of a ring, with seals and without.
const SEGMENT = /memfd:forklane|\/dev\/shm\/forklane/

const PATIENCE_MS = 5000

const isAvailable = fs.existsSync('/proc/self/fd')

// Of a worker that was terminated nobody asks how its children ended, under
// stock as here: these are zombies, and run no more.
function isRunning (pid) {
  return !/\) Z/.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

function childrenOf (task) {
  return fs.readFileSync(`/proc/self/task/${task}/children`, 'utf8')
    .split(' ').filter(Boolean).filter(isRunning)
}

/** @returns {{descriptors: number, mappings: number, children: number}} */
function holdings () {
  return {
    descriptors: fs.readdirSync('/proc/self/fd').length,
    mappings: fs.readFileSync('/proc/self/maps', 'utf8').split('\n')
      .filter((line) => SEGMENT.test(line)).length,
    children: fs.readdirSync('/proc/self/task').flatMap((task) => {
      try {
        return childrenOf(task)
      } catch {
        return [] // the thread, or a child, has ended meanwhile
      }
    }).length
  }
}

/**
 * Waits until no more is held than at a time before: a lane closes in the turns
 * of the loop after its channel.
 * @param {ReturnType<holdings>} before
 * @param {number} [patience] ms
 * @returns {Promise<ReturnType<holdings>>} what is more, which is 0 each if all
 *   is well
 */
async function leftSince (before, patience = PATIENCE_MS) {
  const difference = () => {
    const now = holdings()
    return Object.fromEntries(Object.entries(now).map(([name, n]) => [name, n - before[name]]))
  }
  const deadline = Date.now() + patience
  let left = difference()
  while (Object.values(left).some((n) => n > 0) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    left = difference()
  }
  return left
}

// A Node child that has been on the ring in both directions.
async function forkAndEcho () {
  const child = forklane.fork(ECHO)
  const exit = happened(child, 'exit')
  for (const text of ['on the socket', 'on the ring']) {
    const echo = happened(child, 'message')
    child.send(text)
    const [answer] = await inTime(echo, 'echo')
    if (answer !== text) throw new Error(`${answer} instead of ${text}`)
  }
  if (forklane.lane(child).send !== 'ring') throw new Error(forklane.lane(child).reason)
  child.disconnect()
  await inTime(exit, 'exit')
}

// A program that does not know of channels, which starts in no time.
async function spawnAnything () {
  const child = forklane.spawn('true', { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] })
  await inTime(happened(child, 'close'), 'end of the program')
}

/**
 * Starts children one after another, every n-th of them Node.
 * @param {number} count
 * @param {number} [everyNth]
 * @returns {ReturnType<leftSince>}
 */
async function forkInARow (count, everyNth = 1) {
  // What is made once is not left over.
  await forkAndEcho()
  await spawnAnything()
  const before = holdings()
  for (let i = 0; i < count; i++) await (i % everyNth === 0 ? forkAndEcho() : spawnAnything())
  return leftSince(before)
}

module.exports = { forkInARow, holdings, isAvailable, leftSince }
