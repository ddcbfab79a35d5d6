/* SPDX-License-Identifier: MIT
 *
 * The shared memory of a channel: a header page and two rings, one for each
 * direction (PROTOCOL.md, "The segment").
 *
 *   offset 0      8 bytes   "forklane"
 *          8      32 bits   FL_SEGMENT_VERSION
 *          12     32 bits   bytes before the first ring
 *          16     64 bits   bytes of one ring, a power of two
 *          256    fl_ring_shared_t of ring 0, parent to child
 *          512    fl_ring_shared_t of ring 1, child to parent
 *          (the header) ring 0, then ring 1
 *
 * Numbers are in the machine's byte order: both sides run on one.
 */
#ifndef FL_SEGMENT_H
#define FL_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "../core/ring.h"

/* Changes with anything that the two sides have to agree on. */
enum { FL_SEGMENT_VERSION = 1 };

/* What a ring may measure, in bytes; it also has to be a power of two. */
#define FL_SEGMENT_RING_MIN ((size_t) 64 * 1024)
#define FL_SEGMENT_RING_MAX ((size_t) 1024 * 1024 * 1024)

typedef enum fl_side { FL_SIDE_PARENT = 0, FL_SIDE_CHILD = 1 } fl_side_t;

/* One side's view. `out` is the ring that this side writes, `in` the one that
 * it reads (and is mapped read-only); both are mapped twice in a row. */
typedef struct fl_segment_s {
  uint8_t *base;
  size_t mapped;
  size_t ring_size;
  fl_ring_shared_t *out_shared;
  fl_ring_shared_t *in_shared;
  uint8_t *out;
  const uint8_t *in;
} fl_segment_t;

/* Makes a segment that nobody uses yet. `*fd` is the caller's, close-on-exec.
 * The memory cannot shrink or grow where the system has seals. FL_OK, or a
 * negative errno; FL_ECORRUPT for a size that is not possible. */
int fl_segment_create(size_t ring_size, int *fd);

/* Maps the segment of `fd`, which the caller may close afterwards. The other
 * side's memory is not believed: its size, its seals and its header are
 * checked. FL_OK, FL_ECORRUPT, or a negative errno. Undone by
 * fl_segment_unmap(). */
int fl_segment_map(fl_segment_t *segment, int fd, fl_side_t side);

/* Harmless before fl_segment_map(), if `segment` is all zero, and twice. */
void fl_segment_unmap(fl_segment_t *segment);

#endif
