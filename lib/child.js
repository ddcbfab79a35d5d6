'use strict'

// Runs in a child before the program does: forklane's fork() and spawn() preload
// it, and a program that others start may require it as 'forklane/child'. It
// must do no harm in any version of Node, nor in a process without a channel.

/* eslint-disable no-var -- an old Node has to be able to parse this */

var VARIABLE = 'FORKLANE_CHANNEL'

// Puts the environment back as the parent's program gave it. Returns where the
// descriptors of the ring are, if there is one.
function restoreEnvironment () {
  var text = process.env[VARIABLE]
  if (text === undefined) return undefined
  delete process.env[VARIABLE]
  var change = JSON.parse(text)
  var nodeOptions = (process.env.NODE_OPTIONS || '').split(change.added).join('')
  if (nodeOptions === '' && change.isNew) delete process.env.NODE_OPTIONS
  else process.env.NODE_OPTIONS = nodeOptions
  return change.ring
}

function start (ring) {
  if (Number(process.versions.node.split('.')[0]) < 20) return
  // A worker thread of the child has no channel, and preloads this all the same.
  if (!process.channel) return
  require('./channel.js').attach(process, ring && { side: 'child', descriptors: ring })
}

try {
  start(restoreEnvironment())
} catch (error) {
  // Node's own channel serves.
}
