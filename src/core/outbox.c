/* SPDX-License-Identifier: MIT
 * Frames behind a full socket.
 */
#include "outbox.h"

#include "status.h"

/* From here on, taking the memory over beats copying and reusing it. */
enum { ADOPT = 32 * 1024 };

size_t fl_outbox_size(const fl_outbox_t *o) {
  return o->bytes.len - o->head;
}

int fl_outbox_push(fl_outbox_t *o, fl_bytes_t *frame, size_t from) {
  if (fl_outbox_size(o) == 0 && frame->len - from >= ADOPT) {
    fl_outbox_destroy(o);
    o->bytes = *frame;
    o->head = from;
    *frame = (fl_bytes_t) FL_BYTES_INIT;
    return FL_OK;
  }
  return fl_bytes_append(&o->bytes, frame->base + from, frame->len - from,
                         SIZE_MAX);
}

void fl_outbox_take(fl_outbox_t *o, fl_outbox_t *out) {
  *out = *o;
  *o = (fl_outbox_t) FL_OUTBOX_INIT;
}

void fl_outbox_destroy(fl_outbox_t *o) {
  fl_bytes_destroy(&o->bytes);
  o->head = 0;
}
