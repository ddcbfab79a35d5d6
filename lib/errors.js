'use strict'

// The errors that programs get to see of the package itself. What Node reports
// about a channel keeps Node's own codes; ours begin with ERR_FORKLANE_.

const { getSystemErrorName } = require('node:util')

function coded (error, code) {
  error.code = code
  return error
}

/**
 * What a peer sent is no message. Emitted as 'error' on the channel's object.
 * @param {Error} cause what is wrong with the bytes
 * @returns {Error} `code` is ERR_FORKLANE_CORRUPT
 */
function corrupt (cause) {
  return coded(
    new Error(`Received data that is no message: ${cause?.message}`, { cause }),
    'ERR_FORKLANE_CORRUPT'
  )
}

/**
 * A message that JSON leaves nothing of (its toJSON() gave undefined). Thrown
 * by send().
 * @returns {TypeError} `code` is ERR_FORKLANE_NO_JSON
 */
function noJson () {
  return coded(
    new TypeError('The message has no JSON representation'),
    'ERR_FORKLANE_NO_JSON'
  )
}

/**
 * A system call on the channel failed: the error that Node makes of it.
 * @param {number} errno libuv's code, negative
 * @param {string} syscall
 * @returns {Error} with `errno`, `code` and `syscall`
 */
function systemError (errno, syscall) {
  const code = getSystemErrorName(errno)
  const error = new Error(`${syscall} ${code}`)
  error.errno = errno
  error.code = code
  error.syscall = syscall
  return error
}

module.exports = { corrupt, noJson, systemError }
