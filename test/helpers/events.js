'use strict'

// What a receiver of good and bad frames gets to see.

const { frame, lineFrame, lengthFrame } = require('./wire.js')

/** The message after which a receiver reports. */
const END = 'the end'

/**
 * Logs the messages and errors of a channel's object.
 * @returns {{log: any[], finished: Promise<void>}} `finished` when END has come;
 *   it is not logged
 */
function recordEvents (target) {
  const log = []
  target.on('error', ({ name, code, cause, message }) => {
    log.push({ error: name, code, message, cause: cause?.message, causeIsError: cause instanceof Error })
  })
  const finished = new Promise((resolve) => {
    target.on('message', (message) => {
      if (message === END) resolve()
      else log.push(message)
    })
  })
  return { log, finished }
}

/** 'before', a frame that is no message, 'after' and END. */
function badFrames (serialization) {
  return Buffer.concat([
    frame(serialization, 'before'),
    serialization === 'json' ? lineFrame('{') : lengthFrame(Buffer.from('ff0f', 'hex')),
    frame(serialization, 'after'),
    frame(serialization, END)
  ])
}

module.exports = { END, badFrames, recordEvents }
