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

function hasValue (envPairs, name, value) {
  return envPairs[indexOfVariable(envPairs, name)] === `${name}=${value}`
}

// In NODE_OPTIONS double quotes group, and a backslash escapes inside them.
function quote (text) {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

// Changes the environment of the child, where it is one to be changed.
function injectPreload (options) {
  const { envPairs = [], args = [] } = options
  if (!Array.isArray(envPairs) || !Array.isArray(args)) return
  if (args.some(refuses) || hasValue(envPairs, 'FORKLANE', 'off')) return
  // What does not load here does not load there.
  if (isOff() || !require('./binding.js').binding || isOtherUser(options)) return
  options.envPairs = withPreload(envPairs)
}

// The environment that makes a Node child run the preload before anything
// else. The preload is told what to cut out of NODE_OPTIONS, because a program in
// between may add to them.
function withPreload (envPairs) {
  const pairs = [...envPairs]
  const index = indexOfVariable(pairs, 'NODE_OPTIONS')
  const original = index === -1 ? null : pairs[index].slice('NODE_OPTIONS='.length)
  if (original?.split(/\s+/).some(refuses)) return envPairs
  const added = `--require ${quote(preload)}${original ? ' ' : ''}`
  const options = `NODE_OPTIONS=${added}${original ?? ''}`
  if (index === -1) pairs.push(options)
  else pairs[index] = options
  pairs.push(`${VARIABLE}=${JSON.stringify({ added, isNew: original === null })}`)
  return pairs
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
    injectPreload(options)
    const result = original.call(this, options)
    attach(this)
    return result
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
