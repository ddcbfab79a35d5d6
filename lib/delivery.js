'use strict'

// What becomes of the messages that arrive: they are emitted on the object that
// the program talks to, one by one, or wait there for a listener.

const { AsyncResource } = require('node:async_hooks')
const { Queue } = require('./queue.js')

const INTERNAL_PREFIX = 'NODE_'

function isInternal (message) {
  return message !== null && typeof message === 'object' &&
    typeof message.cmd === 'string' &&
    message.cmd.length > INTERNAL_PREFIX.length && message.cmd.startsWith(INTERNAL_PREFIX)
}

function messageResource () {
  return new AsyncResource('FORKLANE_MESSAGE')
}

function isAnyoneCatching () {
  return process.listenerCount('uncaughtException') > 0 ||
    process.hasUncaughtExceptionCaptureCallback()
}

function fatalException (error) {
  require('./binding.js').binding.fatalException(error)
}

class Delivery {
  #target
  #held = new Queue() // [message, handle]: what came while nobody listened

  /**
   * @param {object} target a ChildProcess, or `process` in a child
   * @param {object} parts as of internals.inspectChannel()
   */
  constructor (target, parts) {
    this.#target = target
    this.#hold(parts)
  }

  /**
   * Emits the messages of one read.
   *
   * Node queues a tick for each message before the first listener runs. So no
   * listener runs in the async context that another one has entered
   * (AsyncLocalStorage.enterWith()), and one that throws holds up no other. The
   * same here, at a third of the price: each message has an async resource of
   * its own, made outside of all of them, and what a listener throws goes where
   * it would go from a tick.
   *
   * @param {any[]} values the messages, in order
   * @param {any[]} faults flat pairs of an index of `values` and the reason why
   *   there is no message at it; an index at the end of `values` says that nothing
   *   can be read any more
   * @param {(message: object) => boolean} [takeInternal] gets the internal
   *   messages first; whether it has dealt with one
   */
  deliver (values, faults, takeInternal) {
    // Node forgets the current async context after an exception.
    const context = values.length + faults.length > 1 ? new AsyncResource('FORKLANE_READ') : null
    // If nobody handles uncaught exceptions the process ends of one, and then
    // debuggers and the report show the line that throws: nothing may catch it.
    const isGuarded = isAnyoneCatching()
    let thrown = false
    const isolate = (method, first, second) => {
      const resource = thrown ? context.runInAsyncScope(messageResource) : messageResource()
      if (!isGuarded) resource.runInAsyncScope(method, this, first, second)
      else thrown = resource.runInAsyncScope(this.#guard, this, method, first, second) || thrown
    }

    let value = 0
    let fault = 0
    const isDone = () => value === values.length && fault === faults.length
    const deliverRest = () => {
      try {
        while (!isDone()) {
          if (faults[fault] !== value) {
            isolate(this.#receive, values[value++], takeInternal)
          } else {
            const isLost = value === values.length
            if (!isLost) value++
            fault += 2
            isolate(this.fail, faults[fault - 1], isLost)
          }
        }
      } finally {
        if (!isDone()) process.nextTick(deliverRest)
      }
    }
    deliverRest()
  }

  // Calls the method, and hands what it throws to whoever handles uncaught
  // exceptions, before the next message. Returns whether it has thrown.
  #guard (method, first, second) {
    try {
      method.call(this, first, second)
      return false
    } catch (error) {
      fatalException(error)
      return true
    }
  }

  #receive (message, takeInternal) {
    if (!isInternal(message)) this.#emit(message, undefined)
    else if (!takeInternal?.(message)) this.emitInternal(message, undefined)
  }

  /** Emits an internal message, with the handle that came with it. */
  emitInternal (message, handle) {
    const { cmd } = message
    if ((cmd === 'NODE_HANDLE_ACK' || cmd === 'NODE_HANDLE_NACK') &&
        !Array.isArray(this.#target._handleQueue)) {
      // Node believes this one, and throws.
      this.fail(new Error(`${cmd} for no handle`), false)
    } else if (cmd === 'NODE_HANDLE') {
      this.#receiveHandle(message, handle)
    } else {
      this.#target.emit('internalMessage', message, handle)
    }
  }

  // Node's own listener answers the sender and then makes a socket or a server
  // of the handle; it throws where the message makes no sense.
  #receiveHandle (message, handle) {
    try {
      this.#target.emit('internalMessage', message, handle)
    } catch (error) {
      handle?.close()
      this.fail(new Error('Handle that cannot be received', { cause: error }), false)
    }
  }

  /**
   * Reports data that is no message.
   * @param {Error} reason
   * @param {boolean} isLost whether nothing can be read any more
   */
  fail (reason, isLost) {
    const target = this.#target
    try {
      target.emit('error', require('./errors.js').corrupt(reason))
    } finally {
      if (isLost && target.connected) target.disconnect()
    }
  }

  #emit (message, handle) {
    const target = this.#target
    if (this.#held.length === 0 && target.listenerCount('message') > 0) {
      target.emit('message', message, handle)
    } else {
      this.#held.push([message, handle])
      this.#release()
    }
  }

  #hold ({ control, pending }) {
    const held = this.#held
    for (const [, message, handle] of control[pending]) held.push([message, handle])

    // Node appends to this list what came with a handle; and when a listener
    // is added it emits the whole list, whether or not the listener stays. So
    // it gets one that passes everything on and is always empty.
    control[pending] = {
      get length () { return 0 },
      set length (length) {},
      // eslint-disable-next-line accessor-pairs
      set 0 ([, message, handle]) { held.push([message, handle]) }
    }

    this.#target.on('newListener', (name) => {
      if (name === 'message' && held.length > 0) process.nextTick(() => this.#release())
    })
  }

  // Hands on what is held, one by one, while somebody listens.
  #release () {
    const held = this.#held
    const target = this.#target
    try {
      while (held.length > 0 && target.listenerCount('message') > 0) {
        target.emit('message', ...held.shift())
      }
    } finally {
      if (held.length > 0 && target.listenerCount('message') > 0) {
        process.nextTick(() => this.#release())
      }
    }
  }
}

module.exports = { Delivery }
