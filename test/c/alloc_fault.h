/* SPDX-License-Identifier: MIT
 *
 * The allocator of the tests: passes calls on to libc, counts them, and can
 * make one of them fail. src/core/alloc.h includes it as FL_ALLOC_HEADER.
 */
#ifndef ALLOC_FAULT_H
#define ALLOC_FAULT_H

#include <stddef.h>

#define fl_realloc fl_test_realloc
#define fl_free fl_test_free

/* What was asked of the allocator since fl_test_alloc_reset(). */
typedef struct fl_test_alloc_s {
  size_t calls;   /* of fl_realloc, those that failed included */
  size_t largest; /* bytes of the largest request */
  size_t moved;   /* bytes that a realloc may have had to copy */
  size_t live;    /* blocks not freed; not touched by a reset */
} fl_test_alloc_t;

extern fl_test_alloc_t fl_test_alloc;

/* Zeroes the counts, and lets every call through. */
void fl_test_alloc_reset(void);

/* Zeroes the counts, and makes call number `nth` fail, counted from 1. If
 * `nth` is 0, none fails. */
void fl_test_alloc_fail(size_t nth);

/* Zeroes the counts, and makes every call fail that asks for more than `bytes`
 * bytes: memory that a claimed length would take is then never really taken. */
void fl_test_alloc_limit(size_t bytes);

/* As realloc() and free(). A failed call leaves the block as it was. */
void *fl_test_realloc(void *base, size_t size);
void fl_test_free(void *base);

#endif
