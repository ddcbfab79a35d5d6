'use strict'

// How many round trips a second, and how long does one take?
//
// windowed: 256 messages `{ payload: '.'.repeat(len) }` are in flight; the child
// sends each one back, and the parent sends the next for each that arrives, as
// in Node's own benchmark of round trips. What counts is throughput.
//
// latency: one message is in flight at a time. The parent records for each how
// long it was away, from before send() until its listener is called; what counts
// is the median, and what the slowest hundredth takes at least. The third
// variant is forklane with FORKLANE_SPIN=0 in the environment of both processes:
// what remains where a reader goes to sleep at once.
//
// Both ends are stock Node, or both are forklane (fixtures/trial-echo.js,
// fixtures/echo.js).

const {
  cpuColumn, latencyColumn, messageColumns, ratioColumn
} = require('./helpers/columns.js')
const { main } = require('./helpers/driver.js')
const { messageRows } = require('./helpers/messages.js')
const { DEFAULT_LANE, LANE_OPTION, oneOrMoreOf } = require('./helpers/options.js')
const { rateTable } = require('./helpers/tables.js')
const { stockAndForklane, withoutSpin } = require('./helpers/variants.js')

const IN_FLIGHT = 256
const SHORT = 10
const TRIP = 'trip'

const PROGRAM = 'trial-echo.js'
const WITHOUT_SPIN = withoutSpin(PROGRAM)

const windowed = rateTable('windowed', TRIP, {
  heading: `Round trips with ${IN_FLIGHT} messages in flight`
})

const latency = {
  name: 'latency',
  heading: 'Round trips with one message in flight',
  notes: [
    `${WITHOUT_SPIN.name}: FORKLANE_SPIN=0 in both processes`,
    'the ratios are of p50, stock by forklane'
  ],
  comparisons: [
    { key: 'ratio', baseline: 'stock', candidate: 'forklane', of: 'p50' },
    { key: 'ratioWithoutSpin', baseline: 'stock', candidate: WITHOUT_SPIN.name, of: 'p50' }
  ],
  columns: [
    ...messageColumns,
    latencyColumn('stock', 'p50'),
    latencyColumn('forklane', 'p50'),
    ratioColumn('ratio'),
    latencyColumn(WITHOUT_SPIN.name, 'p50', 'without spin p50 us'),
    ratioColumn('ratioWithoutSpin'),
    latencyColumn('stock', 'p99'),
    latencyColumn('forklane', 'p99'),
    latencyColumn(WITHOUT_SPIN.name, 'p99', 'without spin p99 us'),
    cpuColumn('stock', TRIP),
    cpuColumn('forklane', TRIP),
    cpuColumn(WITHOUT_SPIN.name, TRIP, `without spin CPU us/${TRIP}`)
  ]
}

main({
  name: 'roundtrip',
  question: 'round trips per second of messages that a child echoes, and how long one takes',
  defaults: {
    table: 'windowed,latency',
    len: '64,256,1024,4096,16384,65536',
    serialization: 'json,advanced',
    dur: '0.5',
    rounds: '5',
    lane: DEFAULT_LANE,
    quick: { len: '64,4096,65536', dur: '0.2', rounds: '3' }
  },
  options: {
    table: { type: 'string', value: 'TABLES', help: 'windowed,latency or one of them' },
    lane: LANE_OPTION
  },

  prepare (options) {
    options.table = oneOrMoreOf('table', options.table, ['windowed', 'latency'])
  },

  tables: () => [windowed, latency],

  cases ({ table, len, serialization }) {
    const rows = {
      windowed: messageRows(['payload'], len).map((row) => ({
        ...row, inFlight: IN_FLIGHT, variants: stockAndForklane(PROGRAM)
      })),
      latency: messageRows(['string', 'object'], [SHORT]).map((row) => ({
        ...row, inFlight: 1, variants: [...stockAndForklane(PROGRAM), WITHOUT_SPIN]
      }))
    }
    return table.flatMap((name) => serialization.flatMap((mode) =>
      rows[name].map((row) => ({ ...row, table: name, serialization: mode }))))
  }
})
