'use strict'

// What bounds forklane? The same messages without a channel, or over another
// one, on the same machine and in the same rounds:
//
// messages: a codec alone, which serializes and deserializes each message in one
// process (fixtures/trial-codec.js); copying as many bytes (trial-copy.js); a
// worker thread that posts them (trial-worker.js); and the flood of read-ipc.js,
// by stock and by forklane.
//
// wake: a round trip between two C programs that block in eventfd or in a socket
// pair, or that spin on shared memory (fixtures/ping-pong.c); and the echo of a
// short string, by stock and by forklane, as in roundtrip.js.
//
// Linux only, and needs a C compiler: `cc`, or what CC names.

const {
  cpuColumn, latencyColumn, megabytesColumn, messageColumns, rateColumn, ratioColumn
} = require('./helpers/columns.js')
const { compile } = require('./helpers/compile.js')
const { main } = require('./helpers/driver.js')
const { messageRows } = require('./helpers/messages.js')
const { DEFAULT_LANE, LANE_OPTION, oneOrMoreOf } = require('./helpers/options.js')
const { fixture, stockAndForklane, withoutSpin } = require('./helpers/variants.js')

const KINDS = ['string', 'payload', 'object', 'objects']
const TABLES = ['messages', 'wake']
const SHORT = 10

const BOUNDS = ['codec', 'copy', 'worker'].map((name) => ({
  name, program: fixture(`trial-${name}.js`)
}))

const pingPong = (name, mechanism) => ({
  name, mechanism, program: fixture('trial-ping-pong.js')
})
const PING_PONGS = [
  pingPong('C, spinning on shared memory', 'shared'),
  pingPong('C, blocking on eventfd', 'eventfd'),
  pingPong('C, blocking on socketpair', 'socketpair')
]

const FLOOD = stockAndForklane('trial-flood.js')
const ECHO = [...stockAndForklane('trial-echo.js'), withoutSpin('trial-echo.js')]

const when = (condition, list) => condition ? list : []

function messagesTable (isWithForklane) {
  return {
    name: 'messages',
    heading: 'Messages per second',
    notes: [
      'codec: JSON.stringify() and JSON.parse(), or v8.serialize() and v8.deserialize(), ' +
        'one after the other in one process, nothing sent',
      ...when(isWithForklane, [
        'forklane / codec: above 1 where two processes share that work, or where forklane ' +
          'sends without it'
      ]),
      'copy: Buffer.copy() of as many bytes, between the same two buffers',
      'worker: a worker thread posts them, as in the flood, but 1024 or 16 MiB under way at most'
    ],
    comparisons: when(isWithForklane, [
      { key: 'ratio', baseline: 'stock', candidate: 'forklane', of: 'rate' },
      { key: 'shareOfCodec', baseline: 'codec', candidate: 'forklane', of: 'rate' },
      { key: 'shareOfWorker', baseline: 'worker', candidate: 'forklane', of: 'rate' }
    ]),
    columns: [
      ...messageColumns,
      rateColumn('codec'),
      rateColumn('worker'),
      ...when(isWithForklane, [
        rateColumn('stock'),
        rateColumn('forklane'),
        ratioColumn('shareOfCodec', 'forklane / codec', 'codec'),
        ratioColumn('shareOfWorker', 'forklane / worker', 'worker')
      ]),
      megabytesColumn('copy'),
      megabytesColumn('codec'),
      megabytesColumn('worker'),
      ...when(isWithForklane, [megabytesColumn('stock'), megabytesColumn('forklane')]),
      cpuColumn('copy'),
      cpuColumn('codec'),
      cpuColumn('worker'),
      ...when(isWithForklane, [cpuColumn('stock'), cpuColumn('forklane')])
    ]
  }
}

function wakeTable (isWithForklane) {
  const variants = [...PING_PONGS, ...when(isWithForklane, ECHO)].map(({ name }) => name)
  return {
    name: 'wake',
    heading: 'Round trips with one message in flight',
    notes: [
      'C: two programs that send a number of 8 bytes back and forth',
      ...when(isWithForklane, [
        `stock, forklane: a string of ${SHORT}; without spin: FORKLANE_SPIN=0 in both processes`,
        'the last column: how many times shorter the p50 is than that of forklane'
      ])
    ],
    comparisons: when(isWithForklane, variants.map((name) => (
      { key: `${name} to forklane`, baseline: 'forklane', candidate: name, of: 'p50' }
    ))),
    // A line for each variant, so that they stand below each other.
    lines: (summary) => variants.map((name) => (
      { name, variant: summary[name], ratio: summary[`${name} to forklane`] }
    )),
    columns: [
      { name: 'between two processes', isLeft: true, format: ({ name }) => name },
      latencyColumn('variant', 'p50', 'p50 us'),
      latencyColumn('variant', 'p99', 'p99 us'),
      cpuColumn('variant', 'trip', 'CPU us/trip'),
      ...when(isWithForklane, [ratioColumn('ratio', 'forklane by it (min..max)')])
    ]
  }
}

let program

main({
  name: 'limits',
  question: 'what the codecs, memory, threads and the waking of a process allow',
  hasMemoryLimit: true,
  defaults: {
    table: TABLES.join(),
    kind: 'string,payload,objects',
    len: '64,1024,4096,65536,1048576,16777216',
    serialization: 'json,advanced',
    dur: '0.3',
    rounds: '5',
    lane: DEFAULT_LANE,
    quick: { len: '64,4096,1048576', dur: '0.2', rounds: '3' }
  },
  options: {
    table: { type: 'string', value: 'TABLES', help: 'messages,wake or one of them' },
    kind: { type: 'string', value: 'KINDS', help: `some of ${KINDS}` },
    lane: LANE_OPTION,
    'with-forklane': { type: 'boolean', help: 'with stock and forklane (so it is by default)' },
    'no-with-forklane': { type: 'boolean', help: 'the bounds alone' }
  },

  prepare (options) {
    options.table = oneOrMoreOf('table', options.table, TABLES)
    options.kind = oneOrMoreOf('kind', options.kind, KINDS)
    options.isWithForklane = !options['no-with-forklane']
    if (options.table.includes('wake')) program = compile('ping-pong')
  },

  tables: ({ isWithForklane }) => [messagesTable(isWithForklane), wakeTable(isWithForklane)],

  cases ({ table, kind, len, serialization, isWithForklane }) {
    const messages = serialization.flatMap((mode) => messageRows(kind, len).map((row) => ({
      ...row,
      table: 'messages',
      serialization: mode,
      variants: [...BOUNDS, ...when(isWithForklane, FLOOD)]
    })))
    const wake = messageRows(['string'], [SHORT]).map((row) => ({
      ...row,
      table: 'wake',
      serialization: serialization[0],
      inFlight: 1,
      pingPong: program,
      variants: [...PING_PONGS, ...when(isWithForklane, ECHO)]
    }))
    return [...when(table.includes('messages'), messages), ...when(table.includes('wake'), wake)]
  }
})
