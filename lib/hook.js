'use strict'

// The one place that steps into Node's spawning: ChildProcess.prototype.spawn()
// gets the options of fork() and spawn() when Node has checked and completed
// them.

const path = require('node:path')
const { ChildProcess } = require('node:child_process')
const { attach, isOff } = require('./channel.js')

const preload = path.join(__dirname, 'child.js')

// Carries to the preload what it has to undo; child.js reads it.
const VARIABLE = 'FORKLANE_CHANNEL'

// With these a child must not, or cannot, load a file that it was not told of.
const REFUSING_OPTIONS = [
  '--permission', '--experimental-permission', '--no-addons', '--experimental-policy'
]

function refuses (argument) {
  if (typeof argument !== 'string') return false
  const [option] = argument.split('=', 1)
  return REFUSING_OPTIONS.includes(option.replaceAll('_', '-')) // as Node takes it
}

// Another user may not be able to read this package.
function isOtherUser ({ uid = process.getuid(), gid = process.getgid() }) {
  return uid !== process.getuid() || gid !== process.getgid()
}

function indexOfVariable (envPairs, name) {
  // A variable that occurs twice: the child sees the first.
  return envPairs.findIndex((pair) => String(pair).startsWith(`${name}=`))
}

// The text of NODE_OPTIONS, or null if there are none.
function nodeOptionsOf (envPairs) {
  const index = indexOfVariable(envPairs, 'NODE_OPTIONS')
  return index === -1 ? null : envPairs[index].slice('NODE_OPTIONS='.length)
}

function hasValue (envPairs, name, value) {
  return envPairs[indexOfVariable(envPairs, name)] === `${name}=${value}`
}

// In NODE_OPTIONS double quotes group, and a backslash escapes inside them.
function quote (text) {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

// Why a child gets no preload, or null.
function impediment ({ envPairs = [], args = [], ...options }) {
  if (!Array.isArray(envPairs) || !Array.isArray(args)) return 'no environment to change'
  if (isOff() || hasValue(envPairs, 'FORKLANE', 'off')) return 'FORKLANE=off'
  // What does not load here does not load there.
  if (!require('./binding.js').binding) return require('./binding.js').reason
  const nodeOptions = nodeOptionsOf(envPairs) ?? ''
  const refusing = [...args, ...nodeOptions.split(/\s+/)].find(refuses)
  if (refusing) return `the child has ${refusing}`
  return isOtherUser(options) ? 'the child is of another user' : null
}

// The environment that makes a Node child run the preload before anything
// else. The preload is told what to cut out of NODE_OPTIONS, because a program in
// between may add to them.
function withPreload (envPairs, ring) {
  const pairs = [...envPairs]
  const index = indexOfVariable(pairs, 'NODE_OPTIONS')
  const original = nodeOptionsOf(pairs)
  const added = `--require ${quote(preload)}${original ? ' ' : ''}`
  const options = `NODE_OPTIONS=${added}${original ?? ''}`
  if (index === -1) pairs.push(options)
  else pairs[index] = options
  pairs.push(`${VARIABLE}=${JSON.stringify({ added, isNew: original === null, ring })}`)
  return pairs
}

// A ring for a child, or why there is none.
function offerRing (stdio) {
  const { RingOffer } = require('./lanes/ring.js')
  try {
    // Node needs up to two for each of these, and libuv two more: a program that is
    // short of them gets its child all the same.
    return { offer: new RingOffer(2 * stdio.length + 4), reason: null }
  } catch (error) {
    return { offer: null, reason: `no ring can be made: ${error.message}` }
  }
}

function hasChannel ({ stdio }) {
  return Array.isArray(stdio) && stdio.includes('ipc')
}

/**
 * The method that takes the place of ChildProcess.prototype.spawn().
 * @param {Function} original what it does the work with
 * @returns {Function}
 */
function hooked (original) {
  return function spawn (options) {
    if (!options || !hasChannel(options)) return original.call(this, options)
    const reason = impediment(options)
    return reason === null
      ? spawnWithRing.call(this, original, options)
      : spawnWithout.call(this, original, options, reason)
  }
}

function spawnWithout (original, options, reason) {
  const result = original.call(this, options)
  attach(this, { reason })
  return result
}

function spawnWithRing (original, options) {
  const { stdio, envPairs = [] } = options
  // So many Node makes in any case.
  while (stdio.length < 3) stdio.push(undefined)
  const { offer, reason } = offerRing(stdio)
  options.envPairs = withPreload(envPairs, offer?.describe(stdio.length))
  if (!offer) return spawnWithout.call(this, original, options, reason)

  let isTaken = false
  try {
    const result = original.call(this, { ...options, stdio: [...stdio, ...offer.descriptors] })
    this.stdio?.splice(stdio.length)
    isTaken = attach(this, { side: 'parent', descriptors: offer.own })
    return result
  } finally {
    offer.close(isTaken)
  }
}

/**
 * Calls `start` so that every channel that it makes is attached.
 * @template T
 * @param {() => T} start calls Node's own fork() or spawn()
 * @returns {T} what `start` returns
 */
function withHook (start) {
  const { prototype } = ChildProcess
  const original = prototype.spawn
  const spawn = hooked(original)

  prototype.spawn = spawn
  try {
    return start()
  } finally {
    if (prototype.spawn === spawn) prototype.spawn = original
  }
}

module.exports = { hooked, withHook }
