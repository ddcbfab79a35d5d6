/* SPDX-License-Identifier: MIT
 * Waking: signals are seen until they are cleared, and nothing ever blocks.
 */
#include "../../src/transport/wake.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static bool is_readable(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1;
}

static void open_pair(int *poll_fd, int *signal_fd) {
  assert_int_equal(fl_wake_create(poll_fd, signal_fd), 0);
  assert_int_not_equal(*poll_fd, *signal_fd);
}

static void close_pair(int poll_fd, int signal_fd) {
  assert_int_equal(close(poll_fd), 0);
  assert_int_equal(close(signal_fd), 0);
}

static void test_a_signal_is_seen_until_it_is_cleared(void **state) {
  int poll_fd;
  int signal_fd;

  (void) state;
  open_pair(&poll_fd, &signal_fd);
  assert_false(is_readable(poll_fd));
  fl_wake_signal(signal_fd);
  assert_true(is_readable(poll_fd));
  assert_true(is_readable(poll_fd));
  fl_wake_signal(signal_fd);
  fl_wake_clear(poll_fd);
  assert_false(is_readable(poll_fd));
  fl_wake_signal(signal_fd);
  assert_true(is_readable(poll_fd));
  close_pair(poll_fd, signal_fd);
}

static void test_nothing_blocks(void **state) {
  int poll_fd;
  int signal_fd;

  (void) state;
  open_pair(&poll_fd, &signal_fd);
  fl_wake_clear(poll_fd);
  /* More than a pipe holds. */
  for (int i = 0; i < 100000; i++) fl_wake_signal(signal_fd);
  for (int i = 0; i < 100000 && is_readable(poll_fd); i++)
    fl_wake_clear(poll_fd);
  assert_false(is_readable(poll_fd));
  close_pair(poll_fd, signal_fd);
}

static void test_nobody_has_to_listen(void **state) {
  int poll_fd;
  int signal_fd;

  (void) state;
  open_pair(&poll_fd, &signal_fd);
  assert_int_equal(close(poll_fd), 0);
  fl_wake_signal(signal_fd);
  assert_int_equal(close(signal_fd), 0);
  fl_wake_signal(-1);
  fl_wake_clear(-1);
}

static void test_the_descriptors_are_not_inherited(void **state) {
  int fds[2];

  (void) state;
  open_pair(&fds[0], &fds[1]);
  for (int i = 0; i < 2; i++) {
    assert_true((fcntl(fds[i], F_GETFD) & FD_CLOEXEC) != 0);
    assert_true((fcntl(fds[i], F_GETFL) & O_NONBLOCK) != 0);
  }
  close_pair(fds[0], fds[1]);
}

static void test_waits_for_a_signal_or_the_end_of_the_socket(void **state) {
  int poll_fd;
  int signal_fd;
  int sockets[2];

  (void) state;
  open_pair(&poll_fd, &signal_fd);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  assert_true(fl_wake_wait(poll_fd, sockets[0], 0));
  fl_wake_signal(signal_fd);
  /* Without the signal this would be the end of the test. */
  assert_true(fl_wake_wait(poll_fd, sockets[0], -1));
  fl_wake_clear(poll_fd);
  assert_true(fl_wake_wait(poll_fd, -1, 0));
  assert_int_equal(close(sockets[1]), 0);
  assert_false(fl_wake_wait(poll_fd, sockets[0], -1));
  assert_int_equal(close(sockets[0]), 0);
  assert_false(fl_wake_wait(poll_fd, sockets[0], 0));
  close_pair(poll_fd, signal_fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_signal_is_seen_until_it_is_cleared),
      cmocka_unit_test(test_nothing_blocks),
      cmocka_unit_test(test_nobody_has_to_listen),
      cmocka_unit_test(test_the_descriptors_are_not_inherited),
      cmocka_unit_test(test_waits_for_a_signal_or_the_end_of_the_socket),
  };
  /* As Node has it. */
  (void) signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
