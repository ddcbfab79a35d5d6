/* SPDX-License-Identifier: MIT
 * The shared memory of a channel: what is made can be mapped, from either side;
 * what somebody else made is looked at before it is used.
 */
#include "../../src/transport/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/core/status.h"
#include "check.h"

#define RING FL_SEGMENT_RING_MIN

static int make(void) {
  int fd = -1;

  assert_int_equal(fl_segment_create(RING, &fd), FL_OK);
  assert_true(fd >= 0);
  return fd;
}

static void put(int fd, size_t offset, const void *bytes, size_t len) {
  assert_int_equal(pwrite(fd, bytes, len, (off_t) offset), (ssize_t) len);
}

static void test_both_sides_see_the_same_bytes(void **state) {
  fl_segment_t parent;
  fl_segment_t child;
  int fd = make();

  (void) state;
  assert_int_equal(fl_segment_map(&parent, fd, FL_SIDE_PARENT), FL_OK);
  assert_int_equal(fl_segment_map(&child, fd, FL_SIDE_CHILD), FL_OK);
  assert_int_equal(close(fd), 0);
  assert_int_equal(parent.ring_size, RING);

  memcpy(parent.out, "to the child", 12);
  memcpy(child.out, "to the parent", 13);
  assert_memory_equal(child.in, "to the child", 12);
  assert_memory_equal(parent.in, "to the parent", 13);

  atomic_store(&parent.out_shared->head, 8);
  assert_int_equal(atomic_load(&child.in_shared->head), 8);
  atomic_store(&parent.in_shared->tail, 16);
  assert_int_equal(atomic_load(&child.out_shared->tail), 16);
  assert_int_equal(atomic_load(&parent.in_shared->asleep), 1);

  fl_segment_unmap(&parent);
  fl_segment_unmap(&child);
}

static void test_a_ring_goes_on_behind_its_end(void **state) {
  static const char text[] = "over the end";
  fl_segment_t parent;
  fl_segment_t child;
  int fd = make();

  (void) state;
  assert_int_equal(fl_segment_map(&parent, fd, FL_SIDE_PARENT), FL_OK);
  assert_int_equal(fl_segment_map(&child, fd, FL_SIDE_CHILD), FL_OK);
  memcpy(parent.out + RING - 4, text, sizeof(text));
  assert_memory_equal(parent.out, text + 4, sizeof(text) - 4);
  assert_memory_equal(child.in + RING - 4, text, sizeof(text));
  memset(child.out + 2 * RING - 1, 'x', 1);
  assert_int_equal(parent.in[RING - 1], 'x');
  fl_segment_unmap(&parent);
  fl_segment_unmap(&child);
  assert_int_equal(close(fd), 0);
}

static void test_unmapping_twice_or_what_was_never_mapped_is_nothing(
    void **state) {
  fl_segment_t segment;
  int fd = make();

  (void) state;
  memset(&segment, 0, sizeof(segment));
  fl_segment_unmap(&segment);
  assert_int_equal(fl_segment_map(&segment, fd, FL_SIDE_CHILD), FL_OK);
  fl_segment_unmap(&segment);
  fl_segment_unmap(&segment);
  assert_int_equal(close(fd), 0);
}

static void test_refuses_sizes_that_no_ring_can_have(void **state) {
  static const size_t sizes[] = {
      0,        1,        RING - 1, RING + 1,
      RING / 2, 3 * RING, SIZE_MAX, FL_SEGMENT_RING_MAX * 2};
  int fd = -1;

  (void) state;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
    assert_int_equal(fl_segment_create(sizes[i], &fd), FL_ECORRUPT);
  assert_int_equal(fd, -1);
}

static void test_the_descriptor_is_not_inherited(void **state) {
  int fd = make();

  (void) state;
  assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  assert_int_equal(close(fd), 0);
}

#if defined(__linux__) && !defined(FL_GENERIC_POSIX)

static void test_the_memory_keeps_its_size(void **state) {
  struct stat st;
  int fd = make();

  (void) state;
  assert_int_equal(fstat(fd, &st), 0);
  assert_int_equal(ftruncate(fd, 0), -1);
  assert_int_equal(errno, EPERM);
  assert_int_equal(ftruncate(fd, st.st_size * 2), -1);
  assert_int_equal(errno, EPERM);
  assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
  assert_int_equal(close(fd), 0);
}

static void test_refuses_memory_that_could_shrink(void **state) {
  static const int missing[] = {F_SEAL_GROW | F_SEAL_SEAL,
                                F_SEAL_SHRINK | F_SEAL_SEAL,
                                F_SEAL_SHRINK | F_SEAL_GROW, 0};
  uint8_t header[1024];
  struct stat st;
  fl_segment_t segment;
  int good = make();

  (void) state;
  assert_int_equal(fstat(good, &st), 0);
  assert_int_equal(pread(good, header, sizeof(header), 0), sizeof(header));
  for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, st.st_size), 0);
    put(fd, 0, header, sizeof(header));
    if (missing[i] != 0)
      assert_int_equal(fcntl(fd, F_ADD_SEALS, missing[i]), 0);
    assert_int_equal(fl_segment_map(&segment, fd, FL_SIDE_CHILD), FL_ECORRUPT);
    assert_int_equal(close(fd), 0);
  }
  assert_int_equal(close(good), 0);
}

#endif

static void test_refuses_what_is_no_segment(void **state) {
  fl_segment_t segment;
  int fds[2];
  int fd = open("/dev/null", O_RDWR);

  (void) state;
  assert_int_equal(fl_segment_map(&segment, -1, FL_SIDE_CHILD), -EBADF);
  assert_true(fd >= 0);
  assert_int_equal(fl_segment_map(&segment, fd, FL_SIDE_CHILD), FL_ECORRUPT);
  assert_int_equal(close(fd), 0);
  assert_int_equal(pipe(fds), 0);
  assert_int_equal(fl_segment_map(&segment, fds[0], FL_SIDE_CHILD),
                   FL_ECORRUPT);
  assert_int_equal(close(fds[0]), 0);
  assert_int_equal(close(fds[1]), 0);
  assert_null(segment.base);
}

static void test_refuses_a_header_that_is_not_ours(void **state) {
  static const uint64_t sizes[] = {
      0,        1,        RING / 2,   RING + 1,
      RING * 2, RING * 3, UINT64_MAX, (uint64_t) 1 << 63};
  static const uint32_t words[] = {0, 2, 0x01000000, UINT32_MAX};
  fl_segment_t segment;
  int fd;

  (void) state;
  for (size_t at = 0; at < 8; at++) { /* the name */
    fd = make();
    put(fd, at, "X", 1);
    assert_int_equal(fl_segment_map(&segment, fd, FL_SIDE_CHILD), FL_ECORRUPT);
    assert_int_equal(close(fd), 0);
  }
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
    for (size_t at = 8; at <= 12; at += 4) { /* version, size of the header */
      fd = make();
      put(fd, at, &words[i], sizeof(words[i]));
      assert_int_equal(fl_segment_map(&segment, fd, FL_SIDE_CHILD),
                       FL_ECORRUPT);
      assert_int_equal(close(fd), 0);
    }
  }
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    fd = make();
    put(fd, 16, &sizes[i], sizeof(sizes[i]));
    assert_int_equal(fl_segment_map(&segment, fd, FL_SIDE_CHILD), FL_ECORRUPT);
    assert_int_equal(close(fd), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_both_sides_see_the_same_bytes),
    cmocka_unit_test(test_a_ring_goes_on_behind_its_end),
    cmocka_unit_test(test_unmapping_twice_or_what_was_never_mapped_is_nothing),
    cmocka_unit_test(test_refuses_sizes_that_no_ring_can_have),
    cmocka_unit_test(test_the_descriptor_is_not_inherited),
#if defined(__linux__) && !defined(FL_GENERIC_POSIX)
    cmocka_unit_test(test_the_memory_keeps_its_size),
    cmocka_unit_test(test_refuses_memory_that_could_shrink),
#endif
    cmocka_unit_test(test_refuses_what_is_no_segment),
    cmocka_unit_test(test_refuses_a_header_that_is_not_ours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
