'use strict'

// A value as text: everything about it that a program could notice (type,
// prototype, own properties in order with their attributes, bytes, identity of
// what occurs twice). Two values with the same text are the same message. The
// text is ASCII, so that it comes over any channel unharmed.
//
// What is left out on purpose: the ArrayBuffer behind a view. Under stock it is
// whatever the message was read into.

const { createHash } = require('node:crypto')
const { types } = require('node:util')

const LONG = 2000

function ascii (text) {
  if (text.length > LONG) {
    const hash = createHash('sha1').update(Buffer.from(text, 'utf16le')).digest('hex')
    return `${text.length} characters ${hash}`
  }
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (character) =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function hex (bytes) {
  if (bytes.length > LONG) {
    return `${bytes.length} bytes ${createHash('sha1').update(bytes).digest('hex')}`
  }
  return `<${Buffer.from(bytes).toString('hex')}>`
}

function primitive (value) {
  switch (typeof value) {
    case 'string': return ascii(value)
    case 'bigint': return `${value}n`
    case 'symbol': return ascii(value.toString())
    case 'number': return Object.is(value, -0) ? '-0' : String(value)
    default: return String(value)
  }
}

function prototypeName (value) {
  const prototype = Object.getPrototypeOf(value)
  if (prototype === null) return 'null'
  const name = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value?.name
  return globalThis[name]?.prototype === prototype ? name : `other ${name}`
}

// What is in the internal slots.
function content (value, describe) {
  if (types.isDate(value)) return `Date ${primitive(value.getTime())}`
  if (types.isRegExp(value)) return `RegExp ${ascii(value.source)} ${value.flags}`
  if (types.isBoxedPrimitive(value)) return `boxed ${primitive(value.valueOf())}`
  if (types.isNativeError(value)) return 'Error'
  if (types.isMap(value)) {
    const entries = [...value].map(([key, item]) => `${describe(key)} => ${describe(item)}`)
    return `Map(${entries.join(', ')})`
  }
  if (types.isSet(value)) return `Set(${[...value].map(describe).join(', ')})`
  if (types.isAnyArrayBuffer(value)) {
    const size = value.resizable ? ` of ${value.maxByteLength}` : ''
    return `${types.isSharedArrayBuffer(value) ? 'shared' : 'ArrayBuffer'}${size} ${hex(new Uint8Array(value))}`
  }
  if (ArrayBuffer.isView(value)) {
    const type = types.isDataView(value)
      ? 'DataView'
      : Object.getOwnPropertyDescriptor(
        Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get.call(value)
    return `${type} ${hex(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))}`
  }
  if (Array.isArray(value)) return `Array ${value.length}`
  if (typeof value === 'function') return 'function'
  return 'object'
}

function properties (value, describe) {
  const views = types.isTypedArray(value)
  const parts = []
  for (const key of Reflect.ownKeys(value)) {
    if (views && /^\d+$/.test(String(key))) continue
    const descriptor = Object.getOwnPropertyDescriptor(value, key)
    const attributes = [
      descriptor.writable === false && 'fixed',
      !descriptor.enumerable && 'hidden',
      !descriptor.configurable && 'final',
      !('value' in descriptor) && 'accessor'
    ].filter(Boolean)
    parts.push(`${primitive(key)}${attributes.map((name) => ` ${name}`).join('')}: ${describe(value[key])}`)
  }
  return parts.join(', ')
}

/**
 * @param {any} value
 * @returns {string}
 */
function describeValue (value) {
  const seen = new Map()
  const describe = (value) => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
      return primitive(value)
    }
    if (seen.has(value)) return `#${seen.get(value)}`
    seen.set(value, seen.size)
    return `[${prototypeName(value)}] ${content(value, describe)} {${properties(value, describe)}}`
  }
  return describe(value)
}

/**
 * What was thrown, as text, without the places it passed through.
 * @param {any} error
 * @returns {string}
 */
function describeThrown (error) {
  if (error === null || typeof error !== 'object') return `thrown ${primitive(error)}`
  const { name, code, message } = error
  return `thrown ${[
    error.constructor?.name, Object.prototype.toString.call(error), types.isNativeError(error),
    primitive(name), primitive(code), primitive(message), Object.keys(error).join()
  ].join(' ')}`
}

module.exports = { describeThrown, describeValue }
