/* SPDX-License-Identifier: MIT
 *
 * Memory for a ring, so bounded that a read or write outside of it is seen.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "../../src/core/ring.h"

typedef struct fl_test_ring_s {
  fl_ring_shared_t *shared; /* formatted */
  uint8_t *data;            /* `size` bytes and the same again */
  size_t size;
  void *mapping; /* with an inaccessible page on either side; NULL if plain */
} fl_test_ring_t;

/* Makes one of `size` bytes, a power of two from 8 on. If that is whole pages,
 * the bytes are mapped twice in a row. If not, they are a plain block of twice
 * the size: good for whatever does not write across the end of the ring. Aborts
 * if the system refuses. */
void fl_test_ring_open(fl_test_ring_t *r, size_t size);

/* As after opening, but with everything before `position` written and read. */
void fl_test_ring_move(fl_test_ring_t *r, uint64_t position);

void fl_test_ring_close(fl_test_ring_t *r);

/* Writes the header of a record by hand. */
void fl_test_ring_header(uint8_t *at, uint32_t word, uint8_t kind,
                         uint8_t flags, uint16_t reserved);

/* The least size that is mapped twice. */
size_t fl_test_ring_page(void);

#endif
