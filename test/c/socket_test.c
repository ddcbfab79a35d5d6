/* SPDX-License-Identifier: MIT
 * Writing to a socket pair: whole, in part, full, closed, not a descriptor.
 */
#include "../../src/transport/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"

static void open_pair(int fds[2]) {
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

static void set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);

  assert_true(flags >= 0);
  assert_int_equal(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
}

static void read_whole(int fd, uint8_t *out, size_t len) {
  while (len > 0) {
    ssize_t n = read(fd, out, len);

    assert_true(n > 0);
    out += n;
    len -= (size_t) n;
  }
}

static void test_writes_everything_if_there_is_room(void **state) {
  uint8_t got[16];
  int fds[2];

  (void) state;
  open_pair(fds);
  set_nonblocking(fds[0]);
  assert_int_equal(fl_socket_write(fds[0], "{\"a\":1}\n", 8), 8);
  assert_int_equal(fl_socket_write(fds[0], "x", 1), 1);
  read_whole(fds[1], got, 9);
  assert_memory_equal(got, "{\"a\":1}\nx", 9);
  close(fds[0]);
  close(fds[1]);
}

static void test_writes_a_part_and_then_says_full(void **state) {
  size_t len = (size_t) 8 << 20; /* more than a socket holds anywhere */
  uint8_t *data = malloc(len);
  uint8_t *got = malloc(len);
  size_t sent;
  int64_t n;
  int fds[2];

  (void) state;
  assert_non_null(data);
  assert_non_null(got);
  for (size_t i = 0; i < len; i++) data[i] = (uint8_t) (i % 251);
  open_pair(fds);
  set_nonblocking(fds[0]);

  n = fl_socket_write(fds[0], data, len);
  assert_true(n > 0 && (size_t) n < len);
  sent = (size_t) n;
  /* Whatever room is left is used up by and by, never as an error. */
  while ((n = fl_socket_write(fds[0], data + sent, len - sent)) > 0)
    sent += (size_t) n;
  assert_int_equal(n, 0);
  assert_true(sent < len);
  assert_int_equal(fl_socket_write(fds[0], data + sent, 1), 0);

  /* Full means nothing was taken: what arrives is what was counted. */
  read_whole(fds[1], got, sent);
  assert_memory_equal(got, data, sent);
  set_nonblocking(fds[1]);
  assert_int_equal(read(fds[1], got, 1), -1);
  assert_int_equal(errno, EAGAIN);

  assert_true(fl_socket_write(fds[0], data, len) > 0);
  close(fds[0]);
  close(fds[1]);
  free(data);
  free(got);
}

static void test_a_closed_peer_is_epipe(void **state) {
  struct sigaction ignore;
  struct sigaction before;
  int fds[2];

  (void) state;
  memset(&ignore, 0, sizeof(ignore));
  ignore.sa_handler = SIG_IGN; /* as Node does in its own processes */
  assert_int_equal(sigaction(SIGPIPE, &ignore, &before), 0);
  open_pair(fds);
  set_nonblocking(fds[0]);
  close(fds[1]);
  assert_int_equal(fl_socket_write(fds[0], "x", 1), -EPIPE);
  assert_int_equal(fl_socket_write(fds[0], "x", 1), -EPIPE);
  close(fds[0]);
  assert_int_equal(sigaction(SIGPIPE, &before, NULL), 0);
}

static void test_a_closed_descriptor_is_ebadf(void **state) {
  int fds[2];

  (void) state;
  open_pair(fds);
  close(fds[0]);
  close(fds[1]);
  assert_int_equal(fl_socket_write(fds[0], "x", 1), -EBADF);
  assert_int_equal(fl_socket_write(-1, "x", 1), -EBADF);
}

static volatile sig_atomic_t interrupts;
static int reader;

/* Comes while the write is blocked. The third time it makes room, else the
 * write would never end. */
static void on_alarm(int signum) {
  uint8_t block[4096];
  int saved = errno;

  (void) signum;
  if (++interrupts >= 3)
    while (read(reader, block, sizeof(block)) > 0) continue;
  errno = saved;
}

static void test_an_interrupted_write_goes_on(void **state) {
  static const struct itimerval every = {{0, 5000}, {0, 5000}};
  static const struct itimerval never = {{0, 0}, {0, 0}};
  struct sigaction action;
  struct sigaction before;
  uint8_t block[4096] = {0};
  int64_t n;
  int fds[2];

  (void) state;
  open_pair(fds);
  set_nonblocking(fds[0]);
  set_nonblocking(fds[1]);
  reader = fds[1];
  while ((n = fl_socket_write(fds[0], block, sizeof(block))) > 0) continue;
  assert_int_equal(n, 0);
  while ((n = fl_socket_write(fds[0], block, 1)) > 0) continue;
  assert_int_equal(n, 0);
  /* From here on the socket blocks instead of saying that it is full. */
  assert_int_equal(fcntl(fds[0], F_SETFL, 0), 0);

  memset(&action, 0, sizeof(action));
  action.sa_handler = on_alarm; /* without SA_RESTART: write() gives EINTR */
  assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
  assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
  n = fl_socket_write(fds[0], "!", 1);
  assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
  assert_int_equal(n, 1);
  assert_true(interrupts >= 3);

  close(fds[0]);
  close(fds[1]);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_writes_everything_if_there_is_room),
      TEST(test_writes_a_part_and_then_says_full),
      TEST(test_a_closed_peer_is_epipe),
      TEST(test_a_closed_descriptor_is_ebadf),
      TEST(test_an_interrupted_write_goes_on),
  };

  return RUN(tests);
}
