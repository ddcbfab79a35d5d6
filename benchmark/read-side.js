'use strict'

// How many messages can a parent read, when the other side is no bottleneck?
//
// The child is a C program that writes one ready-made frame in Node's wire
// format over and over, many at once (fixtures/producer.c), so the time is
// spent in the parent: in finding the messages, making values of them and
// emitting them. The parent is stock Node, or forklane. The child is not ours in
// either case, so forklane is on its pipe lane.
//
// Needs a C compiler: `cc`, or what CC names.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { BenchmarkError, main, oneOrMoreOf } = require('./helpers/driver.js')
const { makeFrame, makeMessage } = require('./helpers/messages.js')

const SOURCE = path.join(__dirname, 'fixtures', 'producer.c')

let directory

function makeDirectory () {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-read-side-'))
  process.on('exit', () => fs.rmSync(directory, { recursive: true, force: true }))
}

function compile () {
  const compiler = process.env.CC || 'cc'
  const program = path.join(directory, 'producer')
  const { error, status, stderr } = spawnSync(
    compiler, ['-O2', '-Wall', '-Wextra', '-o', program, SOURCE], { encoding: 'utf8' })
  if (error) throw new BenchmarkError(`Cannot run the C compiler '${compiler}': ${error.message}`)
  if (status !== 0) throw new BenchmarkError(`The producer does not compile:\n${stderr}`.trimEnd())
  return program
}

function writeFrame (name, message, serialization) {
  const file = path.join(directory, name)
  fs.writeFileSync(file, makeFrame(makeMessage(message), serialization))
  return file
}

let producer

main({
  name: 'read-side',
  question: 'messages per second that a parent reads from a C program that writes ready-made frames',
  defaults: {
    kind: 'string,object',
    len: '64,1024,65536,1048576',
    serialization: 'json,advanced',
    dur: '0.3',
    rounds: '5',
    lane: 'pipe',
    quick: { len: '64,65536', dur: '0.2', rounds: '3' }
  },
  options: {
    kind: { type: 'string', value: 'KINDS', help: 'string,object or one of them' }
  },

  prepare (options) {
    options.kind = oneOrMoreOf('kind', options.kind, ['string', 'object'])
    makeDirectory()
    producer = compile()
  },

  cases ({ kind, len, serialization, quoted = false }) {
    const messages = kind.flatMap((name) => name === 'object'
      ? [{ title: 'small object', message: { kind: name } }]
      : len.map((length) => ({
        title: `${quoted ? 'quoted string' : 'string'} of ${length}`,
        message: { kind: name, len: length, quoted }
      })))
    return serialization.flatMap((mode) => messages.map(({ title, message }, i) => ({
      title,
      serialization: mode,
      message,
      producer,
      frame: writeFrame(`${mode}-${i}`, message, mode)
    })))
  }
})
