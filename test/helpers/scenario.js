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
const { fixture, startAs } = require('./parties.js')
const { channelHandle, frame, writeAtOnce } = require('./wire.js')
const { newWitness, standStill, witness } = require('./witness.js')

const ROLES = ['parent', 'child']

// Tells that all that was asked for has been sent. An internal message, so that
// it arrives without a 'message' listener too.
const END = { cmd: 'NODE_END_OF_SCENARIO' }

// Tells a child on the ring that its peer obeys.
const BEGIN = { cmd: 'NODE_BEGIN_OF_SCENARIO' }

/** The store is 'of fork()' in code that runs because of the parent's channel. */
const storage = new AsyncLocalStorage()

const turn = () => new Promise((resolve) => setImmediate(resolve))

// How messages come to the subject in one read, and how the peer is made to read
// nothing for a while. In a ring it misses what is published only if its whole
// thread stands still.
const SOCKET = {
  write: (target, command) => target.send(command),
  pause (target) {
    target.send({ command: 'pause' })
    return null
  }
}
const RING = {
  write (target, command) {
    const file = newWitness()
    target.send({ ...command, file })
    standStill(file)
  },
  pause (target) {
    const file = newWitness()
    target.send({ command: 'standStill', file })
    return file
  }
}
const WAYS = {
  socket: SOCKET,
  // Both ends are forklane's, and get to the ring in their own time.
  both: { write: SOCKET.write, pause: RING.pause },
  ring: RING
}

function wayOf ({ parent, child, onRing }) {
  if (onRing) return 'ring'
  return parent === 'forklane' && child === 'forklane' ? 'both' : 'socket'
}

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
    write ({ messages, partial, file, long }) {
      if (long) messages.push('x'.repeat(long))
      if (file) {
        for (const message of [...messages, END]) target.send(message)
        return witness(file)
      }
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
    standStill ({ file }) {
      target.send('paused', () => standStill(file))
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
 * @param {string} way of WAYS
 * @returns {Promise<any[]>} the log
 */
async function act (role, target, serialization, subject, way) {
  const entries = []
  const asRole = AS_ROLE[role](target)
  let standing = null // until this has happened
  const end = new Promise((resolve) => {
    target.on('internalMessage', ({ cmd }) => cmd === END.cmd && resolve())
  })
  const stage = {
    ...asRole,
    role,
    serialization,
    target,
    storage,
    turn,
    log: (...entry) => entries.push(entry.length === 1 ? entry[0] : entry),
    ask: (command, rest) => {
      if (command === 'write') WAYS[way].write(target, { command, ...rest })
      else target.send({ command, ...rest })
    },
    // When everything asked for has arrived and its ticks are done.
    end: async () => {
      await inTime(end, 'end of the scenario')
      await turn()
    },
    // Makes the peer read no more, until resume().
    pause: async () => {
      const paused = happened(target, 'message')
      standing = WAYS[way].pause(target)
      await paused
    },
    resume: () => {
      if (standing) witness(standing)
      else asRole.resume()
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
  const way = wayOf(parties)
  newWitness() // makes the directory
  const child = tracked(await storage.run('of fork()', () => startAs(
    parties, fixture('run-scenario.js'), [module, name, childRole, serialization, way],
    { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] }
  )))
  const exited = happened(child, 'exit')
  let log
  if (role === 'parent') {
    log = await act(role, child, serialization, require(module)[name], way)
  } else {
    const peer = obey(child, serialization)
    if (way === 'ring') child.send(BEGIN)
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

module.exports = { BEGIN, ROLES, act, obey, play }
