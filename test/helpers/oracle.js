'use strict'

// Readers of a frame's content that are made of Node's public parts, as Node's
// own channel is (lib/internal/child_process/serialization.js).

const assert = require('node:assert')
const v8 = require('node:v8')

class Deserializer extends v8.DefaultDeserializer {
  _readHostObject () {
    const tag = this.readUint32()
    if (tag === 0) return super._readHostObject()
    assert.strictEqual(tag, 1)
    return this.readValue()
  }
}

/** @param {Buffer} content of a frame of the length format */
function readAsStock (content) {
  const deserializer = new Deserializer(content)
  deserializer.readHeader()
  return deserializer.readValue()
}

/** @param {Buffer} content of a frame of the line format */
function readJsonAsStock (content) {
  return JSON.parse(content.toString())
}

module.exports = { readAsStock, readJsonAsStock }
