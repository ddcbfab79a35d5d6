'use strict'

// The environment and the descriptors that a child of the hook gets, as seen by a
// spawn() that does nothing; and that Node understands them.

const assert = require('node:assert')
const stock = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { text } = require('node:stream/consumers')
const { binding } = require('../../lib/binding.js')
const forklane = require('../../lib/index.js')
const { hooked, withHook } = require('../../lib/hook.js')
const { RingOffer } = require('../../lib/lanes/ring.js')
const { inTime } = require('../helpers/inbox.js')
const { fixture, preload } = require('../helpers/parties.js')

const { ChildProcess, spawnSync } = stock

const STDIO = ['pipe', 'pipe', 'pipe', 'ipc']

// What Node's spawn() would get for these options.
function spawned (options, hook = hooked) {
  let got
  const target = {}
  const result = hook(function (options) {
    assert.strictEqual(this, target)
    got = options
    return 'result'
  }).call(target, options)
  assert.strictEqual(result, 'result')
  return { options: got, target }
}

const environment = (options, hook) => spawned({ stdio: STDIO, ...options }, hook).options.envPairs

// Behind STDIO.
const RING = { version: binding.ringVersion, segment: 4, poll: 5, signal: 6 }

const channel = (nodeOptions, ring = RING) => `FORKLANE_CHANNEL=${JSON.stringify({
  added: `--require "${preload}"${nodeOptions ? ' ' : ''}`,
  isNew: nodeOptions === null,
  ring
})}`

// What the preload is told.
function channelOf ({ envPairs }) {
  const name = 'FORKLANE_CHANNEL='
  return JSON.parse(envPairs.find((pair) => pair.startsWith(name)).slice(name.length))
}

const openDescriptors = () => fs.readdirSync('/proc/self/fd').length

describe('hook', () => {
  it('adds the preload and what it has to undo', () => {
    assert.deepStrictEqual(environment({ envPairs: ['A=1', 'B=2'] }), [
      'A=1', 'B=2', `NODE_OPTIONS=--require "${preload}"`, channel(null)
    ])
  })

  it('keeps NODE_OPTIONS of the program, in their place and behind the preload', () => {
    const theirs = '--title="a b" --stack-trace-limit=5'
    assert.deepStrictEqual(environment({ envPairs: ['A=1', `NODE_OPTIONS=${theirs}`, 'B=2'] }), [
      'A=1', `NODE_OPTIONS=--require "${preload}" ${theirs}`, 'B=2', channel(theirs)
    ])
  })

  it('remembers that NODE_OPTIONS were empty', () => {
    assert.deepStrictEqual(environment({ envPairs: ['NODE_OPTIONS='] }), [
      `NODE_OPTIONS=--require "${preload}"`, channel('')
    ])
  })

  it('changes the first of two, which is the one that the child sees', () => {
    assert.deepStrictEqual(environment({ envPairs: ['NODE_OPTIONS=--a', 'NODE_OPTIONS=--b'] }), [
      `NODE_OPTIONS=--require "${preload}" --a`, 'NODE_OPTIONS=--b', channel('--a')
    ])
  })

  it('is not misled by names that begin alike', () => {
    const pairs = ['NODE_OPTIONS_X=1', 'XNODE_OPTIONS=2', 'FORKLANE_X=off', 'XFORKLANE=off']
    assert.deepStrictEqual(environment({ envPairs: pairs }), [
      ...pairs, `NODE_OPTIONS=--require "${preload}"`, channel(null)
    ])
  })

  it('leaves a child of another user alone, which may not be able to read the package', () => {
    const envPairs = ['A=1']
    for (const options of [{ uid: process.getuid() + 1 }, { gid: process.getgid() + 1 }]) {
      assert.deepStrictEqual(environment({ envPairs, ...options }), envPairs)
    }
    assert.strictEqual(environment({ envPairs, uid: process.getuid(), gid: process.getgid() }).length, 3)
  })

  it('takes underscores in options for dashes, as Node does', () => {
    for (const option of ['--no_addons', '--experimental_permission', '--permission=x']) {
      assert.deepStrictEqual(environment({ envPairs: ['A=1'], args: ['node', option] }), ['A=1'])
      assert.deepStrictEqual(
        environment({ envPairs: [`NODE_OPTIONS=${option}`] }), [`NODE_OPTIONS=${option}`]
      )
    }
  })

  it("leaves the program's array alone", () => {
    const envPairs = ['NODE_OPTIONS=--a']
    environment({ envPairs })
    assert.deepStrictEqual(envPairs, ['NODE_OPTIONS=--a'])
  })

  it('makes an environment where there is none', () => {
    assert.deepStrictEqual(environment({}), [`NODE_OPTIONS=--require "${preload}"`, channel(null)])
  })

  it('leaves to Node what is no array', () => {
    for (const envPairs of ['A=1', null, 5, {}]) {
      assert.strictEqual(environment({ envPairs }), envPairs)
    }
    assert.deepStrictEqual(environment({ envPairs: ['A=1'], args: 'not an array' }), ['A=1'])
  })

  const REFUSING = [
    '--permission', '--experimental-permission', '--no-addons', '--experimental-policy=policy.json'
  ]
  for (const option of REFUSING) {
    it(`adds nothing with ${option}`, () => {
      const envPairs = ['A=1']
      assert.deepStrictEqual(environment({ envPairs, args: ['node', option, 'file.js'] }), envPairs)
      const inVariable = [`NODE_OPTIONS=--title=x  ${option}`]
      assert.deepStrictEqual(environment({ envPairs: inVariable }), inVariable)
    })
  }

  it('adds the preload with options that only look like those', () => {
    const args = ['node', '--permissions', '--no-addons-x', 5, undefined, 'permission']
    assert.strictEqual(environment({ envPairs: [], args }).length, 2)
  })

  it('adds nothing for a child with FORKLANE=off', () => {
    assert.deepStrictEqual(environment({ envPairs: ['FORKLANE=off'] }), ['FORKLANE=off'])
    assert.strictEqual(environment({ envPairs: ['FORKLANE=on'] }).length, 3)
    assert.strictEqual(environment({ envPairs: ['FORKLANE=offside'] }).length, 3)
  })

  it('adds nothing and attaches nothing in a process with FORKLANE=off', () => {
    const before = process.env.FORKLANE
    process.env.FORKLANE = 'off'
    try {
      const { options, target } = spawned({ stdio: STDIO, envPairs: ['A=1'] })
      assert.deepStrictEqual(options.envPairs, ['A=1'])
      assert.deepStrictEqual(forklane.lane(target), {
        send: 'core', receive: 'core', reason: 'FORKLANE=off'
      })
    } finally {
      if (before === undefined) delete process.env.FORKLANE
      else process.env.FORKLANE = before
    }
  })

  it('does not look at calls without a channel', () => {
    for (const options of [
      undefined, null, {}, { stdio: 'inherit' }, { stdio: ['pipe', 'pipe', 'pipe'], envPairs: ['A=1'] }
    ]) {
      const before = structuredClone(options)
      const { options: got, target } = spawned(options)
      assert.strictEqual(got, options)
      assert.deepStrictEqual(got, before)
      assert.strictEqual(forklane.lane(target), null)
    }
  })

  it('adds nothing where the addon does not load', () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-'))
    try {
      fs.cpSync(path.join(__dirname, '..', '..', 'lib'), path.join(directory, 'lib'), { recursive: true })
      const copy = require(path.join(directory, 'lib', 'hook.js'))
      assert.deepStrictEqual(environment({ envPairs: ['A=1'] }, copy.hooked), ['A=1'])
    } finally {
      fs.rmSync(directory, { recursive: true })
    }
  })

  it('says why there is no lane when Node has made no channel', () => {
    const { target } = spawned({ stdio: STDIO, envPairs: [] })
    assert.deepStrictEqual(forklane.lane(target), {
      send: 'core', receive: 'core', reason: 'Node has no target.channel as expected'
    })
  })

  it('throws what spawn() throws', () => {
    const error = new Error('by spawn')
    assert.throws(() => hooked(() => { throw error }).call({}, { stdio: STDIO }), error)
  })

  describe('the descriptors of the ring', () => {
    const { ENOENT } = os.constants.errno
    const settled = async (wanted) => {
      while (openDescriptors() !== wanted) await new Promise((resolve) => setImmediate(resolve))
    }

    for (const stdio of [
      ['ipc', 'pipe', 'pipe'], ['pipe', 'ipc', 'pipe'], ['pipe', 'pipe', 'ipc'], ['ipc', 'ignore', 2, 'pipe', null],
      [null, undefined, 'inherit', 'pipe', 'ipc', 'overlapped', 'pipe', 1]
    ]) {
      it(`are behind those of the program: ${stdio}`, () => {
        const { options } = spawned({ stdio, envPairs: [] })
        const { length } = stdio
        assert.deepStrictEqual(options.stdio.slice(0, length), stdio)
        const ring = options.stdio.slice(length)
        assert.strictEqual(ring.length, 3)
        assert(ring.every(Number.isInteger), `${ring}`)
        assert.deepStrictEqual(channelOf(options).ring, {
          version: binding.ringVersion, segment: length, poll: length + 1, signal: length + 2
        })
      })
    }

    it('are behind the three that Node makes in any case', () => {
      for (const stdio of [['ipc'], ['ignore', 'ipc']]) {
        const { options } = spawned({ stdio, envPairs: [] })
        assert.strictEqual(options.stdio.length, 6)
        assert.strictEqual(channelOf(options).ring.segment, 3)
        assert.strictEqual(stdio.length, 3, "as Node's own code leaves it")
      }
    })

    it("are not in the program's own options and array", () => {
      const stdio = Object.freeze(['ignore', 'ignore', 'ignore', 'ipc'])
      const options = { stdio, envPairs: [] }
      spawned(options)
      assert.strictEqual(options.stdio, stdio)
    })

    it('are closed in this process when the child has been started, or not', () => {
      const before = openDescriptors()
      spawned({ stdio: STDIO, envPairs: [] })
      const error = new Error('by spawn')
      assert.throws(() => hooked(() => { throw error }).call({}, { stdio: STDIO, envPairs: [] }), error)
      assert.strictEqual(openDescriptors(), before)
    })

    it('are closed when the array cannot be completed', () => {
      const before = openDescriptors()
      for (const childProcess of [stock, forklane]) {
        assert.throws(() => childProcess.spawn('true', { stdio: Object.freeze(['ipc']) }), {
          name: 'TypeError', message: 'Cannot add property 1, object is not extensible'
        })
      }
      assert.strictEqual(openDescriptors(), before)
    })

    it('are closed when the file does not exist', async () => {
      const before = openDescriptors()
      const child = forklane.spawn('no-such-program', { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
      const [error] = await inTime(once(child, 'error'), 'error')
      assert.strictEqual(error.errno, -ENOENT)
      await inTime(settled(before), 'close of the descriptors')
    })

    it('are closed when Node refuses what the array has', () => {
      const before = openDescriptors()
      for (const stdio of [['ipc', 'no such kind'], ['ipc', {}], ['ipc', 'ipc', 'ipc']]) {
        for (const childProcess of [stock, forklane]) {
          assert.throws(() => childProcess.spawn('true', { stdio: [...stdio] }))
        }
      }
      assert.strictEqual(openDescriptors(), before)
    })

    it('do not show in child.stdio', async () => {
      for (const stdio of [['ipc'], ['pipe', 'ipc'], STDIO, ['ignore', 'pipe', 2, 'pipe', 'ipc', 'pipe', 'ignore']]) {
        const [expected, actual] = await Promise.all([stock, forklane].map(async ({ spawn }) => {
          const child = spawn('true', { stdio: [...stdio] })
          const shown = child.stdio.map((stream) => stream && [stream.constructor.name, stream.readable, stream.writable])
          await inTime(once(child, 'exit'), 'exit')
          return [shown, Object.hasOwn(child.stdio, 'length')]
        }))
        assert.deepStrictEqual(actual, expected)
      }
    })

    it("leave the program's extra descriptors their numbers", async () => {
      const child = forklane.spawn('sh', ['-c', 'for fd in 3 5 6; do echo "$fd" >&"$fd"; done'], {
        stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'ipc', 'pipe', 'pipe']
      })
      const lines = await inTime(Promise.all([3, 5, 6].map((fd) => text(child.stdio[fd]))), 'output')
      assert.deepStrictEqual(lines, ['3\n', '5\n', '6\n'])
    })
  })

  describe('RingOffer', () => {
    it("keeps the parent's two that a lane has taken, and closes the rest", () => {
      const before = openDescriptors()
      const offer = new RingOffer()
      assert.strictEqual(openDescriptors(), before + 5)
      const { version, segment, poll, signal } = offer.own
      assert.strictEqual(version, binding.ringVersion)
      assert.strictEqual(offer.descriptors.length, 3)
      assert.strictEqual(offer.descriptors[0], segment)
      offer.close(true)
      assert.strictEqual(openDescriptors(), before + 2)
      binding.closeDescriptors([poll, signal])
      assert.strictEqual(openDescriptors(), before)
    })

    it('closes all when no lane has taken them', () => {
      const before = openDescriptors()
      new RingOffer().close(false)
      assert.strictEqual(openDescriptors(), before)
    })

    it('has the size of the environment, and cannot be made of another', () => {
      const before = openDescriptors()
      const sizes = { 65536: true, 4194304: true, '': false, 1000: false, text: false, '-65536': false, 65537: false }
      try {
        for (const [size, isPossible] of Object.entries(sizes)) {
          process.env.FORKLANE_RING_SIZE = size
          if (!isPossible) {
            assert.throws(() => new RingOffer(), Error, size)
            continue
          }
          const offer = new RingOffer()
          const header = Buffer.alloc(24)
          fs.readSync(offer.own.segment, header, 0, 24, 0)
          assert.strictEqual(header.readBigUInt64LE(16), BigInt(size))
          offer.close(false)
        }
      } finally {
        delete process.env.FORKLANE_RING_SIZE
      }
      assert.strictEqual(openDescriptors(), before)
    })

    it('that cannot be made leaves the channel on the socket, which says why', () => {
      process.env.FORKLANE_RING_SIZE = '1000'
      try {
        const { options } = spawned({ stdio: STDIO, envPairs: [] })
        assert.strictEqual(options.stdio, STDIO)
        assert.strictEqual(channelOf(options).ring, undefined)
        assert.strictEqual('ring' in channelOf(options), false)
        const child = forklane.fork(fixture('echo.js'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
        assert.match(forklane.lane(child).reason, /^no ring can be made: ./)
        child.kill()
      } finally {
        delete process.env.FORKLANE_RING_SIZE
      }
    })
  })

  describe('withHook()', () => {
    const { prototype } = ChildProcess

    it('is in place during the call only', () => {
      const { spawn } = prototype
      assert.strictEqual(withHook(() => {
        assert.notStrictEqual(prototype.spawn, spawn)
        return 'result'
      }), 'result')
      assert.strictEqual(prototype.spawn, spawn)
    })

    it('is gone after a call that throws', () => {
      const { spawn } = prototype
      const error = new Error('by the call')
      assert.throws(() => withHook(() => { throw error }), error)
      assert.strictEqual(prototype.spawn, spawn)
    })

    it('leaves a spawn() that somebody else sets in the meantime', () => {
      const { spawn } = prototype
      const theirs = () => {}
      try {
        withHook(() => { prototype.spawn = theirs })
        assert.strictEqual(prototype.spawn, theirs)
      } finally {
        prototype.spawn = spawn
      }
    })
  })

  describe('in a directory of any name', () => {
    const lib = path.join(__dirname, '..', '..', 'lib')
    const build = path.join(__dirname, '..', '..', 'build')
    let directory
    beforeEach(() => {
      directory = fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-'))
    })
    afterEach(() => fs.rmSync(directory, { recursive: true }))

    for (const name of [
      'with spaces', 'with "quotes"', "it's", 'back\\slash', 'all\\ of " them\\\\"', 'ünïcode€', 'a=b $c'
    ]) {
      it(`is preloaded and restores the environment: ${name}`, () => {
        const copy = path.join(directory, name, 'lib')
        fs.cpSync(lib, copy, { recursive: true })
        fs.symlinkSync(build, path.join(directory, name, 'build'))
        const { hooked } = require(path.join(copy, 'hook.js'))
        for (const theirs of [[], ['NODE_OPTIONS=--title="a b"']]) {
          const pairs = environment({ envPairs: [`PATH=${process.env.PATH}`, ...theirs] }, hooked)
          const env = Object.fromEntries(pairs.map((pair) => {
            const at = pair.indexOf('=')
            return [pair.slice(0, at), pair.slice(at + 1)]
          }))
          assert('FORKLANE_CHANNEL' in env)
          const program = `process.stdout.write(JSON.stringify([
            process.env.NODE_OPTIONS, process.env.FORKLANE_CHANNEL, process.title
          ]))`
          const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { env })
          assert.strictEqual(stderr.toString(), '')
          const [nodeOptions, variable, title] = JSON.parse(stdout)
          assert.strictEqual(nodeOptions ?? undefined, theirs[0]?.slice('NODE_OPTIONS='.length))
          assert.strictEqual(variable, null) // only the preload takes it away
          if (theirs.length > 0) assert.strictEqual(title, 'a b')
        }
      })
    }
  })
})
