import { expectAssignable, expectError, expectType } from 'tsd'
import * as childProcess from 'node:child_process'
import forklane = require('.')
import { ChildProcess, exec, fork, lane, spawn, type Lane, type LaneName } from '.'
import './child.js'

expectType<ChildProcess>(fork('worker.js', ['x'], { serialization: 'advanced' }))
expectAssignable<typeof childProcess>(forklane)
expectAssignable<childProcess.ChildProcess>(spawn('node', [], { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] }))
expectType<ChildProcess>(exec('true'))

expectType<Lane | null>(lane(process))
expectType<Lane | null>(lane(fork('worker.js')))
const { send, receive, reason } = lane(process)!
expectType<LaneName>(send)
expectType<LaneName>(receive)
expectType<string | null>(reason)

expectError(lane())
expectError(lane('worker.js'))
expectError(fork(1))
expectError(fork('worker.js', [], { serialization: 'xml' }))
