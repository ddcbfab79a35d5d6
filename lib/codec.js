'use strict'

// What the bridge to V8 asks JavaScript for: Node's rules for host objects in
// the 'advanced' format (lib/v8.js and
// lib/internal/child_process/serialization.js of Node).

const { Buffer } = require('node:buffer')
const { inspect } = require('node:util')

// The names that Object.prototype.toString gives to the views, by the index
// that stands for them on the wire. 10 is Buffer, which is told by constructor.
const VIEW_NAMES = [
  'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array',
  'Int32Array', 'Uint32Array', 'Float32Array', 'Float64Array', 'DataView',
  undefined, 'BigInt64Array', 'BigUint64Array', 'Float16Array'
].map((name) => name && `[object ${name}]`)

const toString = Object.prototype.toString

/** The wire's index for a view, or Node's error for one that has none. */
function viewIndex (view) {
  const index = VIEW_NAMES.indexOf(toString.call(view))
  if (index === -1) throw new Error(`Unserializable host object: ${inspect(view)}`)
  return index
}

/** Throws for a view whose memory is gone what Node's codec throws. */
function checkView (view) {
  const { byteLength } = view // Node asks for it first
  return new Uint8Array(view.buffer, view.byteOffset, byteLength)
}

/** A host object that is no view travels as its own enumerable properties. */
function spread (object) {
  return { ...object }
}

/**
 * Whether this Node's own codec takes the type of a view from V8 (it is native
 * since 24.19 and 26.4), so that Symbol.toStringTag has no say in it.
 * @param {string} version as process.versions.node
 */
function hasNativeCodec (version) {
  const [major, minor] = version.split('.').map(Number)
  return major > 26 || (major === 26 && minor >= 4) || (major === 24 && minor >= 19)
}

module.exports = {
  Buffer,
  spread,
  viewIndex,
  checkView,
  nativeTypes: hasNativeCodec(process.versions.node)
}
