/* SPDX-License-Identifier: MIT
 *
 * Whole frames that wait, in order, behind a full socket; they leave together.
 */
#ifndef FL_OUTBOX_H
#define FL_OUTBOX_H

#include <stddef.h>

#include "bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes from `head` on are waiting. */
typedef struct fl_outbox_s {
  fl_bytes_t bytes;
  size_t head;
} fl_outbox_t;

#define FL_OUTBOX_INIT                                                         \
  { FL_BYTES_INIT, 0 }

/* Bytes that wait. */
size_t fl_outbox_size(const fl_outbox_t *o);

/* Adds the bytes of `frame` from offset `from` on. Takes over the memory of
 * `frame` where that saves a large copy: `frame` is then a valid empty value,
 * else it is as it was. FL_OK, or FL_ENOMEM with both as they were. */
int fl_outbox_push(fl_outbox_t *o, fl_bytes_t *frame, size_t from);

/* Hands everything to the caller, who owns `out->bytes` from then on; the
 * outbox is empty. */
void fl_outbox_take(fl_outbox_t *o, fl_outbox_t *out);

/* Frees the memory. */
void fl_outbox_destroy(fl_outbox_t *o);

#ifdef __cplusplus
}
#endif

#endif
