'use strict'

// The examples of PROTOCOL.md: what they say is written is written, and is read
// as the message that it stands for.

const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { binding } = require('../../lib/binding.js')

const page = fs.readFileSync(path.join(__dirname, '..', '..', 'PROTOCOL.md'), 'utf8')
const blocks = (kind) =>
  [...page.matchAll(new RegExp(`^\`\`\`${kind} (\\w+)\\n(.*)\\n([0-9a-f\\s]+)\`\`\`$`, 'gm'))]
const examples = blocks('example')
const records = blocks('record')

function write (mode, message) {
  const writer = new binding.Writer()
  if (mode === 'advanced') writer.advanced(-1, message)
  else if (typeof message !== 'string' || writer.string(-1, message) === undefined) {
    writer.text(-1, JSON.stringify(message))
  }
  return Buffer.from(writer.take(Infinity))
}

function read (mode, bytes) {
  const reader = new binding.Reader(mode === 'advanced' ? 1 : 0, 1024)
  const faults = []
  const messages = reader.feed(bytes.buffer, bytes.byteOffset, bytes.length, faults)
  assert.deepStrictEqual(faults, [])
  return messages
}

describe('the examples of PROTOCOL.md', () => {
  it('are there', () => {
    assert.ok(examples.length >= 7)
  })

  for (const [, mode, source, hex] of examples) {
    it(`${mode}: ${source}`, () => {
      const message = vm.runInThisContext(`(${source})`)
      const bytes = Buffer.from(hex.replace(/\s/g, ''), 'hex')
      assert.deepStrictEqual(write(mode, message).toString('hex'), bytes.toString('hex'))
      assert.deepStrictEqual(read(mode, bytes), [message])
    })
  }
})

// The parent's side of a ring, and its memory by hand.
function openRing (mode) {
  const [segment, poll, signal, ...rest] = binding.createRing(64 * 1024)
  const lane = new binding.Lane({
    side: 0,
    segment,
    poll,
    signal,
    socket: -1,
    advanced: mode === 'advanced',
    spin: false,
    maxMessageSize: 2 ** 20
  }, () => {}, () => {})
  const header = Buffer.alloc(1024)
  fs.readSync(segment, header, 0, header.length, 0)
  const start = header.readUInt32LE(12)
  const size = Number(header.readBigUInt64LE(16))
  return {
    lane,
    header,
    // What this side has published.
    published () {
      const head = Buffer.alloc(8)
      fs.readSync(segment, head, 0, 8, 256)
      const bytes = Buffer.alloc(Number(head.readBigUInt64LE()))
      fs.readSync(segment, bytes, 0, bytes.length, start)
      return bytes
    },
    // Publishes as the other side would.
    publish (bytes) {
      const head = Buffer.alloc(8)
      head.writeBigUInt64LE(BigInt(bytes.length))
      fs.writeSync(segment, bytes, 0, bytes.length, start + size)
      fs.writeSync(segment, head, 0, 8, 512)
    },
    close () {
      lane.close()
      binding.closeDescriptors([segment, ...rest])
    }
  }
}

function send (lane, message) {
  if (lane.send(message) === undefined) lane.text(JSON.stringify(message))
}

describe('the records of PROTOCOL.md', () => {
  let ring

  afterEach(() => ring.close())

  for (const [, mode, source, hex] of records) {
    it(`${mode}: ${source}`, () => {
      const message = vm.runInThisContext(`(${source})`)
      const bytes = Buffer.from(hex.replace(/\s/g, ''), 'hex')
      ring = openRing(mode)
      send(ring.lane, message)
      assert.strictEqual(ring.published().toString('hex'), bytes.toString('hex'))
      ring.publish(bytes)
      const faults = []
      const expected = mode === 'json' ? JSON.parse(JSON.stringify(message)) : message
      assert.deepStrictEqual(ring.lane.read(faults), [expected])
      assert.deepStrictEqual(faults, [])
    })
  }

  it('are there', () => {
    ring = openRing('json')
    assert.ok(records.length >= 8)
  })

  it('begin a message of parts as drawn', () => {
    const [, hex] = /^```\n(10 00[0-9a-f\s]+)\.\.\.\n```$/m.exec(page)
    const bytes = Buffer.from(hex.replace(/\s/g, ''), 'hex')
    ring = openRing('json')
    const message = 'x'.repeat(16_385)
    send(ring.lane, message)
    const published = ring.published()
    assert.strictEqual(published.subarray(0, bytes.length).toString('hex'), bytes.toString('hex'))
    ring.publish(published)
    assert.deepStrictEqual(ring.lane.read([]), [message])
  })

  it('have a header in front as drawn', () => {
    ring = openRing('json')
    assert.strictEqual(ring.header.toString('latin1', 0, 8), 'forklane')
    assert.strictEqual(ring.header.readUInt32LE(8), binding.ringVersion)
    assert.strictEqual(ring.header.readUInt32LE(256 + 128), 1)
    assert.strictEqual(ring.header.readUInt32LE(512 + 128), 1)
  })
})
