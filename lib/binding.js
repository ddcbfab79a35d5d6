'use strict'

// Finds the addon, once. `binding` is its exports, or null with `reason` set.

const fs = require('node:fs')
const path = require('node:path')
const codec = require('./codec.js')

const root = path.join(__dirname, '..')

// A binary for another NODE_MODULE_VERSION does not throw when it is loaded, it
// crashes later; so the version stands in the file's name and is looked at
// before.
const file = path.join(root, 'build', 'Release', `forklane.abi${process.versions.modules}.node`)

function load () {
  if (process.platform === 'win32') return { reason: 'not supported on Windows' }
  if (process.permission) return { reason: 'the permission model is on' }
  if (!fs.existsSync(file)) {
    return { reason: `no binary for NODE_MODULE_VERSION ${process.versions.modules}` }
  }
  try {
    const binding = require(file)
    if (binding.v8Abi !== Number(process.versions.modules)) {
      return { reason: `the binary is for NODE_MODULE_VERSION ${binding.v8Abi}` }
    }
    binding.setHelpers(codec)
    return { binding }
  } catch (error) {
    return { reason: `the binary cannot be loaded: ${error.message}` }
  }
}

const { binding = null, reason = null } = load()

module.exports = { binding, reason }
