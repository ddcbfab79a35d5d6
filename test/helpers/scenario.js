'use strict'

// Scenarios: what the program at one end of a channel, the subject, sees and
// logs while the other end, the peer, does what it is told. The same code is
// the subject as parent and as child, so that both ends are held to one log.

const { AsyncLocalStorage } = require('node:async_hooks')
const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { createInterface } = require('node:readline')
const { happened, tracked } = require('./children.js')
const { inTime } = require('./inbox.js')
const { fixture, forkAs } = require('./parties.js')
const { channelHandle, frame, writeAtOnce } = require('./wire.js')

const ROLES = ['parent', 'child']

// Tells that all that was asked for has been sent. An internal message, so that
// it arrives without a 'message' listener too.
const END = { cmd: 'NODE_END_OF_SCENARIO' }

/** The store is 'of fork()' in code that runs because of the parent's channel. */
const storage = new AsyncLocalStorage()

const turn = () => new Promise((resolve) => setImmediate(resolve))

/**
 * Makes `target` the channel of a peer.
 * @param {object} target a ChildProcess or `process`
 * @param {'json' | 'advanced'} serialization
 * @returns {{resume: Function}}
 */
function obey (target, serialization) {
  const received = []
  const commands = {
    // Messages in one write, which the other side gets in one read.
    write ({ messages, partial }) {
      const frames = [...messages, END].map((message) => frame(serialization, message))
      if (partial) frames.push(frame(serialization, 'partial').subarray(0, 6))
      writeAtOnce(target, Buffer.concat(frames))
    },
    send ({ messages }) {
      for (const message of [...messages, END]) target.send(message)
    },
    pause () {
      target.send('paused', () => channelHandle(target).readStop())
    },
    report () {
      target.send({ report: received.splice(0) })
    },
    disconnect () {
      target.disconnect()
    }
  }

  target.on('message', (message) => {
    if (Object.hasOwn(commands, message?.command ?? '')) commands[message.command](message)
    else received.push(message)
  })
  target.on('internalMessage', (message) => {
    if (message.cmd !== END.cmd) received.push(['internal', message])
  })
  return { resume: () => channelHandle(target)?.readStart() }
}

// What only one of the two ends can do.
const AS_ROLE = {
  parent: (target) => ({
    resume: () => target.stdin.write('r'),
    endPeer: () => {
      target.kill('SIGKILL')
      let state
      do {
        state = spawnSync('ps', ['-o', 'stat=', '-p', target.pid]).stdout.toString()
      } while (!/^(Z|$)/.test(state))
    }
  }),
  child: () => ({
    resume: () => fs.writeSync(1, 'resume\n'),
    endPeer: () => {
      fs.writeSync(1, 'end\n')
      fs.readSync(0, Buffer.alloc(1))
    }
  })
}

/**
 * Plays the subject.
 * @param {'parent' | 'child'} role
 * @param {object} target a ChildProcess or `process`
 * @param {string} serialization
 * @param {(stage: object) => Promise<void>} subject
 * @returns {Promise<any[]>} the log
 */
async function act (role, target, serialization, subject) {
  const entries = []
  const end = new Promise((resolve) => {
    target.on('internalMessage', ({ cmd }) => cmd === END.cmd && resolve())
  })
  const stage = {
    ...AS_ROLE[role](target),
    role,
    serialization,
    target,
    storage,
    turn,
    log: (...entry) => entries.push(entry.length === 1 ? entry[0] : entry),
    ask: (command, rest) => target.send({ command, ...rest }),
    // When everything asked for has arrived and its ticks are done.
    end: async () => {
      await inTime(end, 'end of the scenario')
      await turn()
    },
    // Makes the peer read no more, until resume().
    pause: async () => {
      const paused = happened(target, 'message')
      target.send({ command: 'pause' })
      await paused
    },
    report: async () => {
      const answer = happened(target, 'message')
      target.send({ command: 'report' })
      return (await answer)[0].report
    }
  }
  await subject(stage)
  return JSON.parse(JSON.stringify(entries))
}

/**
 * Runs a scenario.
 * @param {string} file a module in test/fixtures, which exports the subjects
 * @param {string} name of the subject
 * @param {'parent' | 'child'} role of the subject
 * @param {{parent: string, child: string, serialization: string}} parties
 * @returns {Promise<any[]>} the subject's log
 */
async function play (file, name, role, parties) {
  const { serialization } = parties
  const module = path.join(__dirname, '..', 'fixtures', file)
  const childRole = role === 'parent' ? 'peer' : 'subject'
  const child = tracked(storage.run('of fork()', () => forkAs(
    parties, fixture('run-scenario.js'), [module, name, childRole, serialization],
    { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] }
  )))
  const exited = happened(child, 'exit')
  let log
  if (role === 'parent') {
    log = await act(role, child, serialization, require(module)[name])
  } else {
    const peer = obey(child, serialization)
    child.on('error', () => {}) // sending to the other end when it is gone
    for await (const line of createInterface({ input: child.stdout })) {
      if (line === 'resume') peer.resume()
      else if (line === 'end') {
        child.once('disconnect', () => child.stdin.write('e'))
        child.disconnect()
      } else log = JSON.parse(line)
    }
  }
  child.kill('SIGKILL')
  await exited
  return log
}

module.exports = { ROLES, act, obey, play }
