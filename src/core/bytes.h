/* SPDX-License-Identifier: MIT
 *
 * A growable run of bytes: what a frame is assembled in, on either side.
 * Not thread-safe; one owner.
 */
#ifndef FL_BYTES_H
#define FL_BYTES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `base` holds `cap` allocated bytes, of which the first `len` are in use.
 * All zero is a valid empty value (FL_BYTES_INIT). */
typedef struct fl_bytes_s {
  uint8_t *base;
  size_t len;
  size_t cap;
} fl_bytes_t;

#define FL_BYTES_INIT                                                          \
  { NULL, 0, 0 }

/* Makes room for `more` bytes behind `len`. Capacity at least doubles when it
 * grows, so that appending n bytes costs O(n) in all, but never passes `limit`
 * unless the bytes asked for do; pass SIZE_MAX for no limit. `base` may move;
 * the whole block moves along, also what lies behind `len`.
 * FL_OK, or FL_ENOMEM with everything as it was. */
int fl_bytes_reserve(fl_bytes_t *b, size_t more, size_t limit);

/* Copies `n` bytes to the end. `data` may be NULL if `n` is 0, and must not
 * point into `b`. FL_OK, or FL_ENOMEM with everything as it was. */
int fl_bytes_append(fl_bytes_t *b, const void *data, size_t n, size_t limit);

/* Empties `b`; keeps its memory for the next message unless that is more than
 * `keep` bytes. */
void fl_bytes_clear(fl_bytes_t *b, size_t keep);

/* Frees the memory. `b` is a valid empty value afterwards. */
void fl_bytes_destroy(fl_bytes_t *b);

#ifdef __cplusplus
}
#endif

#endif
