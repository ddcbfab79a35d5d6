'use strict'

// The pipe lane: Node's socket and Node's wire format, with framing and
// serialization in the addon. The other side may be anything that speaks the
// format.

const { binding } = require('../binding.js')
const internals = require('../internals.js')

const {
  WriteWrap, streamBaseState, kReadBytesOrError, kArrayBufferOffset, kLastWriteWasAsync
} = internals.stream

// send() returns false from here on, as under Node.
const HIGH_WATER_MARK = 128 * 1024

// How much of what waits goes to libuv at a time, in bytes.
const NEXT_PART = 64 * 1024

// fl_frame_format_t
const FORMAT = { json: 0, advanced: 1 }

const { stringify } = JSON

class PipeLane {
  #handle
  #control
  #advanced
  #deliver
  #end
  #quiet
  #reader
  #writer = new binding.Writer()
  // Writes that libuv has not finished, and the bytes that wait behind them.
  #inFlight = 0
  #waiting = 0
  #received = null
  #lost = false
  #isMidMessage = false // and that one is waited for
  #hasEnded = false

  /**
   * @param {{handle: object, control: object, mode: string}} parts as of
   *   internals.inspectChannel()
   * @param {number} maxMessageSize bytes; what is longer ends the channel
   * @param {object} owner what the lane tells of
   * @param {(values: any[], faults: any[], takeHandle: () => object | null) => void}
   *   owner.deliver gets the messages of one read, as Delivery.deliver() does;
   *   `takeHandle()` gives the handle that came with them
   * @param {(proceed: () => void) => void} owner.end is called when the other
   *   side is gone; `proceed` has Node act on it
   * @param {() => void} owner.quiet is called when isBusy() may have become false
   */
  constructor ({ handle, control, mode }, maxMessageSize, { deliver, end, quiet }) {
    this.#handle = handle
    this.#control = control
    this.#advanced = mode === 'advanced'
    this.#deliver = deliver
    this.#end = end
    this.#quiet = quiet
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
      handle.buffering = this.#reader.pending() > 0
      if (faults.length > 0) this.#lost = faults.at(-2) === values.length
      if (values.length > 0 || faults.length > 0) {
        this.#isMidMessage = false
        this.#deliver(values, faults, takeHandle)
        this.#quiet()
      }
    }

    if (begun.length > 0) read(begun.buffer, begun.byteOffset, begun.length)

    handle.onread = (arrayBuffer) => {
      if (!arrayBuffer) {
        this.#hasEnded = true
        // The end of the stream and errors are Node's to handle.
        this.#end(() => original.call(handle, arrayBuffer))
        return
      }
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
    const waiting = this.#write(message)
    if (waiting === 0) {
      if (typeof callback === 'function') process.nextTick(callback, null)
      return true
    }

    let error = 0
    if (waiting < 0) {
      error = waiting
    } else if (typeof callback === 'function') {
      // It is called when this frame has left, so a write has to end with it.
      error = this.#submitAll(callback)
    } else {
      this.#waiting = waiting
      if (this.#inFlight === 0) error = this.#submitNext()
    }
    if (error !== 0) fail(require('../errors.js').systemError(error, 'write'))
    return handle.writeQueueSize + this.#waiting < HIGH_WATER_MARK
  }

  /** Gives what waits to libuv, so that writes of Node's own come after it. */
  settle () {
    this.#submitAll()
  }

  /** Has isBusy() wait for the message that is being read, if there is one. */
  awaitMessage () {
    this.#isMidMessage = this.#reader.pending() > 0
  }

  /** Whether messages that were sent have not left, or one is waited for. */
  isBusy () {
    if (this.#hasEnded || this.#lost) return false
    return this.#inFlight > 0 || this.#waiting > 0 || this.#isMidMessage
  }

  /** A number that changes whenever anything moves. */
  progress () {
    return this.#handle.writeQueueSize + this.#waiting + this.#reader.pending()
  }

  /** Lets Node close the channel: no message is waited for any more. */
  stop () {
    this.#handle.buffering = false
  }

  // Where a frame may be written at once: the socket, if nothing is before it,
  // else nowhere. To be asked after JavaScript of the program has run, which may
  // have sent other messages.
  #free () {
    const { fd, writeQueueSize } = this.#handle
    return this.#inFlight === 0 && writeQueueSize === 0 ? fd : -1
  }

  #write (message) {
    if (this.#advanced) return this.#writer.advanced(this.#free(), message)
    if (typeof message === 'string') {
      const waiting = this.#writer.string(this.#free(), message)
      if (waiting !== undefined) return waiting
    }
    const text = stringify(message)
    if (text === undefined) throw require('../errors.js').noJson()
    return this.#writer.text(this.#free(), text)
  }

  // Gives all that waits to libuv; the callback belongs to the end of it.
  // Returns the error of the last write.
  #submitAll (callback) {
    let error = 0
    let bytes = this.#writer.take(Infinity)
    this.#waiting = 0
    while (bytes) {
      const next = this.#writer.take(Infinity)
      error = this.#submit(bytes, next ? undefined : callback)
      bytes = next
    }
    return error
  }

  // Gives libuv the first part of what waits, so that it tells when the socket
  // takes bytes again. If it takes this part at once, the rest of the program
  // has its turn first.
  #submitNext () {
    const bytes = this.#writer.take(NEXT_PART)
    this.#waiting -= bytes.length
    const error = this.#submit(bytes)
    if (error !== 0) {
      while (this.#writer.take(Infinity));
      this.#waiting = 0
    } else if (this.#waiting > 0 && this.#inFlight === 0) {
      setImmediate(() => this.#resume())
    }
    return error
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
    try {
      if (typeof callback === 'function') callback(null)
    } finally {
      this.#quiet()
    }
  }

  // The socket takes bytes again; if libuv has some of Node's own for it, they
  // come first. After an error, or once the channel is closed, there is nobody
  // to tell, as under Node.
  #resume () {
    if (this.#inFlight > 0) return
    const { fd, writeQueueSize } = this.#handle
    if (fd >= 0 && writeQueueSize === 0) this.#waiting = Math.max(this.#writer.flush(fd), 0)
    if (this.#waiting > 0) this.#submitNext()
  }
}

module.exports = { PipeLane }
