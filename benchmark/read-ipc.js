'use strict'

// How many messages does a parent get from a child that sends as fast as it can?
//
// The project's version of Node's benchmark child-process-read-ipc: the child
// sends one string of `len` dots until send() returns false, then again in the
// next turn of the event loop (fixtures/flood.js); the parent counts what
// arrives (fixtures/trial-flood.js; helpers/counter.js says what is counted).
// Both ends are stock Node, or both are forklane. The small objects are 64
// different ones (helpers/small-objects.js), sent in turn.
//
// A sender that outruns its channel with large messages queues them without
// bound, since send() accepts them also when it returns false. So each sender,
// stock or forklane, is stopped when its process has grown by 2 GiB (or a
// quarter of the machine's memory); its trial ends at that moment, with the
// whole messages that had arrived until then, and the output says so. Where
// stock delivers nothing, the ratio is a lower bound: '> N' compares with one
// message in the time that stock had.
//
// --quoted is the older form of the benchmark: the message is the JSON text of
// the string, so it begins and ends with a quote that JSON has to escape.

const { main } = require('./helpers/driver.js')
const { messageRows } = require('./helpers/messages.js')
const { DEFAULT_LANE, LANE_OPTION, QUOTED_OPTION, oneOrMoreOf } = require('./helpers/options.js')
const { floodTable } = require('./helpers/tables.js')
const { stockAndForklane } = require('./helpers/variants.js')

main({
  name: 'read-ipc',
  question: 'messages per second from a child that sends as fast as send() lets it',
  hasMemoryLimit: true,
  defaults: {
    kind: 'string,objects',
    len: '64,256,1024,4096,16384,65536,1048576,16777216',
    serialization: 'json,advanced',
    dur: '0.3',
    rounds: '5',
    lane: DEFAULT_LANE,
    quick: { len: '64,4096,65536,1048576', dur: '0.2', rounds: '3' }
  },
  options: {
    kind: { type: 'string', value: 'KINDS', help: 'some of string,payload,object,objects' },
    quoted: QUOTED_OPTION,
    lane: LANE_OPTION
  },

  prepare (options) {
    options.kind = oneOrMoreOf('kind', options.kind, ['string', 'payload', 'object', 'objects'])
  },

  tables: () => [floodTable],

  cases ({ kind, len, serialization, quoted }) {
    return serialization.flatMap((mode) => messageRows(kind, len, quoted).map((row) => ({
      ...row,
      table: floodTable.name,
      serialization: mode,
      variants: stockAndForklane('trial-flood.js')
    })))
  }
})
