'use strict'

// A first-in, first-out queue. Taking from the front of a long array moves the
// whole rest; this one moves it only when half of it is used up.

class Queue {
  #items = []
  #head = 0

  get length () {
    return this.#items.length - this.#head
  }

  get first () {
    return this.#items[this.#head]
  }

  push (item) {
    this.#items.push(item)
  }

  shift () {
    const item = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head * 2 >= this.#items.length) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return item
  }
}

module.exports = { Queue }
