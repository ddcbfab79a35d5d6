'use strict'

// Both ends of a channel that handles travel over: a sender that makes them, and
// a receiver that logs what it gets in which place and what it is good for.

const dgram = require('node:dgram')
const { once } = require('node:events')
const net = require('node:net')

async function listening (server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const MAKERS = {
  server: () => listening(net.createServer()),

  // The other end writes a line when it is answered, which shows in `told`.
  async socket () {
    const server = await listening(net.createServer({ pauseOnConnect: true }))
    const client = net.connect(server.address().port, '127.0.0.1')
    const [socket] = await once(server, 'connection')
    server.close()
    client.setEncoding('utf8')
    return Object.assign(socket, { client, told: once(client, 'data') })
  },

  async udp () {
    const socket = dgram.createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return socket
  }
}

/** What kind of handle it is, and that it is alive. */
function describeHandle (handle) {
  if (handle === undefined) return null
  if (handle instanceof net.Server) return ['server', handle.address().port]
  if (handle instanceof dgram.Socket) return ['udp', handle.address().port]
  if (handle instanceof net.Socket) return ['socket', handle.localPort]
  return ['unknown', String(handle)]
}

// Answers a socket's other end, so that it knows the socket has come through.
function useHandle (message, handle) {
  // Not end(), which would end it for a sender that has kept it open.
  if (handle instanceof net.Socket) {
    handle.write(`got ${describeMessage(message)}`, () => handle.destroy())
  } else handle?.close()
}

/** Long texts by their length. */
function describeMessage (message) {
  return typeof message === 'string' && message.length > 100 ? message.length : message
}

/**
 * Logs everything that arrives until the message 'end'.
 * @returns {Promise<any[]>}
 */
function receiveHandles (target) {
  const log = []
  return new Promise((resolve) => {
    target.on('message', function receive (message, handle) {
      if (message === 'end') {
        target.off('message', receive)
        resolve(log)
        return
      }
      log.push([describeMessage(message), describeHandle(handle)])
      useHandle(message, handle)
    })
  })
}

/**
 * Sends a list of [message, kind of handle] and 'end'.
 * @returns {Promise<any[]>} what the receiver has to log
 */
async function sendHandles (target, list) {
  const made = []
  for (const [, kind] of list) made.push(kind && await MAKERS[kind]())
  const expected = list.map(([message], i) => [describeMessage(message), describeHandle(made[i] || undefined)])
  for (const [i, [message]] of list.entries()) {
    if (made[i]) target.send(message, made[i])
    else target.send(message)
  }
  // What waits for its turn must not be closed yet.
  await new Promise((resolve) => target.send('end', resolve))
  for (const [i, [message, kind]] of list.entries()) {
    if (kind === 'socket') {
      const [text] = await made[i].told
      if (text !== `got ${describeMessage(message)}`) throw new Error(`the socket got ${text}`)
    } else made[i]?.close()
  }
  return expected
}

/** Lists of messages for sendHandles(). */
const LISTS = {
  'each kind, in a row': [
    [0], [1, 'server'], [2, 'socket'], [3, 'udp'], [{ four: 4 }, 'udp'], [5, 'server'], [6]
  ],
  'many, with messages between': Array.from({ length: 45 }, (_, i) =>
    [i, [null, 'server', null, 'udp', 'socket'][i % 5]]),
  'messages of 1 MiB': [
    ['a'.repeat(2 ** 20)], ['b'.repeat(2 ** 20 + 1), 'server'], ['c'.repeat(2 ** 20 + 2)],
    ['d'.repeat(2 ** 20 + 3), 'socket'], ['e'.repeat(2 ** 20 + 4), 'udp'], ['after']
  ],
  'handles behind a full socket': [
    ...Array.from({ length: 40 }, () => ['x'.repeat(32 * 1024)]),
    ['with a server', 'server'], ['between'], ['y'.repeat(200 * 1024)], ['with a socket', 'socket'],
    ...Array.from({ length: 40 }, (_, i) => [i])
  ],
  'handles behind a full ring': [
    ...Array.from({ length: 80 }, () => ['x'.repeat(64 * 1024)]),
    ['with a server', 'server'], ['between'], ['y'.repeat(4 * 2 ** 20), 'udp'], ['with a socket', 'socket'],
    ...Array.from({ length: 80 }, () => ['z'.repeat(64 * 1024)]), ['with another', 'server'], ['after']
  ]
}

module.exports = { LISTS, listening, receiveHandles, sendHandles }
