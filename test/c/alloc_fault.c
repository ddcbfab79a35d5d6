/* SPDX-License-Identifier: MIT
 * The counting and failing allocator of the tests.
 */
#include "alloc_fault.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

fl_test_alloc_t fl_test_alloc;

static size_t fail_at;
static size_t limit = SIZE_MAX;

/* The size of a block stands in front of it, to know what a realloc copies.
 * The union keeps what follows aligned for anything. */
typedef union prefix {
  size_t size;
  max_align_t align;
} prefix_t;

void fl_test_alloc_reset(void) {
  fl_test_alloc.calls = 0;
  fl_test_alloc.largest = 0;
  fl_test_alloc.moved = 0;
  fail_at = 0;
  limit = SIZE_MAX;
}

void fl_test_alloc_fail(size_t nth) {
  fl_test_alloc_reset();
  fail_at = nth;
}

void fl_test_alloc_limit(size_t bytes) {
  fl_test_alloc_reset();
  limit = bytes;
}

/* Always a new block, so that a pointer kept across a growth is dangling for
 * AddressSanitizer even where libc would have grown the block in place. */
void *fl_test_realloc(void *base, size_t size) {
  prefix_t *old = base == NULL ? NULL : (prefix_t *) base - 1;
  prefix_t *block;

  fl_test_alloc.calls++;
  if (size > fl_test_alloc.largest) fl_test_alloc.largest = size;
  if (fl_test_alloc.calls == fail_at || size > limit) return NULL;
  if (size > SIZE_MAX - sizeof(*block)) return NULL;

  block = malloc(sizeof(*block) + size);
  if (block == NULL) return NULL;
  block->size = size;
  if (old == NULL) {
    fl_test_alloc.live++;
  } else {
    size_t kept = old->size < size ? old->size : size;
    memcpy(block + 1, old + 1, kept);
    fl_test_alloc.moved += kept;
    free(old);
  }
  return block + 1;
}

void fl_test_free(void *base) {
  if (base == NULL) return;
  fl_test_alloc.live--;
  free((prefix_t *) base - 1);
}
