'use strict'

// One channel: the object that a program talks to (a ChildProcess, or `process`
// in a child), the lane that carries its messages, and the messages that wait
// for a listener.

const { AsyncResource } = require('node:async_hooks')
const { corrupt } = require('./errors.js')
const internals = require('./internals.js')
const { Queue } = require('./queue.js')

const MAX_MESSAGE_SIZE = 'FORKLANE_MAX_MESSAGE_SIZE'
const INTERNAL_PREFIX = 'NODE_'

// What is known about each object that was attached: a Channel, or NotAttached.
const channels = new WeakMap()

/** Whether the environment says that nothing is to be done. */
function isOff () {
  return process.env.FORKLANE === 'off'
}

function isInternal (message) {
  return message !== null && typeof message === 'object' &&
    typeof message.cmd === 'string' &&
    message.cmd.length > INTERNAL_PREFIX.length && message.cmd.startsWith(INTERNAL_PREFIX)
}

// For any other type Node's own _send() has the right error.
function isMessage (value) {
  switch (typeof value) {
    case 'string': case 'object': case 'number': case 'boolean': return true
    default: return false
  }
}

let warned = false

// The size that the environment sets, or else the largest that is possible.
function maxMessageSize (mode) {
  const text = process.env[MAX_MESSAGE_SIZE]
  const largest = internals.MAX_MESSAGE_SIZE[mode]
  if (text === undefined) return largest
  if (/^[1-9]\d*$/.test(text)) return Math.min(Number(text), largest)
  if (!warned) {
    warned = true
    process.emitWarning(`${MAX_MESSAGE_SIZE} is not a number of bytes: '${text}'`, {
      code: 'FORKLANE_INVALID_ENVIRONMENT'
    })
  }
  return largest
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

class NotAttached {
  #reason

  constructor (reason) {
    this.#reason = reason
  }

  describe () {
    return { send: 'core', receive: 'core', reason: this.#reason }
  }
}

class Channel {
  #target
  #lane
  #isDisconnecting = false // asked for, and waiting for what is under way
  #held = new Queue() // [message, handle]: what came while nobody listened

  constructor (target, parts) {
    const { PipeLane } = require('./lanes/pipe.js')
    this.#target = target
    this.#hold(parts)
    this.#lane = new PipeLane(parts, maxMessageSize(parts.mode), this.#deliver.bind(this), () => {
      // Node disconnects now; that the program has asked for it is no error.
      if (this.#isDisconnecting) target.connected = true
    })
    this.#override()
  }

  describe () {
    return { send: 'pipe', receive: 'pipe', reason: 'this version has no ring lane' }
  }

  // All of Node's own code calls target._send(), send() among it, so arguments
  // of send() are checked by Node.
  #override () {
    const target = this.#target
    const lane = this.#lane
    const original = target._send
    const disconnect = target._disconnect

    target._disconnect = () => {
      this.#isDisconnecting = true
      lane.finish(() => {
        this.#isDisconnecting = false
        disconnect.call(target)
      })
    }

    target._send = function (message, handle, options, callback) {
      if (handle || this._handleQueue || this !== target || !isMessage(message) ||
          !(this.connected || this.channel)) {
        lane.settle()
        return original.call(this, message, handle, options, callback)
      }
      return lane.send(message, callback, (error) => {
        if (options === true || options?.swallowErrors) return
        if (typeof callback === 'function') process.nextTick(callback, error)
        else process.nextTick(() => target.emit('error', error))
      })
    }
  }

  // Emits the messages of one read; the arguments are those of the lane's
  // callback.
  //
  // Node queues a tick for each message before the first listener runs. So no
  // listener runs in the async context that another one has entered
  // (AsyncLocalStorage.enterWith()), and one that throws holds up no other. The
  // same here, at a third of the price: each message has an async resource of
  // its own, made outside of all of them, and what a listener throws goes where
  // it would go from a tick.
  #deliver (values, faults, takeHandle) {
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
            isolate(this.#receive, values[value++], takeHandle)
          } else {
            const isLost = value === values.length
            if (!isLost) value++
            fault += 2
            isolate(this.#fail, faults[fault - 1], isLost)
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

  #receive (message, takeHandle) {
    if (!isInternal(message)) return this.#emit(message, undefined)

    const { cmd } = message
    if (cmd === 'NODE_HANDLE') {
      this.#receiveHandle(message, takeHandle())
    } else if ((cmd === 'NODE_HANDLE_ACK' || cmd === 'NODE_HANDLE_NACK') &&
        !Array.isArray(this.#target._handleQueue)) {
      // Node believes this one, and throws.
      this.#fail(new Error(`${cmd} for no handle`), false)
    } else {
      this.#target.emit('internalMessage', message, undefined)
    }
  }

  // Node's own listener answers the sender and then makes a socket or a server
  // of the handle; it throws where the message makes no sense.
  #receiveHandle (message, handle) {
    try {
      this.#target.emit('internalMessage', message, handle)
    } catch (error) {
      handle?.close()
      this.#fail(new Error('Handle that cannot be received', { cause: error }), false)
    }
  }

  #fail (reason, lost) {
    const target = this.#target
    try {
      target.emit('error', corrupt(reason))
    } finally {
      if (lost && target.connected) target.disconnect()
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

// Why no channel of this process can leave Node's own code; null if they can.
function impediment () {
  if (isOff()) return 'FORKLANE=off'
  const { binding, reason } = require('./binding.js')
  if (!binding) return reason
  const { missing } = internals.stream
  return missing && `Node has no ${missing} as expected`
}

function makeChannel (target) {
  const reason = impediment()
  if (reason) return new NotAttached(reason)
  const parts = internals.inspectChannel(target)
  if (parts.missing) return new NotAttached(`Node has no ${parts.missing} as expected`)
  return new Channel(target, parts)
}

/**
 * Puts the channel of `target` on the best lane that works, or leaves it to
 * Node. Does nothing if that is done already.
 * @param {object} target a ChildProcess with a channel, or `process` in a child
 */
function attach (target) {
  if (!channels.has(target)) channels.set(target, makeChannel(target))
}

/**
 * Tells how the messages of a channel travel.
 * @param {object} target a ChildProcess, or `process` in a child
 * @returns {{send: string, receive: string, reason: string | null} | null} the
 *   lane of each direction, 'core' or 'pipe', and why not a better one; null if
 *   there is no channel
 */
function lane (target) {
  const channel = channels.get(target)
  if (channel) return channel.describe()
  return target?.channel ? new NotAttached(impediment() ?? 'not started by forklane').describe() : null
}

module.exports = { attach, isOff, lane }
