'use strict'

// The end of a channel waits for what is under way on its lanes.

// A peer that neither reads nor writes for so long does not hold up the end.
const STALL_MS = 2000

class Finish {
  #lanes
  #done
  #timer = null

  /**
   * @param {Array<{isBusy: () => boolean, progress: () => number}>} lanes
   *   `progress()` is a number that changes whenever anything moves
   * @param {() => void} done is called once, when check() finds no lane busy, or
   *   when nothing moves
   */
  constructor (lanes, done) {
    this.#lanes = lanes
    this.#done = done
  }

  /** Begins to wait; `done` is called at once if no lane is busy. */
  start () {
    this.check()
    if (this.#done) this.#watch()
  }

  /** To be called when a lane may not be busy any more. */
  check () {
    if (!this.#lanes.some((lane) => lane.isBusy())) this.end()
  }

  /** Waits no longer. */
  end () {
    const done = this.#done
    clearInterval(this.#timer)
    this.#done = null
    done?.()
  }

  #watch () {
    const progress = () => this.#lanes.map((lane) => lane.progress()).join()
    let last = progress()
    this.#timer = setInterval(() => {
      const now = progress()
      if (now === last) this.end()
      last = now
    }, STALL_MS)
    this.#timer.unref()
  }
}

module.exports = { Finish }
