'use strict'

// Nested values from a seed: the same seed gives the same value in any process.

// mulberry32
function generator (seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const ALPHABETS = [
  'abcdefghijklmnopqrstuvwxyz0123456789 ',
  'ab"\\\n\r\t\b\f\0\u001f\u007f/',
  'a\u0080\u00e4\u00ff',
  'a\u0100\u20ac\u2028\u2029\uffff',
  'a\ud83d\ude00\ud800\udc00'
]

const VIEWS = [
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  Float32Array, Float64Array, BigInt64Array, BigUint64Array
]

class Maker {
  #random
  #advanced
  #made = []

  constructor (seed, serialization) {
    this.#random = generator(seed)
    this.#advanced = serialization === 'advanced'
  }

  #below (limit) {
    return Math.floor(this.#random() * limit)
  }

  #pick (list) {
    return list[this.#below(list.length)]
  }

  #string () {
    const alphabet = this.#pick(ALPHABETS)
    const length = this.#below(10) === 0 ? this.#below(3000) : this.#below(40)
    return Array.from({ length }, () => alphabet[this.#below(alphabet.length)]).join('')
  }

  #number () {
    switch (this.#below(6)) {
      case 0: return this.#pick([0, -0, NaN, Infinity, -Infinity, 2 ** 31, -(2 ** 31), 2 ** 53, 5e-324])
      case 1: return this.#random() * 2 ** this.#below(1000)
      case 2: return -this.#below(2 ** 31)
      default: return this.#below(1000)
    }
  }

  #primitive () {
    switch (this.#below(this.#advanced ? 8 : 6)) {
      case 0: return null
      case 1: return this.#below(2) === 0
      case 2: case 3: return this.#number()
      case 6: return undefined
      case 7: return (BigInt(this.#below(2 ** 31)) ** BigInt(this.#below(5))) * this.#pick([1n, -1n])
      default: return this.#string()
    }
  }

  #key () {
    return this.#below(4) === 0 ? String(this.#below(100)) : this.#string()
  }

  #bytes () {
    return Buffer.from(this.#string(), 'utf8')
  }

  // Kinds that JSON has its own idea of.
  #special (depth) {
    switch (this.#below(7)) {
      case 0: return new Date(this.#below(2 ** 31) * 1000)
      case 1: return new RegExp(this.#pick(['a+', '[^/]', '\u20ac']), this.#pick(['', 'gi', 'uy']))
      case 2: return this.#bytes()
      case 3: {
        const bytes = this.#bytes()
        const View = this.#pick(VIEWS)
        const length = Math.floor(bytes.length / View.BYTES_PER_ELEMENT)
        return new View(Uint8Array.from(bytes).buffer, 0, length)
      }
      case 4: {
        const map = new Map()
        this.#keep(map)
        for (let left = this.#below(4); left > 0; left--) {
          map.set(this.#value(depth + 1), this.#value(depth + 1))
        }
        return map
      }
      case 5: return new Set(Array.from({ length: this.#below(4) }, () => this.#value(depth + 1)))
      default: return Uint8Array.from(this.#bytes()).buffer
    }
  }

  // In 'advanced' a value may occur again, also inside itself.
  #keep (value) {
    this.#made.push(value)
  }

  #value (depth) {
    const kind = this.#below(depth > 4 ? 4 : 10)
    if (kind < 4) return this.#primitive()
    if (kind === 4 && this.#advanced && this.#made.length > 0) return this.#pick(this.#made)
    // A BigInt array is nothing that JSON can write.
    if (kind === 5 && this.#advanced) return this.#special(depth)
    if (kind < 8) {
      const object = {}
      this.#keep(object)
      for (let left = this.#below(8); left > 0; left--) object[this.#key()] = this.#value(depth + 1)
      return object
    }
    const array = []
    this.#keep(array)
    for (let left = this.#below(8); left > 0; left--) array.push(this.#value(depth + 1))
    if (this.#below(8) === 0) array.length += 3
    return array
  }

  make () {
    let value
    do value = this.#value(0)
    while (value === undefined || typeof value === 'bigint')
    return value
  }
}

/**
 * @param {number} seed an integer
 * @param {'json' | 'advanced'} serialization only what this can send is made
 * @returns {any}
 */
function randomValue (seed, serialization) {
  return new Maker(seed, serialization).make()
}

module.exports = { generator, randomValue }
