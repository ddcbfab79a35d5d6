'use strict'

const neostandard = require('neostandard')

module.exports = [
  ...neostandard({ env: ['mocha'], ignores: ['build/', 'test/build/'] })
]
