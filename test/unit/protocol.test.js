'use strict'

// The examples of PROTOCOL.md: what they say is written is written, and is read
// as the message that it stands for.

const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const { binding } = require('../../lib/binding.js')

const page = fs.readFileSync(path.join(__dirname, '..', '..', 'PROTOCOL.md'), 'utf8')
const examples = [...page.matchAll(/^```example (\w+)\n(.*)\n([0-9a-f\s]+)```$/gm)]

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
