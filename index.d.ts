import type { ChildProcess } from 'node:child_process'

// Everything that node:child_process has, with its own types: fork() and
// spawn() take the same arguments and return the same objects.
export * from 'node:child_process'

/** How the messages of one direction travel. */
export type LaneName = 'core' | 'pipe' | 'ring'

/** How the messages of a channel travel. */
export interface Lane {
  /**
   * `'core'`: Node's own code. `'pipe'`: Node's socket and wire format, with framing and serialization in C.
   * `'ring'`: memory that both processes share.
   */
  readonly send: LaneName
  readonly receive: LaneName
  /** Why it is no better lane; `null` if there is none. */
  readonly reason: string | null
}

/**
 * Tells how the messages of a channel travel.
 *
 * @param target a child with a channel, or `process` in a child
 * @returns `null` if there is no channel
 */
export function lane (target: ChildProcess | NodeJS.Process): Lane | null
