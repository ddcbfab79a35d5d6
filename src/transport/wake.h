/* SPDX-License-Identifier: MIT
 *
 * Wakes the other process: a descriptor that one side polls and clears, and one
 * that the other side signals. An eventfd on Linux, a pipe elsewhere.
 */
#ifndef FL_WAKE_H
#define FL_WAKE_H

#include <stdbool.h>

/* Makes a pair, both non-blocking and close-on-exec, both the caller's. 0 or a
 * negative errno. */
int fl_wake_create(int *poll_fd, int *signal_fd);

/* Makes the other side's poll_fd readable until it is cleared. Never blocks. If
 * nobody polls any more, nothing happens. */
void fl_wake_signal(int signal_fd);

/* Takes all signals that have come. Never blocks. */
void fl_wake_clear(int poll_fd);

/* Waits for a signal, or for `socket_fd` to have lost its other end (ignored if
 * negative), at most `ms` milliseconds. False if the other end is lost. */
bool fl_wake_wait(int poll_fd, int socket_fd, int ms);

#endif
