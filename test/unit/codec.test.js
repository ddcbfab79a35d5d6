'use strict'

// What the bridge to V8 asks JavaScript for, against Node's own tables.

const assert = require('node:assert')
const fs = require('node:fs')
const v8 = require('node:v8')
const vm = require('node:vm')
const codec = require('../../lib/codec.js')

const file = require.resolve('../../lib/codec.js')

const VIEWS = [
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  Float32Array, Float64Array, DataView, BigInt64Array, BigUint64Array,
  ...(globalThis.Float16Array ? [globalThis.Float16Array] : [])
]

// v8.serialize() writes header, tag and then the index of the type.
const indexOfNode = (view) => v8.serialize(view)[3]

describe('codec', () => {
  for (const View of VIEWS) {
    it(`has Node's index for a ${View.name}`, () => {
      const view = new View(new ArrayBuffer(8))
      assert.strictEqual(codec.viewIndex(view), indexOfNode(view))
    })
  }

  it('goes by Symbol.toStringTag, as Node in JavaScript', () => {
    const disguised = Object.defineProperty(new Uint8Array(4), Symbol.toStringTag, {
      value: 'Float32Array'
    })
    assert.strictEqual(codec.viewIndex(disguised), 7)
  })

  it('refuses a view of no known type with the error of Node', () => {
    const odd = Object.defineProperty(new Uint8Array(4), Symbol.toStringTag, { value: 'Odd' })
    let expected
    try {
      v8.serialize(odd)
    } catch (error) {
      expected = error
    }
    assert.throws(() => codec.viewIndex(odd), (error) => {
      assert.match(error.message, /^Unserializable host object: /)
      if (expected) assert.strictEqual(error.message, expected.message)
      return true
    })
  })

  it('has the Buffer that programs have', () => {
    assert.strictEqual(codec.Buffer, Buffer)
  })

  it('spreads own enumerable properties, getters as values', () => {
    class Base { inherited = 1 }
    const object = Object.create(new Base(), {
      value: { value: 1, enumerable: true },
      hidden: { value: 2, enumerable: false },
      getter: { get: () => 3, enumerable: true },
      [Symbol.for('key')]: { value: 4, enumerable: true }
    })
    const result = codec.spread(object)
    assert.strictEqual(Object.getPrototypeOf(result), Object.prototype)
    assert.deepStrictEqual(result, { value: 1, getter: 3, [Symbol.for('key')]: 4 })
  })

  describe('knows whether the codec of Node is native', () => {
    const source = fs.readFileSync(file, 'utf8')

    function nativeTypesIn (node) {
      const module = { exports: {} }
      vm.compileFunction(source, ['require', 'module', 'process'])(
        require, module, { versions: { node } }
      )
      return module.exports.nativeTypes
    }

    const VERSIONS = {
      '20.0.0': false,
      '20.99.0': false,
      '22.23.5': false,
      '24.0.0': false,
      '24.18.99': false,
      '24.19.0': true,
      '24.100.0': true,
      '25.99.0': false,
      '26.0.0': false,
      '26.3.9': false,
      '26.4.0': true,
      '26.12.1': true,
      '27.0.0': true,
      '27.0.0-nightly2026': true,
      '100.0.0': true
    }
    for (const [version, native] of Object.entries(VERSIONS)) {
      it(`${version}: ${native}`, () => assert.strictEqual(nativeTypesIn(version), native))
    }
  })

  it('is right about this Node', () => {
    // Only the native codec does not look at the tag.
    const disguised = Object.defineProperty(new Uint16Array(2), Symbol.toStringTag, {
      value: 'Int8Array'
    })
    const { binding } = require('../../lib/binding.js')
    const writer = new binding.Writer()
    writer.advanced(-1, disguised)
    // Length, header, tag, kind of host object, index.
    assert.strictEqual(writer.take(Infinity)[8], codec.nativeTypes ? 4 : 0)
  })
})
