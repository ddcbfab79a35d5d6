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

const fs = require('node:fs')
const { compile } = require('./helpers/compile.js')
const { main } = require('./helpers/driver.js')
const { makeFrame, makeMessages, messageRows } = require('./helpers/messages.js')
const { QUOTED_OPTION, oneOrMoreOf } = require('./helpers/options.js')
const { floodTable } = require('./helpers/tables.js')
const { temporaryFile } = require('./helpers/temporary.js')
const { stockAndForklane } = require('./helpers/variants.js')

function writeFrames (name, message, serialization) {
  const file = temporaryFile(name)
  const frames = makeMessages(message).map((each) => makeFrame(each, serialization))
  fs.writeFileSync(file, Buffer.concat(frames))
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
    lane: 'pipe', // the child is not forklane
    quick: { len: '64,65536', dur: '0.2', rounds: '3' }
  },
  options: {
    kind: { type: 'string', value: 'KINDS', help: 'some of string,payload,object,objects' },
    quoted: QUOTED_OPTION
  },

  prepare (options) {
    options.kind = oneOrMoreOf('kind', options.kind, ['string', 'payload', 'object', 'objects'])
    producer = compile('producer')
  },

  tables: () => [floodTable],

  cases ({ kind, len, serialization, quoted }) {
    return serialization.flatMap((mode) => messageRows(kind, len, quoted).map((row, i) => ({
      ...row,
      table: floodTable.name,
      serialization: mode,
      variants: stockAndForklane('trial-flood.js'),
      producer,
      frame: writeFrames(`${mode}-${i}`, row.message, mode)
    })))
  }
})
