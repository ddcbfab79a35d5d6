'use strict'

// Sockets and servers travel with messages, and keep their exact place among
// the ordinary messages, which go another way through forklane.

const assert = require('node:assert')
const { spawnSync } = require('node:child_process')
const { once } = require('node:events')
const net = require('node:net')
const { happened, outcome, tracked } = require('../helpers/children.js')
const { LISTS, listening, receiveHandles, sendHandles } = require('../helpers/handles.js')
const { inTime } = require('../helpers/inbox.js')
const { PARENTS, fixture, forEachChannel, startAs } = require('../helpers/parties.js')

/** Returns when the child does not run any more. */
function stop (child) {
  child.kill('SIGSTOP')
  while (!spawnSync('ps', ['-o', 'stat=', '-p', child.pid]).stdout.toString().startsWith('T'));
}

describe('handles', () => {
  forEachChannel((parties) => {
    const start = async (...args) => tracked(await startAs(parties, fixture('handles-end.js'), args))

    for (const name of Object.keys(LISTS)) {
      it(`keep their place, parent to child: ${name}`, async () => {
        const child = await start('receive')
        const reported = once(child, 'message')
        const expected = await inTime(sendHandles(child, LISTS[name]), 'use of the handles')
        const [{ log }] = await inTime(reported, 'report')
        assert.deepStrictEqual(log, expected)
      })

      it(`keep their place, child to parent: ${name}`, async () => {
        const child = await start('send', name)
        const log = await inTime(receiveHandles(child), 'end of the messages')
        const [{ expected }] = await inTime(once(child, 'message'), 'report')
        assert.deepStrictEqual(log, expected)
      })
    }

    it('keep their place in both directions at once', async () => {
      const name = 'many, with messages between'
      const child = await start('both', name)
      const received = receiveHandles(child)
      // The report comes before what is held in the child for a handle, or after.
      const reported = new Promise((resolve) => child.on('message', (message) => {
        if (message?.expected) resolve(message)
      }))
      const expected = await inTime(sendHandles(child, LISTS[name]), 'use of the handles')
      const report = await inTime(reported, 'report')
      assert.deepStrictEqual(await inTime(received, 'end of the messages'), report.expected)
      assert.deepStrictEqual(report.log, expected)
    })

    it('that are sent twice go once', async () => {
      const child = await start('receive')
      const server = await listening(net.createServer({ pauseOnConnect: true }))
      const client = net.connect(server.address().port, '127.0.0.1')
      const [socket] = await once(server, 'connection')
      const { localPort } = socket
      const reported = once(child, 'message')
      child.send('before')
      child.send('first', socket)
      child.send('between')
      child.send('second', socket)
      child.send('after')
      child.send('end')
      const [{ log }] = await inTime(reported, 'report')
      assert.deepStrictEqual(log, [
        ['before', null], ['first', ['socket', localPort]], ['between', null], ['second', null], ['after', null]
      ])
      client.destroy()
      server.close()
    })

    it('of sockets are sent again if the receiver does not get them, and given up with a warning', async () => {
      const child = await start('refuse')
      const server = await listening(net.createServer({ pauseOnConnect: true }))
      const client = net.connect(server.address().port, '127.0.0.1')
      const [socket] = await once(server, 'connection')
      const warned = once(process, 'warning')
      const reported = once(child, 'message')
      child.send('before')
      child.send('lost', socket)
      child.send('after')
      child.send('end')
      const [[warning], [{ log }]] = await inTime(Promise.all([warned, reported]), 'warning and report')
      assert.strictEqual(warning.name, 'SentHandleNotReceivedWarning')
      assert.deepStrictEqual(log, [
        ['before', null], ...Array(4).fill(['refused', null]), ['after', null]
      ])
      client.destroy()
      server.close()
    })

    it('stay usable for the sender with keepOpen', async () => {
      const child = await start('receive')
      const server = await listening(net.createServer())
      const client = net.connect(server.address().port, '127.0.0.1')
      const [socket] = await once(server, 'connection')
      let text = ''
      client.setEncoding('utf8').on('data', (data) => { text += data })
      child.send('before')
      child.send('kept', socket, { keepOpen: true })
      child.send('end')
      const [{ log }] = await inTime(once(child, 'message'), 'report')
      assert.deepStrictEqual(log, [['before', null], ['kept', ['socket', socket.localPort]]])
      if (text === '') await inTime(once(client, 'data'), 'line of the child')
      socket.write(' and more')
      while (!text.endsWith('more')) await inTime(once(client, 'data'), 'line of the parent')
      assert.strictEqual(text, 'got kept and more')
      socket.destroy()
      client.destroy()
      server.close()
    })

    it('arrive before the end that disconnect() makes', async () => {
      const child = tracked(await startAs(parties, fixture('handles-until-disconnect.js'), [], {
        silent: true
      }))
      const log = []
      const server = await listening(net.createServer())
      child.on('disconnect', () => log.push('disconnect'))
      child.send('before')
      child.send('first', server, () => log.push('sent first'))
      child.send('waits for the ACK', (error) => log.push(['sent', error]))
      child.send('second', server, () => log.push('sent second'))
      child.disconnect()
      log.push(child.connected)
      child.send('too late', ({ code }) => log.push(code))
      const { stdout } = await inTime(outcome(child), 'end of the child')
      server.close()
      assert.deepStrictEqual(JSON.parse(stdout), [
        ['before', null], ['first', 'Server'], ['waits for the ACK', null], ['second', 'Server'],
        'disconnect'
      ])
      assert.deepStrictEqual(log, [
        false, 'ERR_IPC_CHANNEL_CLOSED', 'sent first', ['sent', null], 'sent second', 'disconnect'
      ])
    })

    it('go with the peer that dies before it has acknowledged them', async () => {
      const child = await start('receive')
      const server = await listening(net.createServer())
      const log = []
      stop(child)
      child.on('error', ({ code }) => log.push(code))
      child.on('disconnect', () => log.push('disconnect'))
      child.send('first', server)
      child.send('second', server, () => log.push('sent second'))
      child.send('third')
      const closed = happened(child, 'close')
      child.kill('SIGKILL')
      await inTime(closed, 'close')
      // Node's channel waits for the ACK and never says that it is closed.
      assert.deepStrictEqual(log, [])
      assert.deepStrictEqual([child.channel, child.connected], [null, false])
      server.close()
    })

    it('are refused with the error of stock when they are none', async () => {
      const child = await start('receive')
      assert.throws(() => child.send('message', {}), {
        name: 'TypeError', code: 'ERR_INVALID_HANDLE_TYPE'
      })
      assert.throws(() => child.send('message', undefined, 'options'), {
        name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE'
      })
      assert.strictEqual(child.send('after'), true)
      child.send('end')
      const [{ log }] = await inTime(once(child, 'message'), 'report')
      assert.deepStrictEqual(log, [['after', null]])
    })

    it('that are closed already go as messages', async () => {
      const child = await start('receive')
      const server = await listening(net.createServer())
      const client = net.connect(server.address().port, '127.0.0.1')
      const [socket] = await once(server, 'connection')
      socket.destroy()
      child.send('before')
      child.send('closed', socket)
      child.send('end')
      const [{ log }] = await inTime(once(child, 'message'), 'report')
      assert.deepStrictEqual(log, [['before', null], ['closed', null]])
      client.destroy()
      server.close()
    })
  })
})

describe('cluster', () => {
  for (const party of ['stock', 'forklane']) {
    for (const serialization of ['json', 'advanced']) {
      it(`serves HTTP from two workers, ${party}, ${serialization}`, async () => {
        const { code, stdout, stderr } = await inTime(outcome(tracked(PARENTS.stock.spawn(
          process.execPath, [fixture('handles-cluster.js'), party, serialization]
        ))), 'end of the cluster')
        assert.strictEqual(stderr, '')
        assert.deepStrictEqual(JSON.parse(stdout), {
          lanes: party === 'stock' ? ['core', 'core'] : ['ring', 'ring'],
          workerLanes: party === 'stock' ? ['core', 'core'] : ['ring', 'ring'],
          served: { 1: 5, 2: 5 },
          disconnected: [0, null, true],
          killed: [null, 'SIGTERM', false],
          lastServed: { 2: 3 }
        })
        assert.strictEqual(code, 0)
      })
    }
  }
})
