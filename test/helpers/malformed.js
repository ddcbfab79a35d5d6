'use strict'

// A receiver at either end of a channel, and a peer that writes it any bytes.

const { happened, outcome, tracked } = require('./children.js')
const { END, recordEvents } = require('./events.js')
const { inTime } = require('./inbox.js')
const { fixture, forkAs } = require('./parties.js')
const { frame, writeBehindBack, writeHandles } = require('./wire.js')

/**
 * Has a receiver read bytes, and END after them.
 * @param {{role: string, party: string, serialization: string}} receiver
 * @param {Buffer | Buffer[]} bytes a descriptor travels with each of a list
 * @param {{env?: object, ends?: boolean}} [options] `ends`: the channel is closed
 *   after the bytes, and the log has 'disconnect'
 * @returns {Promise<{log: any[], internal: any[]}>} the receiver's log, and what
 *   internal messages the peer got
 */
async function receive ({ role, party, serialization }, bytes, options = {}) {
  const receiver = role === 'parent' ? receiveAsParent : receiveAsChild
  return inTime(receiver(party, serialization, bytes, options), 'end of the messages')
}

// The receiver looks at its own environment.
function withEnvironment (env = {}, start) {
  const before = {}
  for (const [name, value] of Object.entries(env)) {
    before[name] = process.env[name]
    process.env[name] = value
  }
  try {
    return start()
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

async function receiveAsParent (party, serialization, bytes, { env, ends }) {
  const child = withEnvironment(env, () => tracked(forkAs(
    { parent: party, child: 'stock', serialization }, fixture('malformed-peer.js')
  )))
  const { log, finished } = recordEvents(child)
  const rest = frame(serialization, END)
  if (ends) {
    const gone = happened(child, 'close')
    child.on('disconnect', () => log.push('disconnect'))
    child.send({ command: 'writeAndExit', hex: bytes.toString('hex') })
    await gone
    return { log, internal: [] }
  }
  child.send(Array.isArray(bytes)
    ? { command: 'writeHandles', list: [...bytes, rest].map((one) => one.toString('hex')) }
    : { command: 'write', hex: Buffer.concat([bytes, rest]).toString('hex') })
  await Promise.race([finished, happened(child, 'disconnect')])
  if (!child.connected) {
    log.push('disconnect')
    return { log, internal: [] }
  }
  child.send({ command: 'report' })
  const [{ internal }] = await happened(child, 'message')
  return { log: log.filter((entry) => entry?.internal !== internal), internal }
}

async function receiveAsChild (party, serialization, bytes, { env, ends }) {
  const child = tracked(forkAs(
    { parent: 'stock', child: party, serialization }, fixture('malformed-receiver.js'), [],
    { silent: true, env }
  ))
  const internal = []
  child.removeAllListeners('internalMessage')
  child.on('internalMessage', (message) => internal.push(message))
  const rest = frame(serialization, END)
  if (Array.isArray(bytes)) {
    await writeHandles(child, [...bytes, rest])
  } else {
    writeBehindBack(child, ends ? bytes : Buffer.concat([bytes, rest]))
    if (ends) child.disconnect()
  }
  const { stdout, stderr, code } = await outcome(child)
  if (code !== 0) throw new Error(`the receiver died: ${stderr}`)
  return { log: JSON.parse(stdout), internal }
}

module.exports = { receive }
