'use strict'

// Peers that attach to a ring as they should and then do harm: what they do is
// a script for test/fixtures/hostile-peer.c.

const assert = require('node:assert')
const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { outcome, tracked } = require('./children.js')
const { END } = require('./events.js')
const { inTime } = require('./inbox.js')
const { PARENTS, fixture, preload } = require('./parties.js')

/** The numbers of record kinds, by the names in PROTOCOL.md. */
const KIND = {
  LATIN1: 1,
  UTF16: 2,
  JSON_LATIN1: 3,
  JSON_UTF16: 4,
  V8: 5,
  INT32: 6,
  DOUBLE: 7,
  CONSTANT: 8,
  BEGIN: 16,
  PART: 17,
  HELLO: 32,
  SWITCH: 33
}

const IMMEDIATE = 1
const VERSION = 1
const CHILDREN_ABREAST = 3

/** Where hostile-peer.c has the descriptors of a child. */
const DESCRIPTORS = { version: VERSION, segment: 4, poll: 5, signal: 6 }

/**
 * A record as it stands in the ring.
 * @param {number} kind
 * @param {Buffer | string} payload
 * @param {{word?: number, flags?: number, reserved?: number}} [header] what is
 *   not as it should be
 */
function record (kind, payload, { word, flags = 0, reserved = 0 } = {}) {
  const bytes = Buffer.from(payload)
  const record = Buffer.alloc(8 + Math.ceil(bytes.length / 8) * 8)
  record.writeUInt32LE(word ?? bytes.length, 0)
  record[4] = kind
  record[5] = flags
  record.writeUInt16LE(reserved, 6)
  bytes.copy(record, 8)
  return record
}

function immediate (kind, word) {
  return record(kind, '', { word, flags: IMMEDIATE })
}

/** A BEGIN record: `total` bytes of a value of that kind are to come. */
function begin (kind, total) {
  const payload = Buffer.alloc(16)
  payload.writeBigUInt64LE(BigInt(total), 0)
  payload[8] = kind
  return record(KIND.BEGIN, payload)
}

/** The command that publishes records. */
function put (...records) {
  return `put:${Buffer.concat(records).toString('hex')}`
}

/** The command that writes to the socket. */
function onSocket (bytes) {
  return `socket:${bytes.toString('hex')}`
}

const hello = put(immediate(KIND.HELLO, VERSION))
const first = put(record(KIND.LATIN1, 'before'))
const last = put(record(KIND.LATIN1, END))

let directory
let peer

/** The path of the compiled peer, for this file's tests. */
function compilePeer () {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-'))
  peer = path.join(directory, 'hostile-peer')
  execFileSync('cc', [
    '-std=c11', '-D_GNU_SOURCE', '-O1', '-pthread', '-o', peer, fixture('hostile-peer.c')
  ], { env: unsanitized() })
}

function removePeer () {
  fs.rmSync(directory, { recursive: true, force: true })
}

// What a program needs that has nothing to do with an instrumented addon.
function unsanitized () {
  const { LD_PRELOAD, ...env } = process.env
  return env
}

async function printed (child, input) {
  child.stdin.end(JSON.stringify(input))
  const { code, signal, stdout, stderr } = await inTime(outcome(tracked(child)), 'end', 60_000)
  assert.strictEqual(stderr, '')
  return { results: JSON.parse(stdout), code: code ?? signal }
}

/**
 * @typedef {object} Case
 * @property {'json' | 'advanced'} serialization
 * @property {string[]} script
 * @property {string} [reaction] to the first message, as in hostile-victim.js
 * @property {boolean} [brief] every entry of the log is there once, and 'message'
 *   stands for all messages
 */

/**
 * Runs cases with the victim as the parent of the peers, all in one process.
 * @param {Case[]} cases
 * @param {object} [env] the victim's
 * @returns {Promise<Array<{log: any[], code: number | string}>>} the logs of the
 *   victim, and how the peers ended
 */
async function attackParent (cases, env) {
  const child = PARENTS.stock.spawn(process.execPath, [
    fixture('hostile-victim.js'), 'parent', peer
  ], { env: { ...process.env, ...env } })
  const { results, code } = await printed(child, {
    cases, unsanitized: { ...unsanitized(), ...env }
  })
  assert.strictEqual(code, 0)
  return results
}

async function attackChild (one, { env, ringSize = 2 ** 21, index = 0 }) {
  const added = `--require "${preload}"`
  const { results: [result], code } = await printed(PARENTS.stock.spawn(peer, [
    'parent', ringSize, index, process.execPath, fixture('hostile-victim.js'), ...one.script
  ], {
    env: {
      ...process.env,
      ...env,
      NODE_CHANNEL_FD: 3,
      NODE_CHANNEL_SERIALIZATION_MODE: one.serialization,
      NODE_OPTIONS: added,
      FORKLANE_CHANNEL: JSON.stringify({ added, isNew: true, ring: DESCRIPTORS })
    }
  }), { cases: [one] })
  // The peer ends as the victim does, if it lives.
  return { ...result, code }
}

/**
 * The same with the victim as the child of a peer, one process each.
 * @param {Case[]} cases
 * @param {{env?: object, ringSize?: number, index?: number | bigint}} [options]
 *   `index`: where the indices of both rings begin
 * @returns {Promise<Array<{log: any[], code: number | string, receive: string}>>}
 *   `receive` as of lane()
 */
async function attackChildren (cases, options = {}) {
  const results = []
  let next = 0
  const work = async () => {
    while (next < cases.length) {
      const number = next++
      results[number] = await attackChild(cases[number], options)
    }
  }
  await Promise.all(Array.from({ length: CHILDREN_ABREAST }, work))
  return results
}

const ATTACKS = { parent: attackParent, child: (cases, env) => attackChildren(cases, { env }) }

module.exports = {
  ATTACKS,
  KIND,
  attackChildren,
  attackParent,
  begin,
  compilePeer,
  first,
  hello,
  immediate,
  last,
  onSocket,
  put,
  record,
  removePeer
}
