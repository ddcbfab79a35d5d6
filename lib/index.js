'use strict'

// child_process, with the channels of fork() and spawn() on native lanes. The
// names are written out so that `import { fork } from 'forklane'` finds them.

const childProcess = require('node:child_process')
const { lane } = require('./channel.js')
const { withHook } = require('./hook.js')

const {
  ChildProcess, _forkChild, exec, execFile, execFileSync, execSync, spawnSync
} = childProcess

// Parameters as Node's own, which show in `length`.

/** As child_process.fork(). */
function fork (modulePath, args = [], options) {
  return withHook(() => childProcess.fork(...arguments))
}

/** As child_process.spawn(). */
function spawn (file, args, options) {
  return withHook(() => childProcess.spawn(...arguments))
}

module.exports = {
  ChildProcess,
  _forkChild,
  exec,
  execFile,
  execFileSync,
  execSync,
  fork,
  lane,
  spawn,
  spawnSync
}
