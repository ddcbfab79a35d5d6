/* SPDX-License-Identifier: MIT
 *
 * The channel's socket, past libuv: used only while libuv has nothing queued
 * on it, so that bytes cannot overtake each other.
 */
#ifndef FL_SOCKET_H
#define FL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes once, without blocking if `fd` is non-blocking. `len` is above 0.
 * Returns the number of bytes taken, 0 if it takes none for now, or a negative
 * errno (which on POSIX is also libuv's code). */
int64_t fl_socket_write(int fd, const void *data, size_t len);

/* Waits until the socket takes bytes again, at most `ms` milliseconds. Whether
 * it does. */
bool fl_socket_wait(int fd, int ms);

#endif
