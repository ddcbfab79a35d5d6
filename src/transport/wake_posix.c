/* SPDX-License-Identifier: MIT
 * Wakes by eventfd on Linux, by a pipe elsewhere (and with FL_GENERIC_POSIX).
 * Node ignores SIGPIPE in its own processes.
 */
#if defined(__linux__) && !defined(FL_GENERIC_POSIX)
#define FL_EVENTFD 1
#else
#define FL_EVENTFD 0
#endif

#include "wake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#if FL_EVENTFD

#include <sys/eventfd.h>

int fl_wake_create(int *poll_fd, int *signal_fd) {
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

  if (fd < 0) return -errno;
  /* Two descriptors of one, so that each can be closed for itself. */
  *signal_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (*signal_fd < 0) {
    int rc = -errno;
    (void) close(fd);
    return rc;
  }
  *poll_fd = fd;
  return 0;
}

#else

static int prepare(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
      fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
    return -errno;
  return 0;
}

int fl_wake_create(int *poll_fd, int *signal_fd) {
  int fds[2];
  int rc;

  if (pipe(fds) != 0) return -errno;
  rc = prepare(fds[0]);
  if (rc == 0) rc = prepare(fds[1]);
  if (rc != 0) {
    (void) close(fds[0]);
    (void) close(fds[1]);
    return rc;
  }
  *poll_fd = fds[0];
  *signal_fd = fds[1];
  return 0;
}

#endif

void fl_wake_signal(int signal_fd) {
  const uint64_t one = 1;
  ssize_t n;

  /* Full means signalled. */
  do n = write(signal_fd, &one, sizeof(one));
  while (n < 0 && errno == EINTR);
}

void fl_wake_clear(int poll_fd) {
  uint64_t signals[16];
  ssize_t n;

  /* An eventfd gives one number, whatever it counts. Of a pipe the first read
   * takes nearly always all; what is left makes the descriptor readable again.
   */
  do n = read(poll_fd, signals, sizeof(signals));
  while (n < 0 && errno == EINTR);
}

bool fl_wake_wait(int poll_fd, int socket_fd, int ms) {
  struct pollfd fds[2] = {
      {.fd = poll_fd, .events = POLLIN},
      {.fd = socket_fd, .events = 0}, /* POLLHUP and POLLERR come unasked */
  };
  int n = poll(fds, 2, ms);

  return n <= 0 || (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}
