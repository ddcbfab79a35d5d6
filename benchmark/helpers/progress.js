'use strict'

// How far the trials of a benchmark are.

/** Says on stderr how many trials are done and how long the rest will take. */
class Progress {
  #total
  #done = 0
  #started = Date.now()
  #lastLine = Date.now()
  #seconds = new Map() // by row and variant, of its last trial
  #pending = new Map() // by row and variant, trials to come

  constructor (keys) {
    this.#total = keys.length
    for (const key of keys) this.#pending.set(key, (this.#pending.get(key) ?? 0) + 1)
  }

  finish (key, seconds, text) {
    this.#done++
    this.#seconds.set(key, seconds)
    this.#pending.set(key, this.#pending.get(key) - 1)

    const line = `${this.#done}/${this.#total} trials, ` +
      `about ${Math.ceil(this.#secondsLeft())} s left`
    if (process.stderr.isTTY) {
      const isLast = this.#done === this.#total
      process.stderr.write(`\r\x1b[K${isLast ? '' : `${line} (${text})`}`)
    } else if (Date.now() - this.#lastLine >= 10_000) {
      this.#lastLine = Date.now()
      process.stderr.write(`${line}\n`)
    }
  }

  // Rows differ a lot, so each is expected to take as long as it did before,
  // and as long as the others on average when it has not run yet.
  #secondsLeft () {
    const average = (Date.now() - this.#started) / 1000 / this.#done
    let left = 0
    for (const [key, trials] of this.#pending) {
      left += trials * (this.#seconds.get(key) ?? average)
    }
    return left
  }
}

module.exports = { Progress }
