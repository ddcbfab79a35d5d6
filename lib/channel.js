'use strict'

// One channel: the object that a program talks to (a ChildProcess, or `process`
// in a child), and the lanes that carry its messages. The socket is always read
// by the pipe lane. Where both sides have a ring, messages go through that:
//
//   child    sends on the ring from its first message on
//   parent   sends on the socket until the child says hello on the ring, then
//            one last message, NODE_FORKLANE_SWITCH, and on the ring from there
//
// Handles and what belongs to them stay on the socket, and Node holds later
// messages back until a handle has been acknowledged. So it is enough for the
// order of all messages to read the ring before the socket.

const { Delivery } = require('./delivery.js')
const internals = require('./internals.js')

const MAX_MESSAGE_SIZE = 'FORKLANE_MAX_MESSAGE_SIZE'
const SWITCH = 'NODE_FORKLANE_SWITCH'

// What is known about each object that was attached: a Channel, or NotAttached.
const channels = new WeakMap()

/** Whether the environment says that nothing is to be done. */
function isOff () {
  return process.env.FORKLANE === 'off'
}

// For any other type Node's own _send() has the right error.
function isMessage (value) {
  switch (typeof value) {
    case 'string': case 'object': case 'number': case 'boolean': return true
    default: return false
  }
}

function isSwitchNumber (value) {
  return Number.isInteger(value) && value > 0 && value < 2 ** 32
}

let warned = false

// The size that the environment sets, or else the largest that is possible.
function maxMessageSize (largest) {
  const text = process.env[MAX_MESSAGE_SIZE]
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
  #delivery
  #pipe
  #ring = null
  #noRing // why there is none
  #sendsOnRing = false
  #receivesOnRing = false
  #switches = 0
  #isHolding = null // Node's list of what waits behind a handle that waits here
  #finish = null // has been asked for, and waits for what is under way
  #hasEnded = false // the other side has

  /**
   * @param {object} target
   * @param {object} parts as of internals.inspectChannel()
   * @param {{side: 'parent' | 'child', descriptors: object} | {reason: string}} ring
   *   as of attach()
   */
  constructor (target, parts, ring) {
    const { PipeLane } = require('./lanes/pipe.js')
    this.#target = target
    this.#delivery = new Delivery(target, parts)
    this.#noRing = ring.reason ?? this.#startRing(parts, ring)
    const max = maxMessageSize(internals.MAX_MESSAGE_SIZE.pipe[parts.mode])
    this.#pipe = new PipeLane(parts, max, {
      deliver: (values, faults, takeHandle) => this.#deliver(values, faults, takeHandle),
      end: (proceed) => this.#end(proceed),
      quiet: () => this.#quiet()
    })
    this.#override()
  }

  get hasRing () {
    return this.#ring !== null
  }

  describe () {
    return {
      send: this.#sendsOnRing ? 'ring' : 'pipe',
      receive: this.#receivesOnRing ? 'ring' : 'pipe',
      reason: this.#noRing ??
        (this.#sendsOnRing && this.#receivesOnRing ? null : 'the other side has not attached yet')
    }
  }

  // Returns why there is no ring, or null.
  #startRing (parts, { side, descriptors }) {
    const { RingLane } = require('./lanes/ring.js')
    if (!RingLane.isOurVersion(descriptors)) {
      return 'the other side has another version of the ring'
    }
    const max = maxMessageSize(internals.MAX_MESSAGE_SIZE.ring[parts.mode])
    try {
      this.#ring = new RingLane(side, descriptors, parts, max, {
        deliver: (values, faults) => this.#delivery.deliver(values, faults),
        attached: () => this.#switch(),
        quiet: () => this.#quiet()
      })
    } catch (error) {
      return `the ring cannot be used: ${error.message}`
    }
    if (side === 'child') {
      this.#ring.hello()
      this.#sendsOnRing = true
    }
    return null
  }

  // A program has taken the other end of the ring.
  #switch () {
    this.#receivesOnRing = true
    if (!this.#target.channel) return
    this.#sendsOnRing = true
    if (this.#pipe.isBusy()) this.#ring.holdCallbacks()
    this.#announceSwitch()
  }

  // Puts what is sent on the ring from now on behind what was sent on the socket.
  #announceSwitch () {
    const number = ++this.#switches
    this.#pipe.send({ cmd: SWITCH, number }, undefined, () => {})
    this.#ring.switchTo(number)
  }

  // All of Node's own code calls target._send(), send() among it, so arguments
  // of send() are checked by Node.
  #override () {
    const target = this.#target
    const channel = this
    const send = target._send
    const disconnect = target._disconnect

    target._disconnect = () => this.#disconnect(() => disconnect.call(target))

    target._send = function (message, handle, options, callback) {
      if (handle || this._handleQueue || this !== target || !isMessage(message) ||
          !(this.connected || this.channel)) {
        return channel.#sendByNode(this, () => send.call(this, message, handle, options, callback),
          handle)
      }
      if (channel.#sendsOnRing) return channel.#ring.send(message, callback)
      return channel.#pipe.send(message, callback, (error) => {
        if (options === true || options?.swallowErrors) return
        if (typeof callback === 'function') process.nextTick(callback, error)
        else process.nextTick(() => target.emit('error', error))
      })
    }
  }

  #sendByNode (target, send, handle) {
    if (target === this.#target && this.#sendsOnRing && handle) {
      // Messages that wait for room come first. Node itself holds a handle back,
      // and all that follows it, while there is a list for that.
      if (this.#ring.isWaiting() && !target._handleQueue) {
        target._handleQueue = this.#isHolding = []
      }
      const wasHeld = Boolean(target._handleQueue)
      this.#pipe.settle()
      const result = send()
      // A handle that is gone: Node has sent the message alone, and holds nothing.
      if (!wasHeld && !target._handleQueue && target.channel) this.#announceSwitch()
      return result
    }
    this.#pipe.settle()
    return send()
  }

  // As Node does when a handle has been acknowledged.
  #releaseHandles () {
    const target = this.#target
    const queue = this.#isHolding
    this.#isHolding = null
    if (target._handleQueue !== queue) return
    target._handleQueue = null
    for (const { message, handle, options, callback } of queue) {
      // Each of them may be the end of the channel.
      if (target.channel) target._send(message, handle, options, callback)
      else if (typeof callback === 'function') process.nextTick(callback, null)
    }
    if (!target.connected && target.channel && !target._handleQueue) target._disconnect()
  }

  // Messages of the socket: what the ring has was sent before them.
  #deliver (values, faults, takeHandle) {
    this.#ring?.readAll()
    let hasHandle = false
    this.#delivery.deliver(values, faults, (message) => {
      if (message.cmd === 'NODE_HANDLE') {
        hasHandle = true
        this.#delivery.emitInternal(message, takeHandle())
        return true
      }
      if (message.cmd !== SWITCH || !this.#ring) return false
      if (!isSwitchNumber(message.number)) {
        this.#delivery.fail(new Error(`${SWITCH} without a number`), false)
        return true
      }
      this.#receivesOnRing = true
      this.#ring.switched(message.number)
      // A handle that came with this read has been acknowledged, and its listener is
      // called in a tick: what the ring has comes later, in a turn of its own.
      if (!hasHandle) this.#ring.readAll()
      return true
    })
  }

  // A lane may have nothing under way any more.
  #quiet () {
    if (this.#ring && !this.#pipe?.isBusy()) this.#ring.releaseCallbacks()
    if (this.#isHolding && !this.#ring.isWaiting()) this.#releaseHandles()
    this.#finish?.check()
  }

  #lanes () {
    return this.#ring ? [this.#pipe, this.#ring] : [this.#pipe]
  }

  // This side ends the channel, when what is under way is through.
  #disconnect (proceed) {
    if (this.#finish) {
      if (this.#hasEnded) this.#finish.end()
      return
    }
    const { Finish } = require('./finish.js')
    const lanes = this.#hasEnded ? [] : this.#lanes()
    for (const lane of lanes) lane.awaitMessage()
    this.#finish = new Finish(lanes, () => {
      this.#pipe.stop()
      proceed()
      this.#ring?.close()
    })
    this.#finish.start()
  }

  // The other side is gone, and what it sent through the ring is still there.
  #end (proceed) {
    const end = () => {
      // Node disconnects now; that the program has asked for it is no error.
      if (this.#finish) this.#target.connected = true
      this.#hasEnded = true
      proceed()
      this.#ring?.close()
    }
    if (!this.#ring?.isReadable()) return end()
    this.#ring.readAll()
    // What its listeners have begun has its turn before the end, as under Node,
    // where the end is a read of its own.
    setImmediate(end)
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

function makeChannel (target, ring) {
  const reason = impediment()
  if (reason) return new NotAttached(reason)
  const parts = internals.inspectChannel(target)
  if (parts.missing) return new NotAttached(`Node has no ${parts.missing} as expected`)
  return new Channel(target, parts, ring)
}

/**
 * Puts the channel of `target` on the best lane that works, or leaves it to
 * Node. Does nothing if that is done already.
 * @param {object} target a ChildProcess with a channel, or `process` in a child
 * @param {{side: 'parent' | 'child', descriptors: object} | {reason: string}} [ring]
 *   the descriptors of a ring, for RingLane; or why there is none
 * @returns {boolean} whether the descriptors were taken
 */
function attach (target, ring = { reason: 'not started by forklane' }) {
  if (channels.has(target)) return false
  const channel = makeChannel(target, ring)
  channels.set(target, channel)
  return channel instanceof Channel && channel.hasRing
}

/**
 * Tells how the messages of a channel travel.
 * @param {object} target a ChildProcess, or `process` in a child
 * @returns {{send: string, receive: string, reason: string | null} | null} the
 *   lane of each direction, 'core', 'pipe' or 'ring', and why not a better one;
 *   null if there is no channel
 */
function lane (target) {
  const channel = channels.get(target)
  if (channel) return channel.describe()
  return target?.channel ? new NotAttached(impediment() ?? 'not started by forklane').describe() : null
}

module.exports = { attach, isOff, lane }
