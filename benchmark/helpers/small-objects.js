'use strict'

// Small objects as programs send them: 5 to 20 properties of many types, some of
// them objects themselves. The same ones in each process and each run, and none
// that a serialization would change.

const { seeded } = require('../../test/helpers/seeded.js')

const SEED = 20
const COUNT = 64 // more shapes than a call site remembers
const LEAST = 5
const MOST = 20
const MOST_WITHIN = 4
const DEPTH = 2

const NAMES = [
  'id', 'type', 'name', 'status', 'user', 'path', 'method', 'time', 'duration', 'size', 'count',
  'ok', 'error', 'code', 'host', 'port', 'tags', 'options', 'result', 'version', 'parent', 'index',
  'total', 'message', 'level', 'address', 'retries', 'headers', 'start', 'end'
]
const WORDS = [
  'get', 'ready', '/api/v1/items', 'worker-7', 'completed', 'user@example.com', 'the quick brown fox',
  'text/html; charset=utf-8', '127.0.0.1', '2024-02-29T12:00:00.000Z', 'zażółć', ''
]

class Maker {
  #random = seeded(SEED)

  /** With `least` to `most` properties, and `depth` levels of objects within. */
  object (least, most, depth) {
    const names = [...NAMES]
    const object = {}
    for (let left = least + this.#random.below(most - least + 1); left > 0; left--) {
      const [name] = names.splice(this.#random.below(names.length), 1)
      object[name] = this.#value(depth)
    }
    return object
  }

  #value (depth) {
    const { below } = this.#random
    if (depth > 0 && below(6) === 0) return this.object(1, MOST_WITHIN, depth - 1)
    switch (below(8)) {
      case 0: return below(100)
      case 1: return below(2 ** 32) * 1000 // as times in ms: no small integer
      case 2: return below(1e6) / 1000
      case 3: return below(2) === 0
      case 4: return null
      case 5: return Array.from({ length: below(5) }, () => below(1000))
      default: return WORDS[below(WORDS.length)]
    }
  }
}

function makeSmallObjects () {
  const maker = new Maker()
  return Array.from({ length: COUNT }, () => maker.object(LEAST, MOST, DEPTH))
}

module.exports = { makeSmallObjects }
