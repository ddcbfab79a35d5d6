/* SPDX-License-Identifier: MIT
 * Frames behind a full socket.
 */
#include "outbox.h"

#include "alloc.h"
#include "status.h"

/* From here on, taking the memory over beats copying the bytes. */
enum { ADOPT = FL_OUTBOX_PIECE / 2 };

int fl_outbox_push(fl_outbox_t *o, fl_bytes_t *frame, size_t from) {
  size_t len = frame->len - from;
  fl_outbox_piece_t *piece = o->last;
  int rc = FL_OK;

  if (piece != NULL && !piece->adopted && len < ADOPT &&
      piece->bytes.len + len <= FL_OUTBOX_PIECE) {
    rc = fl_bytes_append(&piece->bytes, frame->base + from, len,
                         FL_OUTBOX_PIECE);
    if (rc == FL_OK) o->size += len;
    return rc;
  }

  piece = fl_realloc(NULL, sizeof(*piece));
  if (piece == NULL) return FL_ENOMEM;
  *piece = (fl_outbox_piece_t){NULL, FL_BYTES_INIT, 0, len >= ADOPT};
  if (!piece->adopted) {
    rc = fl_bytes_append(&piece->bytes, frame->base + from, len, SIZE_MAX);
    if (rc != FL_OK) {
      fl_free(piece);
      return rc;
    }
  } else {
    piece->bytes = *frame;
    piece->head = from;
    *frame = (fl_bytes_t) FL_BYTES_INIT;
  }

  if (o->last == NULL)
    o->first = piece;
  else
    o->last->next = piece;
  o->last = piece;
  o->size += len;
  return FL_OK;
}

const uint8_t *fl_outbox_front(const fl_outbox_t *o, size_t *len) {
  const fl_outbox_piece_t *piece = o->first;

  *len = piece == NULL ? 0 : piece->bytes.len - piece->head;
  return piece == NULL ? NULL : piece->bytes.base + piece->head;
}

void fl_outbox_drop(fl_outbox_t *o, size_t n) {
  fl_bytes_t bytes;
  size_t head;

  if (n == 0) return;
  o->first->head += n;
  o->size -= n;
  if (o->first->head == o->first->bytes.len) {
    fl_outbox_take(o, &bytes, &head);
    fl_bytes_destroy(&bytes);
  }
}

void fl_outbox_take(fl_outbox_t *o, fl_bytes_t *bytes, size_t *head) {
  fl_outbox_piece_t *piece = o->first;

  if (piece == NULL) {
    *bytes = (fl_bytes_t) FL_BYTES_INIT;
    *head = 0;
    return;
  }
  *bytes = piece->bytes;
  *head = piece->head;
  o->size -= piece->bytes.len - piece->head;
  o->first = piece->next;
  if (o->first == NULL) o->last = NULL;
  fl_free(piece);
}

void fl_outbox_destroy(fl_outbox_t *o) {
  fl_bytes_t bytes;
  size_t head;

  while (o->first != NULL) {
    fl_outbox_take(o, &bytes, &head);
    fl_bytes_destroy(&bytes);
  }
}
