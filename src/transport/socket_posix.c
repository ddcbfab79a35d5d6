/* SPDX-License-Identifier: MIT
 * The channel's socket on POSIX systems. Node ignores SIGPIPE in its own
 * processes, so a closed peer shows as EPIPE.
 */
#include "socket.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

int64_t fl_socket_write(int fd, const void *data, size_t len) {
  ssize_t n;

  do n = write(fd, data, len);
  while (n < 0 && errno == EINTR);

  if (n >= 0) return (int64_t) n;
  /* The kernel is short of buffers for the moment: libuv comes back later, too.
   */
  if (errno == ENOBUFS) return 0;
  /* Two names of one condition; some systems give them two numbers. */
  if (errno == EAGAIN) return 0;
#if EWOULDBLOCK != EAGAIN
  if (errno == EWOULDBLOCK) return 0;
#endif
  return -errno;
}

bool fl_socket_wait(int fd, int ms) {
  struct pollfd p = {.fd = fd, .events = POLLOUT, .revents = 0};

  return poll(&p, 1, ms) == 1 && (p.revents & POLLOUT) != 0;
}
