'use strict'

// Builds the addon from source. A machine that cannot do that still gets a
// working package (Node's own child_process serves), so a failure is told in
// one line and does not fail the install, unless a build was asked for:
// --build-from-source.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
const demanded = process.argv.includes('--build-from-source') ||
  process.env.npm_config_build_from_source === 'true'

// The one that npm brings, when npm runs this; else one beside this package.
function findNodeGyp () {
  const { npm_config_node_gyp: fromNpm } = process.env
  return fromNpm || require.resolve('node-gyp/bin/node-gyp.js', { paths: [root] })
}

// The headers that came with this Node, if they did: no download then.
function localHeaders () {
  const prefix = path.join(path.dirname(process.execPath), '..')
  return fs.existsSync(path.join(prefix, 'include', 'node', 'node_api.h')) ? prefix : null
}

function build () {
  if (process.platform === 'win32') throw new Error('Windows is not supported')
  const args = [findNodeGyp(), 'rebuild']
  const headers = localHeaders()
  if (headers) args.push(`--nodedir=${headers}`)
  const { status, error, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024
  })
  if (error) throw error
  if (status !== 0) {
    if (demanded) process.stderr.write(stdout + stderr)
    throw new Error('node-gyp failed')
  }
}

try {
  build()
} catch (error) {
  console.error(`forklane: no native channel here (${error.message}); ` +
    "Node's own serves. See the README, \"Install\".")
  if (demanded) process.exitCode = 1
}
