'use strict'

// The bytes of a channel, made without the code under test: both wire formats
// as Node defines them, and ways to put any bytes on the socket.

const fs = require('node:fs')
const net = require('node:net')
const v8 = require('node:v8')

/** A frame of the length format around any content. */
function lengthFrame (content) {
  const header = Buffer.alloc(4)
  header.writeUInt32BE(content.length)
  return Buffer.concat([header, content])
}

/** A frame of the line format around any content. */
function lineFrame (content) {
  return Buffer.concat([Buffer.from(content), Buffer.from('\n')])
}

/**
 * The frame of a message. Views of memory are not for this function: they have
 * a format of their own.
 * @param {'json' | 'advanced'} serialization
 * @param {any} message
 * @returns {Buffer}
 */
function frame (serialization, message) {
  return serialization === 'json'
    ? lineFrame(JSON.stringify(message))
    : lengthFrame(v8.serialize(message))
}

/** The Pipe of a channel's object. */
function channelHandle (target) {
  const key = Object.getOwnPropertySymbols(target)
    .find(({ description }) => description === 'kChannelHandle')
  return target[key]
}

/** Puts bytes on the socket in one write: few enough for the socket to take. */
function writeAtOnce (target, bytes) {
  const written = fs.writeSync(target.channel.fd, bytes)
  if (written !== bytes.length) throw new Error(`the socket took ${written} of ${bytes.length}`)
}

/**
 * Puts any number of bytes on the socket, with a handle if one is given, behind
 * the back of whatever code the channel has.
 */
function writeBehindBack (target, bytes, handle) {
  const { WriteWrap } = process.binding('stream_wrap') // eslint-disable-line n/no-deprecated-api
  const req = new WriteWrap()
  req.oncomplete = () => {}
  req.bytes = bytes // keeps them alive
  const error = handle
    ? channelHandle(target).writeBuffer(req, bytes, handle)
    : channelHandle(target).writeBuffer(req, bytes)
  if (error !== 0) throw new Error(`write: ${error}`)
}

/** Puts each of a list of bytes on the socket, a descriptor with all but the last. */
async function writeHandles (target, list) {
  const server = net.createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  for (const bytes of list.slice(0, -1)) writeBehindBack(target, bytes, server._handle)
  writeBehindBack(target, list.at(-1))
  server.close()
}

module.exports = {
  channelHandle,
  frame,
  lengthFrame,
  lineFrame,
  writeAtOnce,
  writeBehindBack,
  writeHandles
}
