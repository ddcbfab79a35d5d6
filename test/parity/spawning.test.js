'use strict'

// How a child is started and what it sees of that: exactly what it sees under
// stock, although forklane has a file of its own run in it first.

const assert = require('node:assert')
const stock = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { text } = require('node:stream/consumers')
const { pathToFileURL } = require('node:url')
const util = require('node:util')
const { Worker } = require('node:worker_threads')
const forklane = require('../../lib/index.js')
const { Inbox, inTime } = require('../helpers/inbox.js')
const { fixture, preload } = require('../helpers/parties.js')

const index = path.join(__dirname, '..', '..', 'lib', 'index.js')
const report = fixture('report-process.js')
const IPC = ['pipe', 'pipe', 'pipe', 'ipc']
const PIPE = { send: 'pipe', receive: 'pipe' }
const CORE = { send: 'core', receive: 'core' }
const RING = { send: 'ring', receive: 'ring', reason: null }

const [major] = process.versions.node.split('.').map(Number)
const PERMISSION = major < 24 ? '--experimental-permission' : '--permission'

let directory

function inDirectory (name) {
  return path.join(directory, name)
}

/** Everything about a child that can be seen from outside, and its message. */
async function observe (child) {
  // Of the descriptors those that the program gave it; ours come behind them.
  const { length } = child.stdio
  const message = once(child, 'message').then(([message]) => message && Object.assign(message, {
    descriptors: message.descriptors?.slice(0, length)
  }), String)
  const outside = {
    connected: child.connected,
    keys: Reflect.ownKeys(child).map(String),
    events: child.eventNames().map(String).sort(),
    spawnfile: child.spawnfile,
    spawnargs: child.spawnargs,
    stdio: child.stdio.map((stream) => stream && stream.constructor.name)
  }
  const output = Promise.all([child.stdout, child.stderr].map((stream) => stream && text(stream)))
  const [code, signal] = await inTime(once(child, 'exit'), 'exit')
  const [stdout, stderr] = await output
  return {
    ...outside,
    message: code === 0 ? await inTime(message, 'report') : null,
    code,
    signal,
    // Warnings name the process, and a test runner says how long it took.
    stdout: stdout?.replaceAll(/duration_ms:? [\d.]+/g, 'duration'),
    stderr: stderr?.replaceAll(child.pid, 'PID')
  }
}

/** Starts the same child under both and expects them to be the same. */
async function assertSame (start) {
  const [expected, actual] = await Promise.all([observe(start(stock)), observe(start(forklane))])
  assert.deepStrictEqual(actual, expected)
  return expected
}

function quiet (options) {
  return { silent: true, ...options }
}

describe('spawning', () => {
  before(() => {
    directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'forklane-')))
    fs.writeFileSync(inDirectory('record it.js'),
      "(globalThis.loaded ??= []).push('record it', typeof process.env.FORKLANE_CHANNEL, process.env.NODE_OPTIONS)")
    fs.writeFileSync(inDirectory('record.js'), "(globalThis.loaded ??= []).push('record')")
    fs.writeFileSync(inDirectory('record.mjs'), "(globalThis.loaded ??= []).push('module')")
    fs.mkdirSync(inDirectory('a b "c" \u00e9'))
    fs.copyFileSync(report, inDirectory('a b "c" \u00e9/m\u00e4in \u20ac.js'))
    fs.writeFileSync(inDirectory('main.mjs'), `import ${JSON.stringify(pathToFileURL(report))}`)
    fs.symlinkSync(process.execPath, inDirectory('the node'))
  })

  after(() => fs.rmSync(directory, { recursive: true }))

  describe('a child sees what it sees under stock', () => {
    const withOptions = (options) => (childProcess) => childProcess.fork(report, quiet(options))
    const withNodeOptions = (makeOptions) => (childProcess) => childProcess.fork(report, quiet({
      env: { FIRST: '1', NODE_OPTIONS: makeOptions(), LAST: '2' }
    }))

    const FORMS = {
      'fork(path)': ({ fork }) => fork(report, quiet()),
      'fork(path, args)': ({ fork }) => fork(report, ['a', '--b=c d', ''], quiet()),
      'fork(path, null, options)': ({ fork }) => fork(report, null, quiet()),
      'fork(URL)': ({ fork }) => fork(pathToFileURL(report), quiet()),
      'fork() of a path with spaces and non-ASCII': ({ fork }) => fork(inDirectory('a b "c" \u00e9/m\u00e4in \u20ac.js'), quiet()),
      'fork() of that path as URL': ({ fork }) => fork(pathToFileURL(inDirectory('a b "c" \u00e9/m\u00e4in \u20ac.js')), quiet()),
      'fork() of a relative path with cwd': ({ fork }) => fork('./m\u00e4in \u20ac.js', quiet({ cwd: inDirectory('a b "c" \u00e9') })),
      'fork() of a module': ({ fork }) => fork(inDirectory('main.mjs'), quiet()),
      'fork() with execPath': ({ fork }) => fork(report, quiet({ execPath: inDirectory('the node') })),
      'silent: false': ({ fork }) => fork(report, { silent: false, execArgv: [] }),
      'stdio: string': withOptions({ stdio: 'ignore' }),
      'stdio: ipc last': withOptions({ stdio: IPC }),
      'stdio: ipc third': withOptions({ stdio: ['pipe', 'pipe', 'ipc', 'pipe'] }),
      'stdio: ipc first': withOptions({ stdio: ['ipc', 'pipe', 'pipe'] }),
      'stdio: ipc far': withOptions({ stdio: ['ignore', 'pipe', 'pipe', 'ignore', 'pipe', null, 'ipc'] }),
      'stdio: more after ipc': withOptions({ stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe', 'overlapped', 2] }),
      'stdio: a stream': withOptions({ stdio: ['ignore', 'pipe', process.stderr, 'ipc'] }),
      'serialization: advanced': withOptions({ serialization: 'advanced' }),
      'detached: true': withOptions({ detached: true }),
      'env: one value': withOptions({ env: { ONLY: 'this' } }),
      'env: empty': withOptions({ env: {} }),
      'env: order of keys': withOptions({ env: { Z: '1', A: '2', 5: '3', M: 'a b "c"\n=', EMPTY: '', NOT: undefined } }),
      'env: inherited values': withOptions({ env: Object.assign(Object.create({ ABOVE: '1' }), { OWN: '2' }) }),
      'env: lower case node_options': withOptions({ env: { node_options: '--nothing', forklane: 'off' } }),
      'env: NODE_OPTIONS': withNodeOptions(() => '--no-warnings'),
      'env: NODE_OPTIONS, empty': withNodeOptions(() => ''),
      'env: NODE_OPTIONS, blank': withNodeOptions(() => '  '),
      'env: NODE_OPTIONS, spaces around': withNodeOptions(() => '  --no-warnings   --stack-trace-limit=20 '),
      'env: NODE_OPTIONS, quotes': withNodeOptions(() => '--title="a \\"b\\" \\\\ c" --no-warnings'),
      'env: NODE_OPTIONS, --require': withNodeOptions(() => `--require "${inDirectory('record it.js')}" --require=${inDirectory('record.js')}`),
      'env: NODE_OPTIONS, --import': withNodeOptions(() => `--import ${pathToFileURL(inDirectory('record.mjs'))}`),
      'env: NODE_OPTIONS, --no-addons': withNodeOptions(() => '--no-addons'),
      'env: NODE_OPTIONS, --no-addons in quotes': withNodeOptions(() => '"--no-addons"'),
      'env: FORKLANE=off': withOptions({ env: { A: '1', FORKLANE: 'off', NODE_OPTIONS: '--no-warnings' } }),
      'execArgv: --require': ({ fork }) => fork(report, quiet({ execArgv: ['--require', inDirectory('record it.js'), '-r', inDirectory('record.js')] })),
      'execArgv: quotes and spaces': withOptions({ execArgv: ['--title=a "b" \\ c', '--stack-trace-limit=5'] }),
      'execArgv and NODE_OPTIONS': ({ fork }) => fork(report, quiet({
        execArgv: ['--require', inDirectory('record.js')],
        env: { NODE_OPTIONS: `--require "${inDirectory('record it.js')}"` }
      })),
      'spawn(node)': ({ spawn }) => spawn(process.execPath, ['--no-warnings', report, 'a b'], { stdio: IPC }),
      'spawn(node), advanced': ({ spawn }) => spawn(process.execPath, [report], { stdio: IPC, serialization: 'advanced' }),
      'spawn() with argv0': ({ spawn }) => spawn(process.execPath, [report], { stdio: IPC, argv0: 'another name' }),
      'spawn() with eval': ({ spawn }) => spawn(process.execPath, ['-e', `require(${JSON.stringify(report)})`, 'a'], { stdio: IPC }),
      'spawn() in a shell': ({ spawn }) => spawn(`'${process.execPath}' '${report}' "a b"`, { stdio: IPC, shell: true }),
      'spawn() with a relative name': ({ spawn }) => spawn('./the node', [report], { stdio: IPC, cwd: directory }),
      'spawn() with a name in PATH': ({ spawn }) => spawn('the node', [report], { stdio: IPC, env: { PATH: directory } }),
      'spawn() of a program in between': ({ spawn }) => spawn('env', ['ADDED=1', process.execPath, report], { stdio: IPC })
    }

    for (const [title, start] of Object.entries(FORMS)) {
      it(title, async () => assert.strictEqual((await assertSame(start)).code, 0))
    }

    // The child ends before any file is run, and what it prints is the user's.
    for (const options of ['--no-such-option', '--title="a', '--require ./no-such-file.js']) {
      it(`env: NODE_OPTIONS, ${options}`, async () => {
        assert.notStrictEqual((await assertSame(withNodeOptions(() => options))).code, 0)
      })
    }

    // Options under which the file that forklane has run first could be noticed.
    for (const option of [
      '--pending-deprecation', '--throw-deprecation', '--trace-deprecation', '--trace-warnings',
      '--frozen-intrinsics', '--disable-proto=throw', '--disable-proto=delete', '--no-deprecation',
      '--disallow-code-generation-from-strings', '--preserve-symlinks', '--no-node-snapshot',
      '--enable-source-maps', '--expose-gc', '--no-addons', '--no-global-search-paths', '--jitless'
    ]) {
      it(`execArgv: ${option}`, async () => {
        const { code } = await assertSame(({ fork }) => fork(report, quiet({ execArgv: [option] })))
        assert.strictEqual(code, 0)
      })
    }

    it(`execArgv: ${PERMISSION}`, () => assertSame(({ fork }) => fork(report, quiet({
      execArgv: [PERMISSION, '--allow-fs-read=*']
    }))))

    // The runner starts a grandchild, which has no channel.
    it('execArgv: --test', async () => {
      const { code, stdout } = await assertSame(({ spawn }) => spawn(
        process.execPath, ['--test-reporter=tap', '--test', report], { stdio: IPC }
      ))
      assert.strictEqual(code, 1)
      assert.match(stdout, /process\.send is not a function/)
    })

    it('spawn() without a channel', async () => {
      const start = ({ spawn }) => spawn(process.execPath, ['-p', 'JSON.stringify(process.env)'], { env: { A: '1' } })
      const children = [start(stock), start(forklane)]
      const [expected, actual] = await Promise.all(children.map(({ stdout }) => text(stdout)))
      assert.strictEqual(expected, '{"A":"1"}\n')
      assert.strictEqual(actual, expected)
      assert.deepStrictEqual(...children.map(Reflect.ownKeys))
    })

    it('a grandchild, which inherits nothing', () => assertSame(({ fork }) => fork(fixture('fork-grandchild.js'), quiet())))

    it('a grandchild, and NODE_OPTIONS', () => assertSame(({ fork }) => fork(fixture('fork-grandchild.js'), quiet({
      env: { PATH: process.env.PATH, NODE_OPTIONS: `--require "${inDirectory('record it.js')}"`, LAST: '1' }
    }))))

    for (const args of [[], ['--share-env']]) {
      it(`a worker thread of a child ${args}`, () => assertSame(({ fork }) => fork(fixture('report-from-worker.js'), args, quiet({
        env: { FIRST: '1', NODE_OPTIONS: '--no-warnings', LAST: '2' }
      }))))
    }
  })

  describe('in the child', () => {
    it('nothing is left of the preload in the environment', async () => {
      const { message } = await observe(forklane.fork(report, quiet({ env: {} })))
      assert.deepStrictEqual(message.environment, [])
    })

    it('the files of NODE_OPTIONS run after the environment is restored', async () => {
      const options = `--require "${inDirectory('record it.js')}"`
      const { message } = await observe(forklane.fork(report, quiet({ env: { NODE_OPTIONS: options } })))
      assert.deepStrictEqual(message.loaded, ['record it', 'undefined', options])
      assert.deepStrictEqual(message.environment, [['NODE_OPTIONS', options]])
    })
  })

  describe('lane()', () => {
    // The lanes of both ends: when the parent has just started the child, and the
    // child its program; and when messages have come both ways.
    async function lanes (options, childProcess = forklane, args = [index]) {
      const child = childProcess.fork(fixture('report-lane.js'), args, quiet(options))
      const inbox = new Inbox(child)
      const parent = [forklane.lane(child)]
      const answers = [await inbox.next()]
      child.send('again')
      answers.push(await inbox.next())
      parent.push(forklane.lane(child))
      return { parent, child: answers }
    }

    function assertLane (actual, { send, receive }, reason) {
      assert.strictEqual(actual.send, send)
      assert.strictEqual(actual.receive, receive)
      assert.match(String(actual.reason), reason)
    }

    // At both times.
    function assertLanes (actual, lane, reason) {
      assert.strictEqual(actual.length, 2)
      for (const each of actual) assertLane(each, lane, reason)
    }

    function assertGoesToRing ({ parent, child }) {
      assertLane(parent[0], PIPE, /^the other side has not attached yet$/)
      assertLane(child[0], { send: 'ring', receive: 'pipe' }, /^the other side has not attached yet$/)
      assert.deepStrictEqual([parent[1], child[1]], [RING, RING])
    }

    async function withOff (body) {
      process.env.FORKLANE = 'off'
      try {
        return await body()
      } finally {
        delete process.env.FORKLANE
      }
    }

    for (const serialization of ['json', 'advanced']) {
      it(`is pipe until the other side has attached, and then ring (${serialization})`, async () => {
        assertGoesToRing(await lanes({ serialization }))
      })
    }

    it('is core at both ends with FORKLANE=off in the environment', () => withOff(async () => {
      const { parent, child } = await lanes()
      assertLanes(parent, CORE, /^FORKLANE=off$/)
      assertLanes(child, CORE, /^FORKLANE=off$/)
    }))

    it('is core in a child that has FORKLANE=off in its environment, and pipe in its parent', async () => {
      const { parent, child } = await lanes({ env: { FORKLANE: 'off' } })
      assertLanes(parent, PIPE, /^FORKLANE=off$/)
      assertLanes(child, CORE, /^FORKLANE=off$/)
    })

    it('is core in a child with FORKLANE=off that requires forklane/child', async () => {
      const { child } = await lanes({ env: { FORKLANE: 'off' }, execArgv: ['--require', preload] }, stock)
      assertLanes(child, CORE, /^FORKLANE=off$/)
    })

    it('is pipe in a child of stock that requires forklane/child', async () => {
      const { parent, child } = await lanes({ execArgv: ['--require', preload] }, stock)
      assertLanes(parent, CORE, /^not started by forklane$/)
      assertLanes(child, PIPE, /^not started by forklane$/)
    })

    it('is core in a child of stock', async () => {
      const { child } = await lanes({}, stock)
      assertLanes(child, CORE, /^not started by forklane$/)
    })

    const REFUSALS = {
      '--no-addons': [['--no-addons'], /addon/],
      [PERMISSION]: [[PERMISSION, '--allow-fs-read=*'], /permission/]
    }

    for (const [option, [execArgv, reason]] of Object.entries(REFUSALS)) {
      it(`is core in a child with ${option}, and both say so`, async () => {
        const { parent, child } = await lanes({ execArgv })
        assertLanes(parent, PIPE, new RegExp(`^the child has ${option}$`))
        assertLanes(child, CORE, reason)
      })

      it(`is core in a child with ${option} in NODE_OPTIONS, and says so`, async function () {
        if (option.startsWith('--experimental')) this.skip() // not allowed there
        const { child } = await lanes({ env: { NODE_OPTIONS: execArgv.join(' ') } })
        assertLanes(child, CORE, reason)
      })

      it(`is core in a child with ${option} that requires forklane/child, and says so`, async () => {
        const { child } = await lanes({ execArgv: [...execArgv, '--require', preload] }, stock)
        assertLanes(child, CORE, reason)
      })
    }

    it('is null without a channel', () => {
      const child = forklane.spawn('true')
      assert.strictEqual(forklane.lane(child), null)
      assert.strictEqual(forklane.lane(undefined), null)
      assert.strictEqual(forklane.lane({}), null)
      const output = stock.execFileSync(process.execPath, [
        '-p', `require(${JSON.stringify(index)}).lane(process)`
      ], { encoding: 'utf8' })
      assert.strictEqual(output, 'null\n')
    })

    it('is ring when a worker thread forks', async () => {
      const worker = new Worker(fixture('fork-in-worker.js'))
      const [{ lane, message }] = await inTime(once(worker, 'message'), 'message')
      assert.deepStrictEqual(lane, RING)
      assert.strictEqual(message, 'from a worker')
      assert.deepStrictEqual(await inTime(once(worker, 'exit'), 'exit'), [0])
    })

    it('is ring when the package is in a folder with an odd name', () => {
      const folder = inDirectory('pack "age" \\ \'it\' $HOME \u00e9\u20ac')
      const root = path.join(__dirname, '..', '..')
      fs.cpSync(path.join(root, 'lib'), path.join(folder, 'lib'), { recursive: true })
      fs.cpSync(path.join(root, 'build', 'Release'), path.join(folder, 'build', 'Release'), {
        recursive: true,
        filter: (source) => fs.statSync(source).isDirectory() || source.endsWith('.node')
      })
      const output = stock.execFileSync(process.execPath, [
        fixture('report-lane.js'), path.join(folder, 'lib', 'index.js')
      ], { encoding: 'utf8' })
      const { parent: [before, , after], child } = JSON.parse(output)
      assertGoesToRing({ parent: [before, after], child })
    })
  })

  describe('failures are those of stock', () => {
    const shape = (error) => ({
      class: error.constructor.name,
      own: Object.getOwnPropertyNames(error).filter((name) => name !== 'stack').sort(),
      ...Object.fromEntries(['name', 'message', 'code', 'errno', 'syscall', 'path', 'spawnargs'].map((name) => [name, error[name]]))
    })

    // What becomes of a child that cannot be started.
    async function failing (start) {
      const child = start()
      const events = []
      const { emit } = child
      child.emit = function (name, ...args) {
        if (name !== 'newListener' && name !== 'removeListener') {
          events.push([name, ...args.map((value) => value instanceof Error ? shape(value) : value)])
        }
        return emit.call(this, name, ...args)
      }
      child.on('error', () => {})
      const { pid, connected, exitCode, spawnfile, spawnargs } = child
      const sent = []
      for (const message of ['text', { a: 1 }]) child.send?.(message, (error) => sent.push(error && shape(error)))
      await inTime(new Promise((resolve) => child.once('close', resolve)), 'close')
      await new Promise((resolve) => setImmediate(resolve))
      return { pid, connected, exitCode, spawnfile, spawnargs, events, sent, after: child.exitCode }
    }

    const FAILING = {
      'fork() with an execPath that does not exist': ({ fork }) => fork(report, { execPath: '/no/such/file' }),
      'fork() with an execPath that cannot be run': ({ fork }) => fork(report, { execPath: report }),
      'fork() with a cwd that does not exist': ({ fork }) => fork(report, ['a'], { cwd: '/no/such/folder' }),
      'spawn() of a file that does not exist': ({ spawn }) => spawn('no-such-program', ['a', 'b'], { stdio: ['ignore', 'pipe', 'ignore', 'ipc'] }),
      'spawn() without a channel': ({ spawn }) => spawn('no-such-program', ['a'])
    }

    for (const [title, start] of Object.entries(FAILING)) {
      it(title, async () => {
        const expected = await failing(() => start(stock))
        assert.ok(expected.events.some(([name]) => name === 'error'))
        assert.deepStrictEqual(await failing(() => start(forklane)), expected)
      })
    }

    it('fork() of a module that does not exist', async () => {
      const { code, stderr } = await assertSame(({ fork }) => fork('/no/such/module.js', quiet()))
      assert.strictEqual(code, 1)
      assert.match(stderr, /MODULE_NOT_FOUND/)
    })

    const THROWING = {
      'fork()': ({ fork }) => fork(),
      'fork(null)': ({ fork }) => fork(null),
      'fork(1)': ({ fork }) => fork(1),
      'fork({})': ({ fork }) => fork({}),
      'fork(http URL)': ({ fork }) => fork(new URL('http://host/a.js')),
      'fork() with a NUL in the path': ({ fork }) => fork('a\0b'),
      'fork() with args that are a string': ({ fork }) => fork(report, 'a'),
      'fork() with a NUL in args': ({ fork }) => fork(report, ['a\0']),
      'fork() with options that are a string': ({ fork }) => fork(report, [], 'a'),
      'fork() without ipc': ({ fork }) => fork(report, { stdio: ['pipe', 'pipe', 'pipe'] }),
      'fork() with bad stdio': ({ fork }) => fork(report, { stdio: 'no' }),
      'fork() with bad stdio items': ({ fork }) => fork(report, { stdio: ['ipc', 'no'] }),
      'fork() with two ipc': ({ fork }) => fork(report, { stdio: ['ipc', 'ipc', 'pipe'] }),
      'fork() with bad serialization': ({ fork }) => fork(report, { serialization: 'xml' }),
      'fork() with a NUL in execArgv': ({ fork }) => fork(report, { execArgv: ['\0'] }),
      'fork() with a bad execPath': ({ fork }) => fork(report, { execPath: 5 }),
      'fork() with a NUL in env': ({ fork }) => fork(report, { env: { A: '\0' } }),
      'fork() with a bad env': ({ fork }) => fork(report, { env: { get A () { throw new RangeError('from env') } } }),
      'fork() with a bad cwd': ({ fork }) => fork(report, { cwd: 5 }),
      'fork() with a bad timeout': ({ fork }) => fork(report, { timeout: -1 }),
      'fork() with a bad signal': ({ fork }) => fork(report, { signal: 'a' }),
      'fork() with a bad uid': ({ fork }) => fork(report, { uid: 1.5 }),
      'spawn()': ({ spawn }) => spawn(),
      "spawn('')": ({ spawn }) => spawn(''),
      'spawn(1)': ({ spawn }) => spawn(1),
      'spawn() with bad args': ({ spawn }) => spawn('true', 'a'),
      'spawn() with bad options': ({ spawn }) => spawn('true', [], 5),
      'spawn() with two ipc': ({ spawn }) => spawn('true', { stdio: ['ipc', 'ipc'] }),
      'spawn() with ipc and bad serialization': ({ spawn }) => spawn('true', { stdio: IPC, serialization: 5 }),
      'spawn() with ipc and a bad item': ({ spawn }) => spawn('true', { stdio: [...IPC, {}] }),
      'spawn() with ipc and a bad argv0': ({ spawn }) => spawn('true', { stdio: IPC, argv0: 5 }),
      'spawn() with ipc and a bad shell': ({ spawn }) => spawn('true', { stdio: IPC, shell: 5 }),
      'spawn() with ipc and a bad killSignal': ({ spawn }) => spawn('true', { stdio: IPC, killSignal: 'NO' }),
      'ChildProcess.spawn()': ({ ChildProcess }) => new ChildProcess().spawn(),
      'ChildProcess.spawn() with bad options': ({ ChildProcess }) => new ChildProcess().spawn({ file: 5 }),
      'ChildProcess.spawn() with bad envPairs': ({ ChildProcess }) => new ChildProcess().spawn({ file: 'a', stdio: IPC, envPairs: 5 })
    }

    function thrown (start) {
      try {
        start()
      } catch (error) {
        return shape(error)
      }
      assert.fail('nothing thrown')
    }

    for (const [title, start] of Object.entries(THROWING)) {
      it(title, () => {
        const original = stock.ChildProcess.prototype.spawn
        assert.deepStrictEqual(thrown(() => start(forklane)), thrown(() => start(stock)))
        assert.strictEqual(stock.ChildProcess.prototype.spawn, original)
      })
    }

    it('fork() with an aborted signal', async () => {
      // The other events depend on how far the child came.
      const errors = async (childProcess) => {
        const start = () => childProcess.fork(report, quiet({ signal: AbortSignal.abort() }))
        return (await failing(start)).events.filter(([name]) => name === 'error')
      }
      const expected = await errors(stock)
      assert.strictEqual(expected.length, 1)
      assert.deepStrictEqual(await errors(forklane), expected)
    })
  })

  describe('exports', () => {
    it('are the names of stock and lane', () => {
      assert.deepStrictEqual(Object.keys(forklane).sort(), [...Object.keys(stock), 'lane'].sort())
    })

    it('are what stock exports, but for fork and spawn', () => {
      for (const [name, value] of Object.entries(stock)) {
        if (name !== 'fork' && name !== 'spawn') assert.strictEqual(forklane[name], value)
      }
    })

    for (const name of ['fork', 'spawn']) {
      it(`${name} has length and name of stock's`, () => {
        assert.strictEqual(forklane[name].length, stock[name].length)
        assert.strictEqual(forklane[name].name, stock[name].name)
      })
    }

    it('can be imported by name', async () => {
      const { childProcess, names } = await import('../fixtures/import-names.mjs')
      assert.deepStrictEqual({ ...names }, { ...forklane })
      assert.strictEqual(childProcess, forklane)
    })

    it('can be required by the name of the package', () => {
      assert.strictEqual(require('forklane'), forklane)
      assert.strictEqual(require.resolve('forklane/child'), preload)
    })

    it('work with util.promisify()', async () => {
      const code = 'console.log(1); console.error(2)'
      const expected = { stdout: '1\n', stderr: '2\n' }
      const { exec, execFile } = forklane
      assert.deepStrictEqual(
        { ...await util.promisify(exec)(`"${process.execPath}" -e "${code}"`) }, expected)
      assert.deepStrictEqual(
        { ...await util.promisify(execFile)(process.execPath, ['-e', code]) }, expected)
    })

    it('leave ChildProcess.prototype as it was', () => {
      const { prototype } = stock.ChildProcess
      const before = Object.getOwnPropertyDescriptors(prototype)
      forklane.spawn('true')
      assert.deepStrictEqual(Object.getOwnPropertyDescriptors(prototype), before)
    })
  })

  describe('a wrapper that adds to NODE_OPTIONS', () => {
    const WRAPPERS = {
      behind: 'NODE_OPTIONS="$NODE_OPTIONS --stack-trace-limit=5"',
      'in front': 'NODE_OPTIONS="--stack-trace-limit=5 $NODE_OPTIONS"',
      'in place of them': 'NODE_OPTIONS=--stack-trace-limit=5',
      nothing: 'OTHER=1'
    }
    const program = 'process.send([process.env.NODE_OPTIONS])'
    for (const [where, assignment] of Object.entries(WRAPPERS)) {
      for (const theirs of [undefined, '', '--no-warnings']) {
        it(`leaves them as under stock: ${where}, ${theirs}`, async () => {
          const env = { ...process.env, NODE_OPTIONS: theirs }
          const seen = await Promise.all([stock, forklane].map(async ({ spawn }) => {
            const child = spawn('sh', ['-c', `${assignment} exec "$0" -e "$1"`, process.execPath, program], {
              env, stdio: ['ignore', 'inherit', 'inherit', 'ipc']
            })
            const inbox = new Inbox(child)
            const message = await inbox.next()
            await inbox.close()
            return message
          }))
          assert.deepStrictEqual(seen[1], seen[0])
        })
      }
    }
  })

  describe('a child that is no Node program', () => {
    it('speaks JSON from a shell', async () => {
      const program = 'echo "\\"hi\\"" >&"$NODE_CHANNEL_FD"; read -r line <&"$NODE_CHANNEL_FD"; ' +
        'echo "[$line,$line]" >&"$NODE_CHANNEL_FD"'
      const child = forklane.spawn('sh', ['-c', program], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      assert.strictEqual(forklane.lane(child).send, 'pipe')
      const inbox = new Inbox(child)
      assert.strictEqual(await inbox.next(), 'hi')
      child.send({ a: 'b \u20ac' })
      assert.deepStrictEqual(await inbox.next(), [{ a: 'b \u20ac' }, { a: 'b \u20ac' }])
      await inbox.close()
    })

    const CASES = {
      json: {
        sent: { a: 1 },
        bytes: Buffer.from('{"a":1}\n'),
        answers: [Buffer.from('"hi"\n[1,2]\n'), Buffer.from('{"\u20ac":'), Buffer.from('null}\n')],
        received: ['hi', [1, 2], { '\u20ac': null }]
      },
      advanced: {
        sent: 'hi',
        bytes: Buffer.from('00000006ff0f22026869', 'hex'),
        answers: [
          Buffer.from('00000006ff0f22026869' + '00000003ff0f', 'hex'), Buffer.from('54', 'hex'),
          Buffer.from('0000000aff0f6f22016149027b01', 'hex')
        ],
        received: ['hi', true, { a: 1 }]
      }
    }

    for (const [serialization, { sent, bytes, answers, received }] of Object.entries(CASES)) {
      it(`speaks ${serialization} from Python`, async function () {
        if (stock.spawnSync('python3', ['--version']).status !== 0) this.skip()
        const child = forklane.spawn('python3', [
          fixture('channel.py'), ...answers.map((answer) => answer.toString('hex'))
        ], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], serialization })
        const inbox = new Inbox(child)
        child.send(sent)
        assert.deepStrictEqual(await inbox.take(received.length), received)
        assert.strictEqual(await text(child.stdout), `${bytes.toString('hex')}\n`)
        await inbox.close()
      })
    }
  })
})
