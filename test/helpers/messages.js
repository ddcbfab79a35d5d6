'use strict'

// A catalogue of messages: every kind of value that a program could think of
// sending, whether or not it can be sent. Each is made anew by `make`, in
// either process; `dispose` ends what would keep that process alive.

/* eslint-disable no-new-wrappers, no-sparse-arrays, accessor-pairs */

const { Buffer, Blob, File } = require('node:buffer')
const crypto = require('node:crypto')
const { EventEmitter } = require('node:events')
const fs = require('node:fs')
const net = require('node:net')
const util = require('node:util')
const v8 = require('node:v8')
const vm = require('node:vm')
const { createHistogram } = require('node:perf_hooks')

const catalogue = new Map()

function add (title, make, dispose) {
  if (catalogue.has(title)) throw new Error(`twice: ${title}`)
  catalogue.set(title, { title, make, dispose })
}

function addAll (kind, makers) {
  for (const [title, make] of Object.entries(makers)) add(`${kind}: ${title}`, make)
}

/** Runs `make` so that the stacks of its errors name no place outside of it. */
function withShortStack (make) {
  return () => {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 1
    try {
      return make()
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
  }
}

function bytes (length) {
  return Uint8Array.from({ length }, (_, index) => (index * 7 + 1) & 0xff)
}

function detached (view) {
  structuredClone(view, { transfer: [view.buffer] })
  return view
}

// --- primitives -------------------------------------------------------------

for (const value of [true, false, null, undefined, 1n, Symbol('a'), Symbol.iterator]) {
  add(`${typeof value} ${String(value)}`, () => value)
}

for (const number of [
  0, -0, 1, -1, 0.5, NaN, Infinity, -Infinity, 127, 128, 2 ** 30 - 1, 2 ** 30, -(2 ** 30) - 1,
  2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53),
  1e21, 1e-7, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1 + 0.2
]) {
  const title = Object.is(number, -0) ? '-0' : String(number)
  add(`number ${title}`, () => number)
  add(`number ${title} inside`, () => ({ number, list: [number] }))
}

addAll('string', {
  empty: () => '',
  short: () => 'hello',
  'Latin-1': () => 'gr\u00fc\u00dfe',
  'two-byte': () => '\u20ac 100',
  'surrogate pair': () => 'a\u{1f600}b',
  'lone high surrogate': () => 'a\ud83d',
  'lone low surrogate': () => '\ude00a',
  'surrogates the wrong way round': () => '\ude00\ud83d',
  NUL: () => 'a\0b',
  newline: () => 'a\nb\r\nc',
  'line separators': () => 'a\u2028b\u2029c',
  quotes: () => '"a" \'b\'',
  backslashes: () => '\\a\\\\n\\u0041',
  'control characters': () => String.fromCharCode(...Array(32).keys(), 127),
  'every Latin-1 character': () => String.fromCharCode(...Array(256).keys()),
  'byte order mark': () => '\ufeffa',
  noncharacters: () => '\ufffe\uffff',
  'that looks like JSON': () => '{"cmd":"NODE_X"}',
  '100,000 one-byte characters': () => 'abcdefghij'.repeat(10_000),
  '100,000 Latin-1 characters': () => 'abcdefghi\u00ff'.repeat(10_000),
  '100,000 two-byte characters': () => 'abcdefgh\u20ac\u{1f600}'.repeat(9_091),
  rope: () => ['a', 'b\u20ac', 'c'].reduce((text, part) => text + part.repeat(50), ''),
  'slice of a two-byte string, one-byte itself': () => `\u20ac${'x'.repeat(50)}`.slice(1),
  'as key': () => ({ grüß: 1, '\u20ac': 2, '\u{1f600}': 3, '\ud800': 4, '\n"\\': 5, '': 6 })
})

// --- arrays and objects -----------------------------------------------------

function nested (depth, wrap) {
  let value = 'core'
  for (let level = 0; level < depth; level++) value = wrap(value)
  return value
}

addAll('array', {
  empty: () => [],
  integers: () => [1, 2, 3],
  doubles: () => [1.5, NaN, -0, Infinity],
  mixed: () => [1, 'a', null, true, { a: [] }],
  'undefined items': () => [undefined, 1, undefined],
  holes: () => [, 1, , 2, ,],
  'holes only': () => new Array(5),
  'sparse and long': () => {
    const array = []
    array[1000] = 'far'
    return array
  },
  'doubles with a hole': () => [0.5, , 1.5],
  'extra properties': () => Object.assign([1, 2], { name: 'a', '-1': 'b' }),
  subclass: () => new (class Row extends Array {})(1, 2, 3),
  'nested 500 deep': () => nested(500, (value) => [value]),
  frozen: () => Object.freeze([1, 2]),
  'with a getter': () => Object.defineProperty([1, 2, 3], 1, { get: () => 'got', enumerable: true }),
  'that a getter shortens': () => {
    const array = [1, 2, 3, 4]
    return Object.defineProperty(array, 0, { get: () => { array.length = 2; return 0 }, enumerable: true })
  }
})

addAll('object', {
  empty: () => ({}),
  'five keys': () => ({ id: 1, name: 'a', list: [1], on: true, none: null }),
  'undefined properties': () => ({ a: undefined, b: 1, c: [undefined] }),
  'symbol keys': () => ({ [Symbol('a')]: 1, [Symbol.toStringTag]: 'Tagged', b: 2 }),
  getter: () => ({ get a () { return 1 }, b: 2 }),
  'setter only': () => ({ set a (value) {}, b: 2 }),
  'non-enumerable': () => Object.defineProperty({ a: 1 }, 'hidden', { value: 2 }),
  inherited: () => Object.assign(Object.create({ above: 1 }), { own: 2 }),
  'null prototype': () => Object.assign(Object.create(null), { a: 1 }),
  'integer-like keys': () => ({ b: 1, 10: 2, a: 3, 2: 4, '01': 5, '-1': 6, 4294967295: 7, 1.5: 8 }),
  'own __proto__': () => JSON.parse('{"a":1,"__proto__":{"above":2},"b":{"__proto__":null}}'),
  'names of Object.prototype': () => ({ constructor: 1, toString: 2, hasOwnProperty: 3, valueOf: 4 }),
  then: () => ({ then: 1 }),
  length: () => ({ length: 3, 0: 'a' }),
  '1,000 keys': () => Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key${index}`, index])),
  'long key': () => ({ ['k'.repeat(300)]: 1 }),
  'with deleted keys': () => {
    const object = { a: 1, b: 2, c: 3 }
    delete object.b
    return object
  },
  frozen: () => Object.freeze({ a: 1 }),
  'nested 500 deep': () => nested(500, (value) => ({ value })),
  circular: () => {
    const object = { name: 'ring', list: [] }
    object.self = object
    object.list.push(object.list, object)
    return object
  },
  'shared references': () => {
    const shared = { a: 1 }
    return { first: shared, second: shared, list: [shared, [shared]] }
  },
  'BigInt inside': () => ({ list: [0n, -1n, 2n ** 63n, 2n ** 64n, -(2n ** 200n)] }),
  'undefined only': () => [undefined],
  'class instance': () => new (class Point { #secret = 1; x = 1; y = 2; get sum () { return this.x } })(),
  'function inside': () => ({ a: 1, f () {} }),
  'function in an array': () => [1, () => {}, 2],
  'class inside': () => ({ a: 1, C: class {} }),
  'symbol inside': () => ({ a: 1, s: Symbol('s') }),
  'symbol in an array': () => [Symbol.iterator],
  arguments: () => (function () { return arguments })(1, 'two'),
  'getter that throws': () => ({ a: 1, get b () { throw new RangeError('from a getter') } }),
  'getter that throws a string': () => ({ get a () { throw 'a string' } }), // eslint-disable-line no-throw-literal
  'getter that throws undefined': () => ({ get a () { throw undefined } }), // eslint-disable-line no-throw-literal
  'getter that throws an error with a code': () => ({
    get a () { throw Object.assign(new TypeError('coded'), { code: 'ECODE', extra: 1 }) }
  }),
  'getter that deletes a later key': () => ({ get a () { delete this.b; return 1 }, b: 2, c: 3 }),
  'getter that adds a key': () => ({ get a () { this.z = 26; return 1 }, b: 2 }),
  'getter that gives new objects': () => ({ get a () { return { made: [] } } })
})

for (const cmd of [1, null, true, '', 'x', 'NODE', 'NODE_', 'node_x', 'xNODE_', ['NODE_A'], { a: 1 }]) {
  add(`object: cmd ${JSON.stringify(cmd)}`, () => ({ cmd, a: 1 }))
}
add('array: cmd beside the items', () => Object.assign([1], { cmd: 'NODE' }))

addAll('toJSON', {
  'that gives a string': () => ({ toJSON: () => 'from toJSON' }),
  'that gives an object': () => ({ toJSON: () => ({ a: 1 }) }),
  'that gives null': () => ({ toJSON: () => null }),
  'that gets its key': () => ({ inner: { toJSON: (key) => `key ${key}` }, toJSON: undefined }),
  'at the top gets its key': () => ({ toJSON: (...args) => args }),
  inherited: () => new (class Money { amount = 5; toJSON () { return `${this.amount} EUR` } })(),
  'that is no function': () => ({ toJSON: 'no', a: 1 }),
  'that throws': () => ({ toJSON () { throw new SyntaxError('from toJSON') } }),
  'that gives undefined, inside': () => ({ a: { toJSON () {} }, list: [{ toJSON () {} }] }),
  'of a Date, overridden': () => Object.assign(new Date(0), { toJSON: 'none' })
})

// --- what V8 knows ----------------------------------------------------------

addAll('Date', {
  'the epoch': () => new Date(0),
  'before the epoch': () => new Date(-1.5e12),
  invalid: () => new Date(NaN),
  inside: () => ({ at: new Date(1e12), list: [new Date(1)] }),
  'with properties': () => Object.assign(new Date(1), { a: 1 }),
  subclass: () => new (class Day extends Date {})(5)
})

addAll('RegExp', {
  plain: () => /a+/,
  flags: () => /a/dgimsuy,
  'flag v': () => new RegExp('[a--b]', 'v'), // eslint-disable-line prefer-regex-literals
  slash: () => /[/]\//,
  'two-byte': () => /\u20ac\n/u,
  lastIndex: () => {
    const regexp = /a/g
    regexp.test('aaa')
    return regexp
  },
  inside: () => ({ pattern: /x/y })
})

addAll('Map', {
  empty: () => new Map(),
  entries: () => new Map([['a', 1], [1, 'a'], [null, undefined], [NaN, -0]]),
  'objects as keys': () => {
    const key = { a: 1 }
    return new Map([[key, [key]], [new Map([[1, 2]]), new Set([3])]])
  },
  'with itself': () => {
    const map = new Map()
    return map.set('self', map).set(map, 'self')
  },
  'with properties': () => Object.assign(new Map([[1, 2]]), { a: 1 }),
  subclass: () => new (class Table extends Map {})([[1, 2]]),
  'with a function': () => new Map([['f', () => {}]])
})

addAll('Set', {
  empty: () => new Set(),
  items: () => new Set([1, '1', null, undefined, NaN, [1]]),
  'with itself': () => {
    const set = new Set()
    return set.add(set)
  },
  'with properties': () => Object.assign(new Set([1]), { a: 1 })
})

addAll('boxed', {
  number: () => new Number(-0),
  string: () => new String('a\u20ac'),
  boolean: () => [new Boolean(true), new Boolean(false)],
  bigint: () => [Object(1n)],
  symbol: () => [Object(Symbol('a'))],
  'with properties': () => Object.assign(new Number(1), { a: 1 }),
  'at the top': () => Object('text')
})

// --- bytes ------------------------------------------------------------------

addAll('ArrayBuffer', {
  empty: () => new ArrayBuffer(0),
  bytes: () => bytes(10).buffer,
  '70,000 bytes': () => bytes(70_000).buffer,
  resizable: () => {
    const buffer = new ArrayBuffer(8, { maxByteLength: 64 })
    new Uint8Array(buffer).set(bytes(8))
    return buffer
  },
  'resizable, and a view of it': () => {
    const buffer = new ArrayBuffer(8, { maxByteLength: 64 })
    return { buffer, view: new Uint8Array(buffer) }
  },
  detached: () => detached(new Uint8Array(8)).buffer,
  twice: () => {
    const { buffer } = bytes(4)
    return [buffer, buffer]
  },
  'with properties': () => Object.assign(new ArrayBuffer(1), { a: 1 })
})

const VIEWS = [
  'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array',
  'Uint32Array', 'Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array',
  'DataView'
].filter((name) => globalThis[name])

for (const name of VIEWS) {
  const View = globalThis[name]
  addAll(name, {
    whole: () => new View(bytes(24).buffer),
    empty: () => new View(new ArrayBuffer(0)),
    'with an offset': () => new View(bytes(40).buffer, 8, 2),
    'longer than a page': () => new View(bytes(8192).buffer),
    'after an odd number of bytes': () => ['abc', new View(bytes(16).buffer), 'de', new View(bytes(8).buffer)],
    'over shared memory': () => {
      const shared = new SharedArrayBuffer(16)
      new Uint8Array(shared).set(bytes(16))
      return new View(shared)
    }
  })
}

addAll('view', {
  'at an odd offset': () => [bytes(16).subarray(3, 8), new DataView(bytes(16).buffer, 5, 7)],
  'that tracks a length': () => {
    const buffer = new ArrayBuffer(8, { maxByteLength: 16 })
    const view = new Uint8Array(buffer, 2)
    buffer.resize(12)
    return view
  },
  'out of bounds': () => {
    const buffer = new ArrayBuffer(8, { maxByteLength: 16 })
    const view = new Uint8Array(buffer, 4, 4)
    buffer.resize(2)
    return view
  },
  'DataView out of bounds': () => {
    const buffer = new ArrayBuffer(8, { maxByteLength: 16 })
    const view = new DataView(buffer, 4)
    buffer.resize(2)
    return view
  },
  detached: () => detached(new Uint8Array(8)),
  'DataView detached': () => detached(new DataView(new ArrayBuffer(8))),
  'over growable shared memory': () => new Uint8Array(new SharedArrayBuffer(4, { maxByteLength: 8 })),
  twice: () => {
    const view = bytes(4)
    return [view, view]
  },
  'two of one buffer': () => {
    const { buffer } = bytes(16)
    return { buffer, first: new Uint8Array(buffer, 0, 8), second: new Uint16Array(buffer, 4, 4) }
  },
  'with properties': () => Object.assign(bytes(2), { a: 1 }),
  subclass: () => new (class Pixels extends Uint8Array {})(4),
  'with another toStringTag': () => Object.defineProperty(bytes(4), Symbol.toStringTag, { value: 'Int16Array' }),
  'with an unknown toStringTag': () => Object.defineProperty(bytes(4), Symbol.toStringTag, { value: 'Nothing' }),
  'whose constructor is Buffer': () => Object.defineProperty(new Uint16Array(2), 'constructor', { value: Buffer }),
  'whose constructor is gone': () => Object.defineProperty(bytes(4), 'constructor', { value: undefined }),
  'whose constructor throws': () => Object.defineProperty(bytes(4), 'constructor', {
    get () { throw new EvalError('from constructor') }
  }),
  'whose constructor shrinks it': () => {
    const buffer = new ArrayBuffer(100_000, { maxByteLength: 200_000 })
    return Object.defineProperty(new Uint8Array(buffer), 'constructor', {
      get () {
        buffer.resize(5)
        return Buffer
      }
    })
  },
  'whose constructor detaches it': () => {
    const view = new Uint8Array(100_000)
    return Object.defineProperty(view, 'constructor', {
      get () {
        if (view.buffer.byteLength > 0) detached(view)
        return Buffer
      }
    })
  },
  'whose toStringTag detaches it': () => {
    const view = new Uint8Array(100_000)
    return Object.defineProperty(view, Symbol.toStringTag, {
      get () {
        if (view.buffer.byteLength > 0) detached(view)
        return 'Uint8Array'
      }
    })
  },
  'without a prototype': () => Object.setPrototypeOf(bytes(4), null)
})

addAll('Buffer', {
  empty: () => Buffer.alloc(0),
  text: () => Buffer.from('hello'),
  'pooled slices': () => [Buffer.from('one'), Buffer.from('two'), Buffer.from('three').subarray(1, 4)],
  unpooled: () => Buffer.alloc(100, 'ab'),
  '64 bytes': () => Buffer.from(bytes(64)),
  '65 bytes': () => Buffer.from(bytes(65)),
  '100,000 bytes': () => Buffer.from(bytes(100_000)),
  'inside an object': () => ({ a: Buffer.from('x'), b: [Buffer.from('y')] }),
  'with properties': () => Object.assign(Buffer.from('a'), { a: 1 }),
  'over shared memory': () => Buffer.from(new SharedArrayBuffer(4)),
  subclass: () => Object.setPrototypeOf(Buffer.from('a'), (class Own extends Buffer {}).prototype)
})

addAll('SharedArrayBuffer', {
  'at the top': () => new SharedArrayBuffer(8),
  inside: () => ({ a: new SharedArrayBuffer(8) })
})

// --- errors -----------------------------------------------------------------

for (const name of ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError']) {
  add(`error: ${name}`, withShortStack(() => new globalThis[name]('what went wrong')))
}

const errors = {
  'without a message': () => new Error(),
  inside: () => ({ error: new TypeError('inside'), list: [new Error('listed')] }),
  'with a cause': () => new Error('outer', { cause: new RangeError('inner', { cause: 'text' }) }),
  'with an undefined cause': () => new Error('outer', { cause: undefined }),
  'that is its own cause': () => {
    const error = new Error('loop')
    error.cause = error
    return error
  },
  AggregateError: () => new AggregateError([new Error('one'), 'two'], 'many'),
  DOMException: () => new DOMException('aborted', 'AbortError'),
  'with a code': () => Object.assign(new Error('coded'), { code: 'ECODE', errno: -2 }),
  'with another name': () => Object.assign(new Error('renamed'), { name: 'OwnError' }),
  'with the name of another kind': () => Object.assign(new Error('renamed'), { name: 'TypeError' }),
  'with a message that is no string': () => Object.assign(new Error(), { message: { a: 1 } }),
  'with an enumerable message': () => Object.assign(new Error('a'), { message: 'b' }),
  'with a stack that is no string': () => Object.assign(new Error('a'), { stack: 5 }),
  'without a stack': () => {
    const error = new Error('a')
    delete error.stack
    return error
  },
  subclass: () => new (class OwnError extends TypeError { extra = 1 })('own'),
  'of the system': () => {
    try {
      fs.readFileSync('/nonexistent/file')
    } catch (error) {
      return error
    }
  },
  'of Node': () => {
    try {
      Buffer.alloc('x')
    } catch (error) {
      return error
    }
  },
  'from another realm': () => vm.runInNewContext('Error.stackTraceLimit = 0; new Error("elsewhere")'),
  'whose stack throws': () => Object.defineProperty(new Error('a'), 'stack', { get () { throw new Error('stack') } }),
  'whose message throws': () => Object.defineProperty(new Error('a'), 'message', { get () { throw new Error('message') } })
}
for (const [title, make] of Object.entries(errors)) add(`error: ${title}`, withShortStack(make))

// --- what is not data -------------------------------------------------------

addAll('not data', {
  function: () => function named () {},
  'arrow function': () => () => {},
  'async function': () => async () => {},
  class: () => class Named {},
  Promise: () => Promise.resolve(1),
  'Promise inside': () => ({ a: Promise.resolve(1) }),
  'Proxy of an object': () => new Proxy({ a: 1 }, {}),
  'Proxy of an array': () => new Proxy([1, 2], {}),
  'Proxy inside': () => ({ a: new Proxy({ a: 1 }, {}) }),
  'Proxy whose traps throw': () => new Proxy({ a: 1 }, { ownKeys () { throw new Error('trap') } }),
  'revoked Proxy inside': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return { proxy }
  },
  WeakMap: () => new WeakMap(),
  WeakSet: () => ({ a: new WeakSet() }),
  WeakRef: () => new WeakRef({}),
  FinalizationRegistry: () => new FinalizationRegistry(() => {}),
  'Intl.NumberFormat': () => new Intl.NumberFormat('en'),
  'Intl.DateTimeFormat': () => ({ a: new Intl.DateTimeFormat('en') }),
  'Intl.Locale': () => new Intl.Locale('de-AT'),
  'Intl.Segmenter': () => [new Intl.Segmenter('en')],
  generator: () => (function * () { yield 1 })(),
  iterator: () => [1, 2][Symbol.iterator](),
  'Map iterator': () => new Map([[1, 2]]).entries(),
  Math: () => Math,
  JSON: () => ({ JSON }),
  'WebAssembly.Module': () => new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)),
  'WebAssembly.Memory': () => new WebAssembly.Memory({ initial: 1 }),
  'object of another realm': () => vm.runInNewContext('({ a: [1], d: new Date(0), m: new Map([[1, 2]]) })'),
  'view of another realm': () => vm.runInNewContext('new Uint8Array([1, 2, 3])')
})

// --- objects of Node, native ones among them --------------------------------

addAll('of Node', {
  URL: () => new URL('https://user@host:1/path?a=1#b'),
  URLSearchParams: () => new URLSearchParams('a=1&b=2'),
  Blob: () => new Blob(['abc']),
  File: () => new File(['abc'], 'a.txt', { lastModified: 0 }),
  AbortSignal: () => new AbortController().signal,
  'aborted AbortSignal': () => AbortSignal.abort('why'),
  AbortController: () => new AbortController(),
  EventTarget: () => ({ target: new EventTarget() }),
  Headers: () => new Headers({ a: '1' }),
  TextEncoder: () => new TextEncoder(),
  ReadableStream: () => ({ a: new ReadableStream() }),
  EventEmitter: () => new EventEmitter(),
  KeyObject: () => crypto.createSecretKey(Buffer.from('secret')),
  'public KeyObject': () => crypto.createPublicKey(
    '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n'),
  Hash: () => crypto.createHash('sha1'),
  BlockList: () => new net.BlockList(),
  'vm.Script': () => ({ script: new vm.Script('1') }),
  'v8.Serializer': () => new v8.Serializer(),
  'v8.Serializer inside, with properties': () => [Object.assign(new v8.Serializer(), { a: [1], b: 'c' })],
  'v8.Serializer with a method': () => Object.assign(new v8.Serializer(), { a () {} }),
  'v8.Serializer with a getter that throws': () => Object.defineProperty(new v8.Serializer(), 'a', {
    get () { throw new TypeError('host getter') }, enumerable: true
  }),
  'v8.Serializer twice': () => {
    const native = new v8.Serializer()
    return [native, native]
  },
  'v8.Serializer with itself': () => {
    const native = new v8.Serializer()
    native.self = native
    return native
  },
  'fs.Stats': () => Object.assign(Object.create(Object.getPrototypeOf(fs.statSync('.'))), { size: 1 }),
  Histogram: () => createHistogram(),
  TextDecoder: () => new TextDecoder(),
  'util.MIMEType': () => new util.MIMEType('text/plain')
})

add('of Node: MessagePort', () => new MessageChannel().port1, (port) => port.close())
add('of Node: MessagePort inside', () => ({ port: new MessageChannel().port1, a: 1 }), ({ port }) => port.close())
add('of Node: fs.Dir', () => fs.opendirSync('.'), (dir) => dir.closeSync())
add('of Node: fs.Dir inside', () => [fs.opendirSync('.')], ([dir]) => dir.closeSync())

/** @returns {{title: string, make: () => any, dispose?: (value: any) => void}} */
function find (title) {
  return catalogue.get(title)
}

/**
 * Sends every message that can be sent.
 * @param {{send: (message: any) => boolean}} target
 * @returns {string[]} the titles of those that were not refused
 */
function sendCatalogue (target) {
  const titles = []
  for (const { title, make, dispose } of catalogue.values()) {
    const value = make()
    try {
      target.send(value)
      titles.push(title)
    } catch {
      // The caller sees it from the missing title.
    } finally {
      dispose?.(value)
    }
  }
  return titles
}

// Node writes these, but then cannot read what it wrote, and dies of it.
const UNREADABLE = ['not data: WebAssembly.Module', 'of Node: v8.Serializer with itself']
if (process.versions.node.startsWith('20.')) UNREADABLE.push('error: that is its own cause')

const messages = [...catalogue.values()].filter(({ title }) => !UNREADABLE.includes(title))

module.exports = { find, messages, sendCatalogue }
