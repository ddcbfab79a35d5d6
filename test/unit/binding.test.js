'use strict'

// Reader and Writer of the addon, called directly: what they make of bytes cut
// anywhere, and of values.

const assert = require('node:assert')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { isDeepStrictEqual } = require('node:util')
const v8 = require('node:v8')
const { binding } = require('../../lib/binding.js')
const { readAsStock } = require('../helpers/oracle.js')
const { SERIALIZATIONS } = require('../helpers/parties.js')
const { seeded } = require('../helpers/seeded.js')
const { frame, lengthFrame, lineFrame } = require('../helpers/wire.js')

const FORMATS = { json: 0, advanced: 1 }
const MESSAGES = ['a', { b: ['äöü€😀', null, 1.5] }, '', -0, 'x'.repeat(70), [[]], true]
const BAD = { json: lineFrame('{'), advanced: lengthFrame(Buffer.from('ff0f', 'hex')) }

const newReader = (serialization, max = 2 ** 29) => new binding.Reader(FORMATS[serialization], max)

// Feeds pieces, and gives all values and faults with positions in the whole.
function feedAll (reader, pieces) {
  const values = []
  const faults = []
  for (const piece of pieces) {
    const found = []
    const read = reader.feed(piece.buffer, piece.byteOffset, piece.length, found)
    for (let i = 0; i < found.length; i += 2) faults.push([values.length + found[i], found[i + 1].message])
    values.push(...read)
  }
  return { values, faults }
}

function cutAt (bytes, ...places) {
  const ends = [...places, bytes.length]
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end))
}

describe('binding', () => {
  it('is loaded, for this Node', () => {
    assert.strictEqual(binding.v8Abi, Number(process.versions.modules))
  })
})

describe('binding: Reader', () => {
  for (const serialization of SERIALIZATIONS) {
    const asRead = MESSAGES.map((message) =>
      serialization === 'json' ? JSON.parse(JSON.stringify(message)) : message)

    describe(serialization, () => {
      const whole = Buffer.concat(MESSAGES.map((message) => frame(serialization, message)))

      it('reads all frames of a chunk', () => {
        assert.deepStrictEqual(feedAll(newReader(serialization), [whole]), {
          values: asRead, faults: []
        })
      })

      it('reads the same when cut at any place', () => {
        for (let cut = 0; cut <= whole.length; cut++) {
          const reader = newReader(serialization)
          const { values, faults } = feedAll(reader, cutAt(whole, cut))
          assert.deepStrictEqual(values, asRead, `cut at ${cut}`)
          assert.deepStrictEqual(faults, [])
          assert.strictEqual(reader.pending(), 0)
        }
      })

      it('reads the same when cut at any two places', () => {
        const few = Buffer.concat(MESSAGES.slice(0, 3).map((message) => frame(serialization, message)))
        for (let first = 0; first <= few.length; first++) {
          for (let second = first; second <= few.length; second++) {
            const { values } = feedAll(newReader(serialization), cutAt(few, first, second))
            assert.deepStrictEqual(values, asRead.slice(0, 3), `cuts at ${first} and ${second}`)
          }
        }
      })

      it('reads the same byte by byte', () => {
        const bytes = Array.from(whole, (byte, i) => whole.subarray(i, i + 1))
        assert.deepStrictEqual(feedAll(newReader(serialization), bytes).values, asRead)
      })

      it('counts the bytes of a frame that is not complete', () => {
        const one = frame(serialization, MESSAGES[1])
        const reader = newReader(serialization)
        assert.strictEqual(reader.pending(), 0)
        for (let i = 1; i < one.length; i++) {
          reader.feed(one.buffer, one.byteOffset + i - 1, 1, [])
          assert.strictEqual(reader.pending(), i)
        }
      })

      it('says at which places there is no message, wherever it is cut', () => {
        const parts = [BAD, FORMATS, BAD, BAD, FORMATS, BAD].map((part, i) =>
          part === BAD ? BAD[serialization] : frame(serialization, i))
        const bytes = Buffer.concat(parts)
        for (let cut = 0; cut <= bytes.length; cut++) {
          const { values, faults } = feedAll(newReader(serialization), cutAt(bytes, cut))
          assert.deepStrictEqual(values, [undefined, 1, undefined, undefined, 4, undefined])
          assert.deepStrictEqual(faults.map(([index]) => index), [0, 2, 3, 5])
          for (const [, reason] of faults) assert(reason.length > 0)
        }
      })

      it('says so at the end when the boundaries are lost, and from then on', () => {
        const reader = newReader(serialization, 16)
        const bytes = Buffer.concat([
          frame(serialization, 1), frame(serialization, 'longer than sixteen'), frame(serialization, 2)
        ])
        const tooLong = 'message longer than the maximum message size'
        assert.deepStrictEqual(feedAll(reader, [bytes]), { values: [1], faults: [[1, tooLong]] })
        assert.deepStrictEqual(feedAll(reader, [frame(serialization, 3)]), {
          values: [], faults: [[0, tooLong]]
        })
        assert.strictEqual(reader.pending(), 0)
      })

      it('takes messages of exactly the maximum', () => {
        const content = frame(serialization, 'exactly').length - (serialization === 'json' ? 1 : 4)
        const bytes = frame(serialization, 'exactly')
        for (const [max, count] of [[content, 1], [content - 1, 0]]) {
          for (let cut = 0; cut <= bytes.length; cut++) {
            const { values, faults } = feedAll(newReader(serialization, max), cutAt(bytes, cut))
            assert.deepStrictEqual([values.length, faults.length > 0], [count, count === 0], `cut at ${cut}`)
          }
        }
      })

      it('looks at nothing outside of the given bytes', () => {
        const around = Buffer.concat([Buffer.from('garbage\n'), whole, Buffer.from('garbage\n')])
        const values = newReader(serialization).feed(
          around.buffer, around.byteOffset + 8, whole.length, [])
        assert.deepStrictEqual(values, asRead)
      })

      it('refuses bytes outside of the buffer', () => {
        const reader = newReader(serialization)
        const buffer = new ArrayBuffer(8)
        for (const [offset, length] of [[0, 9], [8, 1], [9, 0], [4, 5], [2 ** 32 - 1, 2]]) {
          assert.throws(() => reader.feed(buffer, offset, length, []), { code: 'ERR_OUT_OF_RANGE' })
        }
        assert.deepStrictEqual(reader.feed(buffer, 8, 0, []), [])
      })

      it('gives values that do not change with the chunk', () => {
        const bytes = Buffer.from(whole)
        const { values } = feedAll(newReader(serialization), [bytes])
        bytes.fill(0)
        assert.deepStrictEqual(values, asRead)
      })

      it('reads thousands of frames of one chunk', () => {
        const count = 20_000
        const bytes = Buffer.concat(Array.from({ length: count }, (_, i) => frame(serialization, i)))
        const { values } = feedAll(newReader(serialization), [bytes])
        assert.strictEqual(values.length, count)
        assert(values.every((value, i) => value === i))
      })

      it('reads a frame of 8 MiB in pieces of 64 KiB', () => {
        const text = 'ü'.repeat(4 * 2 ** 20)
        const bytes = frame(serialization, text)
        const pieces = []
        for (let i = 0; i < bytes.length; i += 65536) pieces.push(bytes.subarray(i, i + 65536))
        const { values } = feedAll(newReader(serialization), pieces)
        assert(values.length === 1 && values[0] === text)
      })

      it('reads garbage in pieces as it reads it whole', () => {
        const random = seeded(serialization.length)
        for (let round = 0; round < 2000; round++) {
          const bytes = Buffer.concat(Array.from({ length: 1 + random.below(4) }, () =>
            random.mutate(frame(serialization, MESSAGES[random.below(MESSAGES.length)]))))
          const expected = feedAll(newReader(serialization, 1000), [bytes])
          const places = [random.below(bytes.length + 1), random.below(bytes.length + 1)].sort((a, b) => a - b)
          const actual = feedAll(newReader(serialization, 1000), cutAt(bytes, ...places))
          // When the boundaries are lost, each later piece says so again.
          assert(isDeepStrictEqual(actual.values, expected.values), `${bytes.toString('hex')} at ${places}`)
          assert.deepStrictEqual(actual.faults.slice(0, expected.faults.length), expected.faults)
        }
      })
    })
  }

  it('gives views memory of their own', () => {
    for (const size of [0, 1, 64, 100, 4095, 4096, 100_000]) {
      const writer = new binding.Writer()
      writer.advanced(-1, [Buffer.alloc(size, 7), new Uint8Array(size).fill(8)])
      const bytes = Buffer.from(writer.take(Infinity))
      const { values: [[buffer, array]] } = feedAll(newReader('advanced'), [bytes])
      bytes.fill(0)
      assert(Buffer.isBuffer(buffer))
      assert(buffer.length === size && buffer.every((byte) => byte === 7), `${size}`)
      assert(array.length === size && array.every((byte) => byte === 8), `${size}`)
      // Nothing of the frame around a view can be reached through it.
      assert.deepStrictEqual([array.byteOffset, array.buffer.byteLength], [0, size])
      assert.strictEqual(buffer.buffer.byteLength, size)
    }
  })
})

describe('binding: Writer', () => {
  const taken = (writer) => {
    const pieces = []
    for (let piece = writer.take(Infinity); piece; piece = writer.take(Infinity)) pieces.push(piece)
    return Buffer.concat(pieces)
  }

  it('keeps frames in order, and tells how many bytes wait', () => {
    const writer = new binding.Writer()
    const expected = []
    let size = 0
    for (let i = 0; i < 300; i++) {
      const text = JSON.stringify({ i, padding: 'x'.repeat(i * 10) })
      expected.push(lineFrame(text))
      size += text.length + 1
      assert.strictEqual(writer.text(-1, text), size)
    }
    assert.deepStrictEqual(taken(writer), Buffer.concat(expected))
    assert.strictEqual(writer.take(Infinity), undefined)
  })

  it('gives out what waits in pieces no larger than asked', () => {
    const writer = new binding.Writer()
    const text = JSON.stringify('0123456789'.repeat(20_000))
    writer.text(-1, text)
    writer.text(-1, '1')
    const pieces = []
    for (let piece = writer.take(1000); piece; piece = writer.take(1000)) {
      assert(piece.length <= 1000 && piece.length > 0)
      pieces.push(piece)
    }
    assert.strictEqual(Buffer.concat(pieces).toString(), `${text}\n1\n`)
  })

  it('writes strings that JSON does not escape, and only those', () => {
    const writer = new binding.Writer()
    const plain = ['', 'a', 'text with spaces', '\x7f~ ', "it's", 'x'.repeat(1000)]
    for (const text of plain) {
      assert.notStrictEqual(writer.string(-1, text), undefined, text)
      assert.strictEqual(taken(writer).toString(), `${JSON.stringify(text)}\n`)
    }
    for (const text of ['"', '\\', '\n', '\0', '\u2028€', '\ud800', `${'x'.repeat(100)}"`]) {
      assert.strictEqual(writer.string(-1, text), undefined, JSON.stringify(text))
      assert.strictEqual(writer.take(Infinity), undefined, 'nothing is kept')
    }
  })

  it('writes text of any characters as UTF-8', () => {
    for (const text of ['ä', 'é'.repeat(100_000), '€😀', 'a\ud800b', `${'x'.repeat(20_000)}ÿ€`]) {
      const writer = new binding.Writer()
      writer.text(-1, text)
      assert(taken(writer).equals(Buffer.from(`${text}\n`)), text.slice(0, 10))
    }
  })

  it("writes values in V8's format, which Node reads", () => {
    const values = [
      1, 'text', null, undefined, 2n ** 80n, [1, , 3], { a: { b: [] } }, new Map([[{}, new Set([1])]]), // eslint-disable-line no-sparse-arrays
      new Date(5), /x/gi, new ArrayBuffer(9), new Uint16Array([1, 2]), new DataView(new ArrayBuffer(3)),
      Buffer.from('buffer'), new Float64Array(1000), new TypeError('message'), NaN, -0
    ]
    for (const value of values) {
      const writer = new binding.Writer()
      const size = writer.advanced(-1, value)
      const bytes = taken(writer)
      assert.strictEqual(bytes.length, size)
      assert.strictEqual(bytes.readUInt32BE(), size - 4)
      assert.deepStrictEqual(readAsStock(bytes.subarray(4)), value)
    }
  })

  it('keeps nothing of a value that cannot be cloned', () => {
    const writer = new binding.Writer()
    writer.advanced(-1, 'before')
    for (const value of [() => {}, Symbol('x'), { a: [new WeakMap()] }, { get a () { throw new Error('by getter') } }]) {
      assert.throws(() => writer.advanced(-1, value), Error)
    }
    writer.advanced(-1, 'after')
    assert.deepStrictEqual(taken(writer), Buffer.concat([
      lengthFrame(v8.serialize('before')), lengthFrame(v8.serialize('after'))
    ]))
  })

  it('puts what a getter writes first', () => {
    const writer = new binding.Writer()
    writer.advanced(-1, {
      get a () {
        writer.advanced(-1, 'inner')
        return 1
      }
    })
    assert.deepStrictEqual(taken(writer), Buffer.concat([
      lengthFrame(v8.serialize('inner')), lengthFrame(v8.serialize({ a: 1 }))
    ]))
  })

  describe('on a descriptor', () => {
    let directory
    let file
    beforeEach(() => {
      directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-'))
      file = path.join(directory, 'written')
    })
    afterEach(() => fs.rmSync(directory, { recursive: true }))

    it('writes at once, and after what waits', () => {
      const fd = fs.openSync(file, 'w')
      const writer = new binding.Writer()
      assert.strictEqual(writer.text(fd, '"first"'), 0)
      assert.strictEqual(writer.string(-1, 'waits'), 8)
      assert.strictEqual(writer.text(fd, '"behind"'), 17)
      assert.strictEqual(fs.readFileSync(file, 'utf8'), '"first"\n')
      assert.strictEqual(writer.flush(fd), 0)
      assert.strictEqual(writer.text(fd, '"last"'), 0)
      fs.closeSync(fd)
      assert.strictEqual(fs.readFileSync(file, 'utf8'), '"first"\n"waits"\n"behind"\n"last"\n')
    })

    it('says what is wrong with an argument', () => {
      assert.throws(() => new binding.Writer().take(), {
        code: 'ERR_FORKLANE_BINDING', message: 'A number was expected'
      })
    })

    it('refuses as text what is no string', () => {
      const writer = new binding.Writer()
      for (const value of [undefined, null, 1, {}, Symbol('x')]) {
        assert.throws(() => writer.text(-1, value), TypeError)
        assert.throws(() => writer.string(-1, value), TypeError)
      }
      assert.throws(() => writer.text(-1), TypeError)
      assert.strictEqual(writer.take(Infinity), undefined)
    })

    it('gives the error of the system and keeps nothing', () => {
      const fd = fs.openSync(file, 'w')
      fs.closeSync(fd)
      const writer = new binding.Writer()
      const error = -os.constants.errno.EBADF
      assert.strictEqual(writer.text(fd, '1'), error)
      assert.strictEqual(writer.string(fd, 'x'), error)
      assert.strictEqual(writer.advanced(fd, 1), error)
      assert.strictEqual(writer.take(Infinity), undefined)
      writer.text(-1, '1')
      assert.strictEqual(writer.flush(fd), error)
    })
  })
})
