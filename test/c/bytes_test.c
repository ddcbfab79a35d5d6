/* SPDX-License-Identifier: MIT
 * The growable run of bytes: growth, limits, and what a failure leaves behind.
 */
#include "../../src/core/bytes.h"

#include "../../src/core/status.h"
#include "check.h"

static void test_starts_empty_and_takes_no_memory(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;

  (void) state;
  assert_int_equal(fl_bytes_reserve(&b, 0, SIZE_MAX), FL_OK);
  assert_int_equal(fl_bytes_append(&b, NULL, 0, SIZE_MAX), FL_OK);
  assert_int_equal(fl_bytes_append(&b, NULL, 0, 0), FL_OK);
  assert_null(b.base);
  assert_int_equal(b.len, 0);
  assert_int_equal(b.cap, 0);
  fl_bytes_clear(&b, 0);
  fl_bytes_destroy(&b);
  assert_int_equal(fl_test_alloc.calls, 0);
}

static void test_appends_in_order(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;
  uint8_t piece[97];
  size_t total = 0;

  (void) state;
  for (size_t n = 0; n <= sizeof(piece); n++) {
    for (size_t i = 0; i < n; i++) piece[i] = (uint8_t) (total + i);
    assert_int_equal(fl_bytes_append(&b, piece, n, SIZE_MAX), FL_OK);
    total += n;
    assert_int_equal(b.len, total);
    assert_true(b.cap >= b.len);
  }
  for (size_t i = 0; i < total; i++) assert_int_equal(b.base[i], (uint8_t) i);
  fl_bytes_destroy(&b);
}

static void test_reserve_makes_room_that_can_be_written(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;

  (void) state;
  for (size_t more = 1; more < 3000; more += 7) {
    assert_int_equal(fl_bytes_reserve(&b, more, SIZE_MAX), FL_OK);
    assert_true(b.cap - b.len >= more);
    memset(b.base + b.len, 0xee, more);
    b.len += more / 2;
  }
  fl_bytes_destroy(&b);
}

/* The codec writes behind `len` before it counts what it wrote. */
static void test_reserve_moves_what_lies_behind_len(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;

  (void) state;
  assert_int_equal(fl_bytes_append(&b, "ab", 2, SIZE_MAX), FL_OK);
  for (size_t i = 2; i < b.cap; i++) b.base[i] = (uint8_t) i;
  assert_int_equal(fl_bytes_reserve(&b, b.cap, SIZE_MAX), FL_OK);
  assert_memory_equal(b.base, "ab", 2);
  for (size_t i = 2; i < 256; i++) assert_int_equal(b.base[i], (uint8_t) i);
  fl_bytes_destroy(&b);
}

static void test_reserve_does_nothing_if_there_is_room(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;
  uint8_t *base;

  (void) state;
  assert_int_equal(fl_bytes_reserve(&b, 100, SIZE_MAX), FL_OK);
  base = b.base;
  b.len = b.cap - 10;
  fl_test_alloc_reset();
  assert_int_equal(fl_bytes_reserve(&b, 10, SIZE_MAX), FL_OK);
  assert_int_equal(fl_bytes_reserve(&b, 10, 0), FL_OK);
  assert_ptr_equal(b.base, base);
  assert_int_equal(fl_test_alloc.calls, 0);
  assert_int_equal(fl_bytes_reserve(&b, 11, SIZE_MAX), FL_OK);
  assert_int_equal(fl_test_alloc.calls, 1);
  fl_bytes_destroy(&b);
}

static void test_grows_geometrically(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;
  size_t n = (size_t) 1 << 20;

  (void) state;
  for (size_t i = 0; i < n; i++) {
    size_t cap = b.cap;

    assert_int_equal(fl_bytes_append(&b, "x", 1, SIZE_MAX), FL_OK);
    if (b.cap != cap) assert_true(b.cap >= 2 * cap);
  }
  assert_true(fl_test_alloc.calls <= 20);
  assert_true(fl_test_alloc.moved <= 2 * n);
  fl_bytes_destroy(&b);
}

static void test_stays_below_the_limit(void **state) {
  static const size_t limits[] = {1, 255, 256, 257, 1000, 1024, 1025};

  (void) state;
  for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
    fl_bytes_t b = FL_BYTES_INIT;

    while (b.len < limits[i]) {
      assert_int_equal(fl_bytes_append(&b, "x", 1, limits[i]), FL_OK);
      assert_true(b.cap <= limits[i]);
    }
    fl_bytes_destroy(&b);
  }
}

static void test_passes_the_limit_only_if_the_bytes_do(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;

  (void) state;
  assert_int_equal(fl_bytes_reserve(&b, 5000, 1000), FL_OK);
  assert_int_equal(b.cap, 5000);
  b.len = 5000;
  /* The limit is below what is there already. */
  assert_int_equal(fl_bytes_reserve(&b, 1, 1000), FL_OK);
  assert_int_equal(b.cap, 5001);
  fl_bytes_destroy(&b);
}

static void test_clear_keeps_small_memory_only(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;
  uint8_t *base;

  (void) state;
  assert_int_equal(fl_bytes_reserve(&b, 1000, SIZE_MAX), FL_OK);
  b.len = 1000;
  base = b.base;
  fl_bytes_clear(&b, b.cap);
  assert_int_equal(b.len, 0);
  assert_ptr_equal(b.base, base);
  assert_int_equal(b.cap, 1000);

  b.len = 1;
  fl_bytes_clear(&b, b.cap - 1);
  assert_null(b.base);
  assert_int_equal(b.len, 0);
  assert_int_equal(b.cap, 0);
  assert_int_equal(fl_test_alloc.live, 0);
}

static void test_can_be_used_again_after_destroy(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;

  (void) state;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(fl_bytes_append(&b, "abc", 3, SIZE_MAX), FL_OK);
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.base, "abc", 3);
    fl_bytes_destroy(&b);
    assert_null(b.base);
    assert_int_equal(b.len, 0);
    assert_int_equal(b.cap, 0);
    fl_bytes_destroy(&b);
  }
}

static void test_is_as_it_was_without_memory(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;
  fl_bytes_t before;
  uint8_t more[256] = {0};

  (void) state;
  fl_test_alloc_fail(1);
  assert_int_equal(fl_bytes_append(&b, "abc", 3, SIZE_MAX), FL_ENOMEM);
  assert_null(b.base);
  assert_int_equal(b.len, 0);
  assert_int_equal(b.cap, 0);

  assert_int_equal(fl_bytes_append(&b, "abc", 3, SIZE_MAX), FL_OK);
  before = b;
  fl_test_alloc_fail(1);
  assert_int_equal(fl_bytes_append(&b, more, sizeof(more), SIZE_MAX),
                   FL_ENOMEM);
  assert_memory_equal(&b, &before, sizeof(b));
  fl_test_alloc_fail(1);
  assert_int_equal(fl_bytes_reserve(&b, sizeof(more), SIZE_MAX), FL_ENOMEM);
  assert_memory_equal(&b, &before, sizeof(b));
  assert_memory_equal(b.base, "abc", 3);

  /* What fits needs no memory. */
  fl_test_alloc_fail(1);
  assert_int_equal(fl_bytes_append(&b, "def", 3, SIZE_MAX), FL_OK);
  assert_memory_equal(b.base, "abcdef", 6);
  fl_bytes_destroy(&b);
}

static void test_refuses_a_size_beyond_size_t(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;
  fl_bytes_t before;

  (void) state;
  assert_int_equal(fl_bytes_append(&b, "abc", 3, SIZE_MAX), FL_OK);
  before = b;
  fl_test_alloc_reset();
  assert_int_equal(fl_bytes_reserve(&b, SIZE_MAX, SIZE_MAX), FL_ENOMEM);
  assert_int_equal(fl_bytes_reserve(&b, SIZE_MAX - 2, SIZE_MAX), FL_ENOMEM);
  assert_int_equal(fl_test_alloc.calls, 0);
  assert_memory_equal(&b, &before, sizeof(b));
  /* This one does not overflow; no allocator has it. */
  assert_int_equal(fl_bytes_reserve(&b, SIZE_MAX - 3, SIZE_MAX), FL_ENOMEM);
  assert_int_equal(fl_test_alloc.largest, SIZE_MAX);
  assert_memory_equal(&b, &before, sizeof(b));
  fl_bytes_destroy(&b);
}

/* Twice this capacity is not a size_t; the block itself is made up. */
static void test_doubling_does_not_overflow(void **state) {
  uint8_t base[1];
  fl_bytes_t b = {base, SIZE_MAX / 2 + 2, SIZE_MAX / 2 + 2};

  (void) state;
  fl_test_alloc_fail(1);
  assert_int_equal(fl_bytes_reserve(&b, 1, SIZE_MAX), FL_ENOMEM);
  assert_int_equal(fl_test_alloc.largest, SIZE_MAX);
  assert_ptr_equal(b.base, base);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_starts_empty_and_takes_no_memory),
      TEST(test_appends_in_order),
      TEST(test_reserve_makes_room_that_can_be_written),
      TEST(test_reserve_moves_what_lies_behind_len),
      TEST(test_reserve_does_nothing_if_there_is_room),
      TEST(test_grows_geometrically),
      TEST(test_stays_below_the_limit),
      TEST(test_passes_the_limit_only_if_the_bytes_do),
      TEST(test_clear_keeps_small_memory_only),
      TEST(test_can_be_used_again_after_destroy),
      TEST(test_is_as_it_was_without_memory),
      TEST(test_refuses_a_size_beyond_size_t),
      TEST(test_doubling_does_not_overflow),
  };

  return RUN(tests);
}
