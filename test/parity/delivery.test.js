'use strict'

// When and in which order a channel emits, calls back, returns and fails. Each
// case is one log, and it is the same log for Node's own channel and for
// forklane's, as parent and as child. The subjects are in
// test/fixtures/delivery-scenarios.js.

const assert = require('node:assert')
const { once } = require('node:events')
const { outcome, tracked } = require('../helpers/children.js')
const { inTime } = require('../helpers/inbox.js')
const {
  PARENTS, fixture, forEachChannel, forEachParties, forEachRing, forkAs, startAs
} = require('../helpers/parties.js')
const { ROLES, play } = require('../helpers/scenario.js')
const { writeAtOnce } = require('../helpers/wire.js')
const { newWitness, witness } = require('../helpers/witness.js')

const SCENARIOS = 'delivery-scenarios.js'
const BASIC = [['parent', 'json'], ['child', 'advanced']]
const FULL = [...BASIC, ['parent', 'advanced'], ['child', 'json']]
const FORKLANE_ONLY = ['forklane']

/**
 * Declares the cases of a table for each subject.
 * @param {[string, string, any][]} table rows of title, subject and log; the log
 *   may be a function of the role
 * @param {[string, string][]} combinations of the subject's role and serialization
 * @param {string[]} [subjects] the subject's parties; the peer is stock, and on
 *   the ring it is forklane
 */
function declare (table, combinations, subjects = ['stock', 'forklane']) {
  declareOnSocket(table, combinations, subjects)
  declareOnRing(table, combinations)
}

function declareOnRing (table, combinations) {
  forEachRing((parties) => {
    for (const [role, serialization] of combinations) {
      if (serialization !== parties.serialization) continue
      describe(`subject is the ${role}`, () => declareCases(table, role, parties))
    }
  })
}

function declareOnSocket (table, combinations, subjects = ['stock', 'forklane']) {
  for (const [role, serialization] of combinations) {
    for (const subject of subjects) {
      describe(`${subject} as ${role}, ${serialization}`, () => {
        const parties = { parent: 'stock', child: 'stock', serialization, [role]: subject }
        declareCases(table, role, parties)
      })
    }
  }
}

function declareCases (table, role, parties) {
  for (const [title, name, log] of table) {
    it(title, async () => {
      const expected = typeof log === 'function' ? log(role, parties.serialization) : log
      assert.deepStrictEqual(await play(SCENARIOS, name, role, parties), expected)
    })
  }
}

function declareForAllParties (table) {
  forEachChannel((parties) => {
    for (const role of ROLES) {
      describe(`subject is the ${role}`, () => declareCases(table, role, parties))
    }
  })
}

function error (message, code, rest) {
  const own = ['code', 'message', 'stack', ...Object.keys(rest ?? {})].sort()
  const keys = rest ? ['errno', 'code', 'syscall'] : ['code']
  return { name: 'Error', message, code, ...rest, own, keys }
}

const CLOSED = error('Channel closed', 'ERR_IPC_CHANNEL_CLOSED')
const DISCONNECTED = error('IPC channel is already disconnected', 'ERR_IPC_DISCONNECTED')
const BROKEN = error('write EPIPE', 'EPIPE', { errno: -32, syscall: 'write' })

// The AsyncLocalStorage that a channel's messages run in.
const storeOf = (role) => role === 'parent' ? 'of fork()' : 'undefined'

describe('delivery: receiving', () => {
  declareForAllParties([
    ['emits all messages of one read before what their listeners queue', 'tasksOfListeners',
      ['m0', 'm1', 'm2', 't0', 't1', 't2', 'p0', 'p1', 'p2']],
    ['tells internal messages by their cmd', 'internalReceived', [
      ['internalMessage', { cmd: 'NODE_X' }, 'undefined'],
      ['message', 'between', 'undefined'],
      ['message', { cmd: 'NODE_' }, 'undefined'],
      ['internalMessage', { cmd: 'NODE_FORKLANE', a: [1] }, 'undefined'],
      ['message', { cmd: 'NODE' }, 'undefined'],
      ['message', { cmd: 'node_X' }, 'undefined'],
      ['message', { cmd: 5 }, 'undefined'],
      ['message', { cmd: ['NODE_X'] }, 'undefined'],
      ['message', { cmd: 'XNODE_X' }, 'undefined'],
      ['message', null, 'undefined'],
      ['message', ['NODE_X'], 'undefined'],
      ['message', 'NODE_X', 'undefined'],
      ['message', { nested: { cmd: 'NODE_X' } }, 'undefined']
    ]]
  ])

  declare([
    ['runs each listener call in the store of fork()', 'enteredStores', (role) => [
      ['message', 0, storeOf(role)], ['message', 1, storeOf(role)], ['message', 2, storeOf(role)],
      ['internalMessage', storeOf(role)],
      ['tick', 0, 'entered by 0'], ['tick', 1, 'entered by 1'], ['tick', 2, 'entered by 2']
    ]],
    ['loses no message when each listener call throws', 'throwingAll', [
      ['message', 0], ['uncaught', 'thrown by 0'],
      ['message', 1], ['uncaught', 'thrown by 1'],
      ['message', 2], ['uncaught', 'thrown by 2']
    ]]
  ], FULL)

  declare([
    ['gives listeners the message and an undefined handle', 'argumentsOfListeners', [
      [2, [0, null], true], [2, [{ a: 1 }, null], true]
    ]],
    ['gives each message an async id of its own', 'asyncIds', [[3, false]]],
    ['runs what was held in the store of the call of on()', 'storesOfHeldMessages', [
      [0, 'of on()'], [1, 'entered by 0'], [2, 'entered by 1']
    ]],
    ['goes on after the first listener call has thrown', 'throwingFirst', [
      ['message', 0], ['uncaught', 'thrown by 0'], ['message', 1], ['message', 2]
    ]],
    ['survives that the last listener call throws', 'throwingLast', [
      ['message', 0], ['message', 1], ['message', 2], ['uncaught', 'thrown by 2']
    ]],
    ['emits the rest before ticks that were queued before a throw', 'tasksOfThrower', [
      'm0', 'm1', 'thrown by 1', 'm2', 't0', 't1', 't of thrown by 1', 't2', 'p0', 'p1', 'p2'
    ]],
    ['emits all before ticks when each listener call throws', 'tasksOfThrowers', [
      'm0', 'thrown by 0', 'm1', 'thrown by 1', 'm2', 'thrown by 2',
      't0', 't of thrown by 0', 't1', 't of thrown by 1', 't2', 't of thrown by 2',
      'p0', 'p1', 'p2'
    ]],
    ['holds messages until the first listener', 'firstListenerLate',
      ['listening', 'not yet', 0, 1, 2]],
    ['emits held messages before newer ones', 'heldAndNew', [0, 1, 2, 3, 4]],
    ['holds the rest when the listener leaves among the messages of a read', 'listenerLeaves', [
      ['first', 0], ['first', 1], 'nobody', ['second', 2], ['second', 3]
    ]],
    ['goes on with a listener that takes the place of another', 'replacedListener', [
      ['first', 0], ['second', 1], ['second', 2]
    ]],
    ['emits the rest of a read after disconnect() in a listener', 'disconnectInListener', [
      [0, true], [1, false], [2, false], 'disconnect'
    ]],
    ['calls 200 listeners in order', 'manyListeners', [[600, true]]],
    ['leaves messages that the program emits alone', 'emittedByHand', ['by hand', 0, 1, 2]],
    ['sends answers from listeners in order', 'sendInListener', [
      ['answer 0', 'answer 1', 'answer 2']
    ]]
  ], BASIC)

  describe('beyond stock', () => {
    declare([
      ['shows every message to once() in a loop', 'onceInLoop', [0, 1, 2, 3, 4]],
      ['shows every held message to once() in a loop', 'onceInLoopHeld', [0, 1, 2, 3, 4]],
      ['hands over what was held although the channel has closed', 'heldWhenClosed', [
        [true, false], 0, 1, 2
      ]],
      ['disconnects when the message in reading is complete', 'disconnectInListenerPartial', [
        [0, true], [1, false], [2, false], 'disconnect'
      ]],
      ['keeps the order when a listener comes back in the middle of a read', 'listenerComesBack', [
        ['first', 0], ['second', 1], ['second', 2], ['second', 3]
      ]],
      ['loses no held message when listeners throw', 'throwingHeld', [
        ['message', 0], ['uncaught', 'thrown by 0'],
        ['message', 1], ['uncaught', 'thrown by 1'],
        ['message', 2], ['uncaught', 'thrown by 2']
      ]]
    ], BASIC, FORKLANE_ONLY)
  })
})

describe('delivery: sending', () => {
  describe('beyond stock', () => {
    declare([
      ['disconnects when what it has sent has left', 'disconnectCongested', [
        'returned', ['callback', 0, 'null'], ['callback', 1, 'null'], ['callback', 2, 'null'],
        'disconnect'
      ]]
    ], BASIC, FORKLANE_ONLY)
  })

  const congestedOrder = []
  for (let i = 0; i < 50; i++) {
    congestedOrder.push(i)
    if (i % 10 === 0) congestedOrder.push(100 * 1024)
  }
  const outer = (serialization, text) => serialization === 'json' ? text : { outer: text }

  declareForAllParties([
    ['keeps the order of messages behind a full socket', 'orderCongested', [congestedOrder]],
    ['sends what a message sends while it is serialized before it', 'nestedSendCongested',
      (role, serialization) => [
        ['a', 'inner', false], false, false, ['b', 'inner', false], false,
        ['a', 'inner callback'], 'a callback', ['b', 'inner callback'],
        ['a inner', outer(serialization, 'a outer'), 'between', 'b inner',
          outer(serialization, 'b outer')]
      ]],
    ['sends internal messages as such', 'internalSent', [
      ['internal', { cmd: 'NODE_X' }], 'between', { cmd: 'NODE_' },
      ['internal', { cmd: 'NODE_FORKLANE', a: [1] }], { cmd: 'NODE' }, { cmd: 'node_X' },
      { cmd: 5 }, { cmd: ['NODE_X'] }, { cmd: 'XNODE_X' }, null, ['NODE_X'], 'NODE_X',
      { nested: { cmd: 'NODE_X' } }
    ]]
  ])

  declare([
    ['sends nested messages first, to a free socket', 'nestedSend', (role, serialization) => [
      ['a', 'inner', true], true, true, ['b', 'inner', true], true,
      ['a', 'inner callback'], 'a callback', ['b', 'inner callback'],
      ['a inner', outer(serialization, 'a outer'), 'between', 'b inner',
        outer(serialization, 'b outer')]
    ]],
    ['keeps the order when the nested messages fill the socket', 'nestedFill',
      (role, serialization) => [
        [2, [serialization === 'json' ? 'outer' : { value: 'outer' }, 'after']]
      ]],
    ['sends nested messages of one whose getter throws', 'nestedThrow', [
      'by getter', ['inner', 'after']
    ]],
    ['sends a message as it was at the call', 'changedAfterSend', [
      [{ list: [1], text: 'as it was' }, { list: [1, 2], text: 'changed' }]
    ]],
    ['sends nothing of a message that throws, behind a full socket', 'throwsCongested',
      (role, serialization) => [
        false, [serialization === 'json' ? 'TypeError' : 'Error', null], false,
        ['TypeError', 'ERR_MISSING_ARGS'], ['TypeError', 'ERR_INVALID_ARG_TYPE'], false,
        ['before', 'between', 'after']
      ]],
    ['interleaves callbacks behind a full socket with ticks and microtasks',
      'callbacksCongested', [
        'returned',
        ['c0', null, 'store 0'], 't0', 'p0', ['c1', null, 'store 1'], 't1', 'p1',
        ['c2', null, 'store 2'], 't2', 'p2', ['c3', null, 'store 3'], 't3', 'p3', 'last'
      ]]
  ], FULL)

  declare([
    ['calls back in a tick, in order', 'callbacks', [
      'returned',
      ['c0', null], 'tick', ['c1', null], ['c2', null], ['c3', null], 'tick',
      't0', 't1', 't2', 't3', 'microtask', 'p0', 'p1', 'p2', 'p3'
    ]],
    ['fails with ERR_IPC_CHANNEL_CLOSED after disconnect()', 'sendAfterDisconnect', [
      false, false, false, 'returned', ['callback', CLOSED], ['error', CLOSED], ['error', CLOSED],
      'disconnect', false, ['callback', CLOSED]
    ]],
    ['fails with ERR_IPC_DISCONNECTED at a second disconnect()', 'disconnectTwice', [
      'once', ['error', DISCONNECTED], 'twice', ['error', DISCONNECTED], [false, null]
    ]],
    ['makes an uncaught exception of an error that nobody listens for', 'unheardSendError', [
      false, ['uncaught', CLOSED]
    ]],
    ['sends a message whose getter disconnects', 'nestedDisconnect', [
      true, 'disconnect', ['callback', 'null']
    ]],
    ['calls a send() that the program has replaced', 'patchedSend', [
      [true, true, 4, 4], ['send', 'a', true], ['send', 'b', true],
      ['a by send', 'b by send', 'c']
    ]],
    ['calls a _send() that the program has replaced', 'patchedInnerSend', [
      ['_send', 'a', 'undefined', { swallowErrors: false }, 'function', true],
      ['_send', 'b', 'undefined', { swallowErrors: true }, 'undefined', true],
      ['_send', 'c', 'undefined', null, 'undefined', true],
      ['_send', 'd', 'null', true, 'undefined', true],
      ['a', 'b', 'c', 'd']
    ]],
    ['needs its object as this', 'detachedSend', ['TypeError', 'TypeError']]
  ], BASIC)

  const NEVER_READ = [
    ['calls back without error for messages that a dead peer never read', 'peerGoneCongested', [
      false, 'disconnect', ['callback', 0, 'null'], ['callback', 1, 'null'],
      ['callback', 2, 'null'], ['callback', 'gone', 'null']
    ]]
  ]

  declareOnSocket([
    ['fails with EPIPE when the peer is gone', 'peerGone', [
      true, true, true, 'returned', ['callback', BROKEN], ['error', BROKEN], 'disconnect'
    ]],
    ...NEVER_READ
  ], BASIC)

  declareOnRing([
    // Nobody has to look at the socket for it, where it would show.
    ['does not see at once that the peer is gone', 'peerGone', [
      true, true, true, 'returned', ['callback', 'null'], 'disconnect'
    ]]
  ], FULL)

  // A parent that stands still cannot be made to go.
  declareOnRing(NEVER_READ, [['parent', 'json'], ['parent', 'advanced']])

  describe('the value of send()', () => {
    // How many messages fill the socket is the kernel's affair, but it is the
    // same number for both.
    for (const [role, serialization] of FULL) {
      it(`turns false at the same message as stock, as ${role}, ${serialization}`, async () => {
        const logs = []
        for (const subject of ['stock', 'forklane']) {
          const parties = { parent: 'stock', child: 'stock', serialization, [role]: subject }
          logs.push(await play(SCENARIOS, 'returnValue', role, parties))
        }
        const [free, [text, count], ...rest] = logs[0]
        assert.deepStrictEqual([free, text, ...rest], [
          true, 'filled by', [false, false, false, false], [true, true]
        ])
        assert(count > 128, `${count}`)
        assert.deepStrictEqual(logs[1], logs[0])
      })
    }
  })
})

describe('delivery: the end of a child', () => {
  forEachParties((parties) => {
    it('emits messages, disconnect, exit and close in this order', async () => {
      const child = tracked(forkAs(parties, fixture('delivery-end.js'), ['disconnect'], {
        stdio: ['pipe', 'pipe', 'inherit', 'ipc']
      }))
      const log = []
      for (const name of ['message', 'disconnect', 'exit', 'close']) {
        child.on(name, (...args) => {
          log.push([name, ...args.slice(0, name === 'message' ? 1 : 2)])
        })
      }
      child.once('disconnect', () => child.stdin.end())
      child.stdout.resume()
      await once(child, 'close')
      assert.deepStrictEqual(log, [
        ['message', 0], ['message', 1], ['message', 2], ['disconnect'],
        ['exit', 0, null], ['close', 0, null]
      ])
    })

    it("delivers what is sent in 'beforeExit' and 'exit' handlers", async () => {
      const child = tracked(forkAs(parties, fixture('delivery-end.js'), ['handlers']))
      const messages = []
      child.on('message', (message) => messages.push(message))
      await once(child, 'close')
      assert.deepStrictEqual(messages, ['script', 'beforeExit', ['beforeExit', null], 'exit'])
    })
  })
})

describe('delivery: what keeps a child alive', () => {
  const LIVES = {
    nothing: false,
    on: true,
    'on disconnect': true,
    'on internalMessage': false,
    'once, unanswered': true,
    'once, answered': false,
    'on, off': false,
    'on, on, off': true,
    'on, removeAllListeners': false,
    'on, removeAllListeners of message': false,
    'channel.ref': true,
    'channel.ref, channel.unref': false,
    'on, channel.unref': false,
    'channel.unref, on': false,
    'channel.ref, on, off': true,
    'channel.refCounted': true,
    'channel.refCounted, channel.unrefCounted': false,
    'on, disconnect': false,
    send: false
  }

  for (const [way, lives] of Object.entries(LIVES)) {
    it(`${way}: ${lives ? 'lives' : 'ends'}`, async () => {
      const outcomes = await Promise.all([
        { parent: 'stock', child: 'stock' },
        { parent: 'stock', child: 'forklane' },
        { parent: 'forklane', child: 'forklane', onRing: true }
      ].map(async (parties) => {
        const args = [way, ...(parties.onRing ? ['on the ring'] : [])]
        const child = tracked(await startAs(
          { ...parties, serialization: 'json' }, fixture('delivery-keep-alive.js'), args, { silent: true }
        ))
        child.send('answer')
        return outcome(child)
      }))
      const expected = { code: 0, signal: null, stdout: lives ? 'lives' : 'ends', stderr: '' }
      assert.deepStrictEqual(outcomes, [expected, expected, expected])
    })
  }

  it('forklane as parent lives and ends as stock with the listeners of its children', async () => {
    const logs = await Promise.all(['stock', 'forklane'].map((party) => {
      return outcome(tracked(PARENTS.stock.spawn(process.execPath, [
        fixture('delivery-parent-alive.js'), party
      ])))
    }))
    assert.match(logs[0].stdout, /^unref'd: ends$/m)
    assert.deepStrictEqual(logs[1], logs[0])
  })
})

describe('delivery: what becomes of an exception', () => {
  const WAYS = {
    error: [
      'nobody catches it', 'a handler catches it', 'a handler catches it once', 'a handler exits',
      'a handler throws', 'a callback captures it', 'a monitor sees it',
      'a handler and a monitor see it', 'a listener rejects', 'exit is called by the listener'
    ],
    undefined: ['nobody catches it', 'a handler catches it'],
    null: ['nobody catches it'],
    text: ['nobody catches it', 'a handler catches it'],
    object: ['nobody catches it'],
    frozen: ['nobody catches it', 'a handler catches it'],
    poisoned: ['nobody catches it']
  }

  const EXCERPT = /^(?:node:|\/).*:\d+\n.*\n *\^+\n/m

  // The frames of the stack differ: forklane's channel is another program text.
  const withoutPlaces = (stderr) => stderr.replace(/^ +at .*\n/gm, '').replace(EXCERPT, '')

  const outcomesOf = (way, value) => Promise.all([
    { parent: 'stock', child: 'stock' },
    { parent: 'stock', child: 'forklane' },
    { parent: 'forklane', child: 'forklane', onRing: true }
  ].map(async (parties) => {
    const args = [way, value]
    const file = newWitness()
    if (parties.onRing) args.push(file)
    const child = tracked(await startAs(
      { ...parties, serialization: 'json' }, fixture('delivery-uncaught.js'), args, { silent: true }
    ))
    child.once('message', (bytes) => {
      if (!parties.onRing) return writeAtOnce(child, Buffer.from(bytes))
      for (let i = 0; i < 3; i++) child.send(i)
      witness(file)
    })
    return inTime(outcome(child), 'end')
  }))

  for (const [value, ways] of Object.entries(WAYS)) {
    for (const way of ways) {
      it(`is as in stock: ${value}, ${way}`, async () => {
        const outcomes = await outcomesOf(way, value)
        for (const one of outcomes) one.stderr = withoutPlaces(one.stderr)
        assert.match(outcomes[0].stdout, /^\["message",0\]/)
        assert.deepStrictEqual(outcomes[1], outcomes[0], 'on the socket')
        assert.deepStrictEqual(outcomes[2], outcomes[0], 'on the ring')
      })
    }
  }

  for (const value of ['error', 'text']) {
    it(`shows the line that threw it: ${value}`, async () => {
      for (const { stderr } of await outcomesOf('nobody catches it', value)) {
        assert.match(stderr, /delivery-uncaught\.js:\d+\n +throw VALUES\[value\]\(\)\n/)
      }
    })
  }
})

describe('delivery: domains', () => {
  for (const [lane, args] of Object.entries({
    core: ['stock'], pipe: ['forklane'], ring: ['forklane', 'forklane']
  })) {
    it(`hands what a listener throws to the domain of the child, ${lane} lane`, async () => {
      const child = tracked(PARENTS.stock.spawn(process.execPath, [
        '--no-warnings', fixture('delivery-domain.js'), ...args
      ]))
      const { code, stdout, stderr } = await outcome(child)
      assert.strictEqual(stderr, '')
      assert.deepStrictEqual(JSON.parse(stdout), [
        ['message', 0, 'of fork'], ['domain', 'thrown by 0'],
        ['message', 1, 'of fork'], ['domain', 'thrown by 1'],
        ['message', 2, 'of fork'], ['domain', 'thrown by 2'],
        ['error', 'of fork'], ['end', lane]
      ])
      assert.strictEqual(code, 0)
    })
  }
})
