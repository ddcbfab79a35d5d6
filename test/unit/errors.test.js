'use strict'

// The errors that the package makes itself.

const assert = require('node:assert')
const { once } = require('node:events')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { corrupt, noJson, systemError } = require('../../lib/errors.js')
const { shape } = require('../helpers/thrown.js')

describe('errors', () => {
  it('corrupt() carries the reason as text and as cause', () => {
    const cause = new SyntaxError('Unexpected end of JSON input')
    const error = corrupt(cause)
    assert(error instanceof Error)
    assert.strictEqual(error.code, 'ERR_FORKLANE_CORRUPT')
    assert.strictEqual(error.message, 'Received data that is no message: Unexpected end of JSON input')
    assert.strictEqual(error.cause, cause)
    assert(!Object.keys(error).includes('cause'))
  })

  it('corrupt() does with a reason that is no error', () => {
    for (const cause of [undefined, null, 'text', { message: 'not an Error' }]) {
      const error = corrupt(cause)
      assert.strictEqual(error.code, 'ERR_FORKLANE_CORRUPT')
      assert.strictEqual(error.cause, cause)
    }
  })

  it('noJson() is a TypeError, as what JSON itself throws', () => {
    const error = noJson()
    assert(error instanceof TypeError)
    assert.strictEqual(error.code, 'ERR_FORKLANE_NO_JSON')
  })

  it("systemError() has the shape of Node's own", async () => {
    // What a socket of Node reports, which is the error of the channel's Pipe too.
    const socket = net.connect(path.join(os.tmpdir(), 'forklane-no-such-socket'))
    const [native] = await once(socket, 'error')
    const error = systemError(native.errno, 'connect')
    const { message, own, keys, ...rest } = shape(native)
    assert.deepStrictEqual(shape(error), {
      ...rest,
      message: 'connect ENOENT',
      own: own.filter((name) => name !== 'address'),
      keys: keys.filter((name) => name !== 'address')
    })
    assert(message.startsWith(error.message))
  })
})
