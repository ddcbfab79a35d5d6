/* SPDX-License-Identifier: MIT
 *
 * cmocka with the headers that it wants included first, and what every test
 * file needs besides.
 */
#ifndef CHECK_H
#define CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Uses types of the headers above without including them. */
#include <cmocka.h>

#include "alloc_fault.h"
#include "draw.h"

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

#endif
