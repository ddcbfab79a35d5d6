'use strict'

// The ring lane: messages through memory that the two processes share. Both of
// them run forklane.

const { AsyncResource } = require('node:async_hooks')
const { binding } = require('../binding.js')
const { Queue } = require('../queue.js')

// send() returns false when so many bytes wait for room in the ring.
const HIGH_WATER_MARK = 128 * 1024

// Of one ring, in bytes, chosen by measurement (CONTRIBUTING.md, "The size of the
// ring").
const RING_SIZE = 2 * 1024 * 1024

// fl_side_t
const SIDE = { parent: 0, child: 1 }

const { stringify } = JSON

function ringSize () {
  const { FORKLANE_RING_SIZE: text } = process.env
  return text === undefined ? RING_SIZE : Number(text)
}

/** The descriptors of a ring that a child is going to get. */
class RingOffer {
  #own
  #childs

  /**
   * Throws an error of the system if one cannot be had.
   * @param {number} [spare] how many more descriptors have to be left
   */
  constructor (spare = 0) {
    const [segment, poll, signal, childPoll, childSignal] = binding.createRing(ringSize(), spare)
    this.#own = { version: binding.ringVersion, segment, poll, signal }
    this.#childs = [segment, childPoll, childSignal]
  }

  /**
   * What the child finds where, for its RingLane.
   * @param {number} first the number of the first descriptor
   */
  describe (first) {
    return {
      version: binding.ringVersion, segment: first, poll: first + 1, signal: first + 2
    }
  }

  /** For the child, in the order of describe(). */
  get descriptors () {
    return this.#childs
  }

  /** The descriptors of this side; the child's are closed by close(). */
  get own () {
    return this.#own
  }

  /**
   * Closes what is not needed after the child has been started.
   * @param {boolean} isTaken whether a RingLane has taken this side
   */
  close (isTaken) {
    binding.closeDescriptors(this.#childs)
    if (!isTaken) binding.closeDescriptors([this.#own.poll, this.#own.signal])
  }
}

class RingLane {
  #ring
  #owner
  #resource = new AsyncResource('FORKLANE_RING') // the context that it was made in
  #callbacks = new Queue() // [number of the message, callback, async context]
  #isWaiting = false // for room in the ring
  #isHeldUp = false // the callbacks are, by those of another lane
  #isReading = false // what was there when the end was asked for
  #isRead = false // but for a message that has come in part
  #hellos = 0 // of programs that have taken the other end

  /**
   * Whether both sides mean the same by the bytes. If not, the descriptors are
   * closed: they are of no use.
   */
  static isOurVersion ({ version, segment, poll, signal }) {
    if (version === binding.ringVersion) return true
    binding.closeDescriptors([segment, poll, signal])
    return false
  }

  /**
   * Throws if the descriptors are none of a ring.
   * @param {'parent' | 'child'} side
   * @param {{segment: number, poll: number, signal: number}} descriptors which are
   *   the lane's from then on; but a parent closes the segment itself
   * @param {{handle: object, control: object, mode: string}} parts as of
   *   internals.inspectChannel()
   * @param {number} maxMessageSize bytes of text or of V8's format
   * @param {object} owner what the lane tells of
   * @param {(values: any[], faults: any[]) => void} owner.deliver as that of
   *   Delivery
   * @param {() => void} owner.attached a program has taken the other end
   * @param {() => void} owner.quiet isBusy() may have become false
   */
  constructor (side, descriptors, { handle, mode }, maxMessageSize, owner) {
    this.#owner = owner
    this.#ring = new binding.Lane(
      {
        side: SIDE[side],
        ...descriptors,
        socket: handle.fd,
        advanced: mode === 'advanced',
        spin: process.env.FORKLANE_SPIN !== '0',
        maxMessageSize
      },
      (values, faults) => this.#resource.runInAsyncScope(this.#receive, this, values, faults),
      () => this.#published()
    )
  }

  /** Tells the other side that this one is there. */
  hello () {
    this.#ring.hello(binding.ringVersion)
  }

  #receive (values, faults) {
    const hellos = this.#ring.hellos()
    if (hellos !== this.#hellos) {
      this.#hellos = hellos
      this.#owner.attached()
    }
    if (values.length > 0 || faults.length > 0) {
      // The message that was waited for, if there was one, is the first.
      if (this.#isRead) this.#isReading = false
      this.#owner.deliver(values, faults)
    }
    this.#owner.quiet()
  }

  /** Delivers everything that the other side has sent before this call. */
  readAll () {
    if (!this.#ring.isReadable()) return
    const faults = []
    const values = this.#ring.read(faults)
    this.#receive(values, faults)
  }

  /** Whether there is anything to read. */
  isReadable () {
    return this.#ring.isReadable()
  }

  /** The socket has brought the switch of this number. */
  switched (number) {
    this.#ring.switched(number)
  }

  /** What is sent from now on comes after the switch of this number. */
  switchTo (number) {
    this.#ring.switch(number)
    this.#update(this.#ring.waiting())
  }

  /**
   * Sends one message, with the results of Node's own `_send()`. Throws what
   * serialization throws.
   * @param {any} message
   * @param {(error: null) => void} [callback]
   * @returns {boolean} whether the sender may go on at its pace
   */
  send (message, callback) {
    const ring = this.#ring
    let waiting = ring.send(message)
    if (waiting === undefined) {
      const text = stringify(message)
      if (text === undefined) throw require('../errors.js').noJson()
      waiting = ring.text(text)
    }
    const isLeft = waiting <= 0 && !this.#isWaiting && !this.#isHeldUp
    if (isLeft && this.#callbacks.length === 0) {
      if (typeof callback === 'function') process.nextTick(callback, null)
      return waiting === 0
    }
    if (typeof callback === 'function') {
      this.#callbacks.push([ring.sent(), callback, new AsyncResource('FORKLANE_WRITE')])
    }
    this.#update(waiting)
    return waiting < HIGH_WATER_MARK
  }

  /** Whether messages wait for room in the ring. */
  isWaiting () {
    return this.#isWaiting
  }

  /** Callbacks wait until releaseCallbacks(), so that their order is kept. */
  holdCallbacks () {
    this.#isHeldUp = true
  }

  releaseCallbacks () {
    if (!this.#isHeldUp) return
    this.#isHeldUp = false
    this.#callBackAll(this.#ring.published())
  }

  #update (waiting) {
    const isWaiting = waiting > 0
    if (!isWaiting && this.#isWaiting) process.nextTick(() => this.#owner.quiet())
    this.#isWaiting = isWaiting
  }

  // Calls the next callback that is due, and returns whether there is another.
  #published () {
    this.#update(this.#ring.waiting())
    this.#callBack(this.#ring.published())
    return this.#isDue(this.#ring.published())
  }

  #isDue (published) {
    return !this.#isHeldUp && this.#callbacks.length > 0 && this.#callbacks.first[0] <= published
  }

  #callBack (published) {
    if (!this.#isDue(published)) return
    const [, callback, context] = this.#callbacks.shift()
    try {
      context.runInAsyncScope(callback, undefined, null)
    } finally {
      if (this.#callbacks.length === 0) this.#owner.quiet()
    }
  }

  #callBackAll (published) {
    if (!this.#isDue(published)) return
    process.nextTick(() => {
      try {
        this.#callBack(published)
      } finally {
        this.#callBackAll(published)
      }
    })
  }

  /** Has isBusy() wait for what has come already, if there is anything. */
  awaitMessage () {
    if (!this.#ring.isReadable() && !this.#ring.isAssembling()) return
    this.#isReading = true
    // Not in a tick: that of a handle, which came before, may be to come yet.
    setImmediate(() => {
      this.readAll()
      this.#isRead = true
      if (!this.#ring.isAssembling()) this.#isReading = false
      this.#owner.quiet()
    })
  }

  /** Whether messages that were sent have not left, or some are waited for. */
  isBusy () {
    return this.#isWaiting || this.#isReading || this.#callbacks.length > 0
  }

  /** A number that changes whenever anything moves. */
  progress () {
    return this.#ring.progress()
  }

  /** Ends the lane. What waits is lost; its callbacks are called. */
  close () {
    this.#ring.close()
    this.#isHeldUp = false
    this.#update(0)
    this.#callBackAll(Infinity)
  }
}

module.exports = { RingLane, RingOffer }
