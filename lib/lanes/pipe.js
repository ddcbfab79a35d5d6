'use strict'

// The pipe lane: Node's socket and Node's wire format, with framing and
// serialization in the addon. The other side may be anything that speaks the
// format.

const { binding } = require('../binding.js')
const { noJson, systemError } = require('../errors.js')
const internals = require('../internals.js')

const {
  WriteWrap, streamBaseState, kReadBytesOrError, kArrayBufferOffset, kLastWriteWasAsync
} = internals.stream

// send() returns false from here on, as under Node.
const HIGH_WATER_MARK = 128 * 1024

// fl_frame_format_t
const FORMAT = { json: 0, advanced: 1 }

const { stringify } = JSON

class PipeLane {
  #handle
  #control
  #advanced
  #deliver
  #reader
  #writer = new binding.Writer()
  // Writes that libuv has not finished, and the bytes that wait behind them.
  #inFlight = 0
  #waiting = 0
  #received = null
  #lost = false

  /**
   * @param {{handle: object, control: object, mode: string}} parts as of
   *   internals.inspectChannel()
   * @param {number} maxMessageSize bytes; what is longer ends the channel
   * @param {(values: any[], faults: any[], takeHandle: () => object | null) => void}
   *   deliver gets the messages of one read, in order. `faults` is flat pairs
   *   of an index and the reason why there is no message at it; an index at the
   *   end of `values` says that nothing can be read any more.
   */
  constructor ({ handle, control, mode }, maxMessageSize, deliver) {
    this.#handle = handle
    this.#control = control
    this.#advanced = mode === 'advanced'
    this.#deliver = deliver
    this.#reader = new binding.Reader(FORMAT[mode], maxMessageSize)
    this.#start(internals.unfinishedBytes(handle, mode))
  }

  #start (begun) {
    const handle = this.#handle
    const original = handle.onread
    const takeHandle = () => {
      const received = this.#received
      this.#received = null
      return received
    }

    const read = (arrayBuffer, offset, length) => {
      const faults = []
      const values = this.#reader.feed(arrayBuffer, offset, length, faults)
      // Node's disconnect() waits for the rest of a message while this is set.
      handle.buffering = this.#reader.pending() > 0
      if (faults.length > 0) this.#lost = faults.at(-2) === values.length
      if (values.length > 0 || faults.length > 0) this.#deliver(values, faults, takeHandle)
    }

    if (begun.length > 0) read(begun.buffer, begun.byteOffset, begun.length)

    handle.onread = (arrayBuffer) => {
      // The end of the stream and errors are Node's to handle.
      if (!arrayBuffer) return original.call(handle, arrayBuffer)
      if (handle.pendingHandle) {
        this.#received = handle.pendingHandle
        handle.pendingHandle = null
      }
      if (this.#lost) return
      read(arrayBuffer, streamBaseState[kArrayBufferOffset], streamBaseState[kReadBytesOrError])
    }
  }

  /**
   * Sends one message, with the results of Node's own `_send()`. Throws what
   * serialization throws.
   * @param {any} message
   * @param {(error: Error | null) => void} [callback]
   * @param {(error: Error) => void} fail what to do with an error of the socket
   * @returns {boolean} whether the sender may go on at its pace
   */
  send (message, callback, fail) {
    const handle = this.#handle
    const free = this.#inFlight === 0 && handle.writeQueueSize === 0
    let waiting = this.#write(free ? handle.fd : -1, message)
    if (waiting === 0) {
      if (typeof callback === 'function') process.nextTick(callback, null)
      return true
    }

    let error = 0
    if (waiting < 0) {
      error = waiting
      waiting = this.#waiting
    } else if (this.#inFlight === 0 || typeof callback === 'function') {
      // A callback is tied to one write, so the frame of one that has none is
      // the only kind to wait here.
      error = this.#submitAll(callback)
      waiting = 0
    }
    this.#waiting = waiting
    if (error !== 0) fail(systemError(error, 'write'))
    return handle.writeQueueSize + waiting < HIGH_WATER_MARK
  }

  /** Gives what waits to libuv, so that writes of Node's own come after it. */
  settle () {
    this.#waiting = 0
    this.#submitAll()
  }

  #write (fd, message) {
    if (this.#advanced) return this.#writer.advanced(fd, message)
    if (typeof message === 'string') {
      const waiting = this.#writer.string(fd, message)
      if (waiting !== undefined) return waiting
    }
    const text = stringify(message)
    if (text === undefined) throw noJson()
    return this.#writer.text(fd, text)
  }

  // Gives all that waits to libuv; the callback belongs to the end of it.
  #submitAll (callback) {
    let bytes = this.#writer.take()
    while (bytes) {
      const next = this.#writer.take()
      const error = this.#submit(bytes, next ? undefined : callback)
      if (error !== 0 && !next) return error
      bytes = next
    }
    return 0
  }

  #submit (bytes, callback) {
    const req = new WriteWrap()
    const error = this.#handle.writeBuffer(req, bytes)
    if (error !== 0) return error
    if (streamBaseState[kLastWriteWasAsync]) {
      req.buffer = bytes // keeps it alive
      req.oncomplete = () => this.#complete(callback)
      this.#inFlight++
      this.#control.refCounted()
    } else if (typeof callback === 'function') {
      process.nextTick(callback, null)
    }
    return 0
  }

  #complete (callback) {
    if (--this.#inFlight === 0 && this.#waiting > 0) this.#resume()
    this.#control.unrefCounted()
    if (typeof callback === 'function') callback(null)
  }

  // The socket takes bytes again. After an error, or once the channel is closed,
  // there is nobody to tell, as under Node.
  #resume () {
    if (this.#inFlight > 0) return
    const { fd } = this.#handle
    this.#waiting = fd < 0 ? 0 : Math.max(this.#writer.flush(fd), 0)
    if (this.#waiting === 0) return

    // libuv waits until the socket takes the next piece. If it takes it at once,
    // flush() has stopped for the sake of the rest of the program.
    const bytes = this.#writer.take()
    this.#waiting -= bytes.length
    if (this.#submit(bytes) !== 0) this.#waiting = 0
    else if (this.#waiting > 0 && this.#inFlight === 0) setImmediate(() => this.#resume())
  }
}

module.exports = { PipeLane }
