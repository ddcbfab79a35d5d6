'use strict'

// Messages of random sizes and kinds in both directions at once between a parent
// and a child, for a long time. Each is made of its number and the seed, so the
// receiver knows what has to come: a loss, a duplicate, another order or another
// content ends the run with a fault, and so does a stall.
//
//   node test/soak/soak.js [--messages N] [--minutes N] [--seed S] [--forks N]
//
// Without an argument: 10 million messages and 2,000 forks. --messages is the
// total of both directions and both serializations, --minutes ends earlier.
// --forks is the number of children that are started after that, one after
// another, to leave nothing behind; 0 for none.

const { parseArgs } = require('node:util')
const forklane = require('../../lib/index.js')
const { happened } = require('../helpers/children.js')
const { forkInARow } = require('../helpers/leftovers.js')
const { exchange } = require('./exchange.js')

const SERIALIZATIONS = ['json', 'advanced']
const STALL_MS = 30_000
const PROGRESS_MS = 10_000

const { values: options } = parseArgs({
  options: {
    messages: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    forks: { type: 'string' }
  }
})

const started = Date.now()
const minutes = Number(options.minutes ?? Infinity)
const messages = Number(options.messages ?? (options.minutes ? Infinity : 10_000_000))
const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 32))
const forks = Number(options.forks ?? 2000)

function fail (text) {
  console.error(`FAULT: ${text} (--seed ${seed})`)
  process.exit(1)
}

/** Runs one serialization until `count` messages went each way, or `end` has come. */
async function soak (serialization, count, end) {
  const child = forklane.fork(require.resolve('./exchange.js'), [seed, count, serialization], { serialization })
  const run = exchange(child, { seed, side: 'parent', count, advanced: serialization === 'advanced' })
  let seen = -1
  let moved = Date.now()
  let told = moved

  child.on('error', (error) => fail(`${serialization}: ${error.stack}`))
  const watch = setInterval(() => {
    const now = Date.now()
    const sum = run.sent + run.received
    if (sum !== seen) moved = now
    seen = sum
    if (now - moved > STALL_MS) {
      fail(`${serialization}: stalled with ${run.sent} sent, ${run.received} received`)
    }
    if (now > end) run.stop()
    if (now - told >= PROGRESS_MS) {
      told = now
      console.log(`${serialization}: ${run.sent} sent, ${run.received} received, ` +
        `${Math.round(run.bytes / 2 ** 20)} MiB, ${JSON.stringify(forklane.lane(child))}`)
    }
  }, 100)

  const exit = happened(child, 'exit')
  exit.then(([code, signal]) => {
    if (code !== 0) fail(`${serialization}: the child ended with ${code ?? signal}`)
  })
  await run.finished.catch((error) => fail(`${serialization}: ${error.message}`))
  const { send, receive } = forklane.lane(child)
  if (send !== 'ring' || receive !== 'ring') fail(`${serialization}: sent on ${send}, received on ${receive}`)
  child.disconnect()
  await exit
  clearInterval(watch)
  console.log(`${serialization}: done, ${run.sent} sent, ${run.received} received, ` +
    `${Math.round(run.bytes / 2 ** 20)} MiB`)
}

async function main () {
  console.log(`Node ${process.versions.node}, --seed ${seed}`)
  const share = messages / SERIALIZATIONS.length / 2
  for (const [i, serialization] of SERIALIZATIONS.entries()) {
    const end = started + minutes * 60_000 * (i + 1) / SERIALIZATIONS.length
    await soak(serialization, Math.ceil(share), end)
  }
  if (forks > 0) {
    const left = await forkInARow(forks)
    console.log(`${forks} forks have left ${JSON.stringify(left)}`)
    if (Object.values(left).some((n) => n !== 0)) fail('something is left behind')
  }
  console.log(`passed in ${((Date.now() - started) / 60_000).toFixed(1)} min`)
}

main()
