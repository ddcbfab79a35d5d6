/* SPDX-License-Identifier: MIT
 *
 * cmocka with the headers that it wants included first, and what every test
 * file needs besides.
 */
#ifndef CHECK_H
#define CHECK_H

/* clang-format off: cmocka.h needs the others before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "alloc_fault.h"

/* Before each test: nothing fails, counts are zero. */
static inline int begin(void **state) {
  (void) state;
  fl_test_alloc_reset();
  return 0;
}

/* After each test: everything was freed. */
static inline int end(void **state) {
  size_t live = fl_test_alloc.live;

  (void) state;
  fl_test_alloc.live = 0;
  return live == 0 ? 0 : -1;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

#define RUN(tests) cmocka_run_group_tests(tests, NULL, NULL)

/* A copy of `n` bytes in a block of just that size, so that a read past either
 * end is seen by AddressSanitizer. The caller frees it. */
static inline uint8_t *exact_copy(const void *data, size_t n) {
  uint8_t *copy = malloc(n == 0 ? 1 : n);

  assert_non_null(copy);
  if (n != 0) memcpy(copy, data, n);
  return copy;
}

/* The next number of a fixed sequence (Marsaglia's xorshift, 32 bits wide):
 * tests that draw lots draw the same ones each time. `*seed` is not 0. */
static inline uint32_t draw(uint32_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  *seed ^= *seed << 5;
  return *seed;
}

#endif
