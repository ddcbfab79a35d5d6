/* SPDX-License-Identifier: MIT
 *
 * Frames that wait, in order, behind a full socket; of the first, what the
 * socket has not taken yet. They are kept in pieces: small frames share one, so
 * that they leave together; a large frame is a piece of its own and is not
 * copied.
 */
#ifndef FL_OUTBOX_H
#define FL_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frames are put together up to this size of a piece, in bytes. */
enum { FL_OUTBOX_PIECE = 64 * 1024 };

typedef struct fl_outbox_piece_s {
  struct fl_outbox_piece_s *next;
  fl_bytes_t bytes;
  size_t head;  /* the bytes before it have left already */
  bool adopted; /* one large frame; nothing is put behind it */
} fl_outbox_piece_t;

/* All zero is a valid empty value (FL_OUTBOX_INIT). */
typedef struct fl_outbox_s {
  fl_outbox_piece_t *first;
  fl_outbox_piece_t *last;
  size_t size; /* bytes that wait, in all pieces */
} fl_outbox_t;

#define FL_OUTBOX_INIT                                                         \
  { NULL, NULL, 0 }

/* Adds the bytes of `frame` from offset `from` on, which is below its length.
 * May take the memory of `frame` over: `frame` is then a valid empty value,
 * else it is as it was. FL_OK, or FL_ENOMEM with both as they were. */
int fl_outbox_push(fl_outbox_t *o, fl_bytes_t *frame, size_t from);

/* The bytes at the front, NULL if there are none. They stay the outbox's, and
 * as they are until the next call that changes it. */
const uint8_t *fl_outbox_front(const fl_outbox_t *o, size_t *len);

/* Drops `n` bytes at the front: at most as many as fl_outbox_front() gave. */
void fl_outbox_drop(fl_outbox_t *o, size_t n);

/* Takes the piece at the front out. The memory of `*bytes` is the caller's from
 * then on; what has left of it already ends at `*head`. Both are zero if the
 * outbox is empty. */
void fl_outbox_take(fl_outbox_t *o, fl_bytes_t *bytes, size_t *head);

/* Frees everything. The outbox is empty afterwards. */
void fl_outbox_destroy(fl_outbox_t *o);

#ifdef __cplusplus
}
#endif

#endif
