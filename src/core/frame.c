/* SPDX-License-Identifier: MIT
 * The incremental parser of both wire formats.
 */
#include "frame.h"

#include <string.h>

#include "scan.h"
#include "status.h"

/* A carry buffer up to this size is kept for the next frame that straddles two
 * reads; Node reads 64 KiB at a time. */
enum { KEEP = 64 * 1024 };

void fl_frame_init(fl_frame_t *f, fl_frame_format_t format, size_t max) {
  memset(f, 0, sizeof(*f));
  f->format = format;
  f->max = max;
  if (format == FL_FRAME_LENGTH && f->max > FL_FRAME_LENGTH_MAX)
    f->max = FL_FRAME_LENGTH_MAX;
  /* A frame and its header are counted in a size_t; only 32 bits come close. */
  if (f->max > SIZE_MAX - FL_FRAME_HEADER) f->max = SIZE_MAX - FL_FRAME_HEADER;
}

void fl_frame_destroy(fl_frame_t *f) {
  fl_bytes_destroy(&f->carry);
  fl_frame_init(f, f->format, f->max);
}

void fl_frame_feed(fl_frame_t *f, const uint8_t *data, size_t len) {
  f->in = data;
  f->in_len = len;
}

size_t fl_frame_pending(const fl_frame_t *f) {
  return f->handed_out ? 0 : f->carry.len;
}

static uint32_t get_header(const uint8_t in[FL_FRAME_HEADER]) {
  return (uint32_t) in[0] << 24 | (uint32_t) in[1] << 16 |
         (uint32_t) in[2] << 8 | (uint32_t) in[3];
}

static void put_header(uint8_t out[FL_FRAME_HEADER], uint32_t content) {
  out[0] = (uint8_t) (content >> 24);
  out[1] = (uint8_t) (content >> 16);
  out[2] = (uint8_t) (content >> 8);
  out[3] = (uint8_t) content;
}

static int fail(fl_frame_t *f, int status) {
  f->status = status;
  f->in_len = 0;
  fl_bytes_destroy(&f->carry);
  return status;
}

static void consume(fl_frame_t *f, size_t n) {
  f->in += n;
  f->in_len -= n;
}

/* Moves `n` bytes of the chunk to the carry buffer, which will need no more
 * than `limit` bytes for this frame. */
static int carry(fl_frame_t *f, size_t n, size_t limit) {
  int rc = fl_bytes_append(&f->carry, f->in, n, limit);
  if (rc != FL_OK) return fail(f, rc);
  consume(f, n);
  return FL_OK;
}

static int hand_out(fl_frame_t *f, fl_frame_view_t *view, size_t header) {
  view->data = f->carry.base == NULL ? NULL : f->carry.base + header;
  view->len = f->carry.len - header;
  f->handed_out = 1;
  return 1;
}

static int next_line(fl_frame_t *f, fl_frame_view_t *view) {
  const uint8_t *end;
  size_t n;
  int rc;

  if (f->in_len == 0) return 0;
  end = fl_scan_newline(f->in, f->in_len);
  n = end == NULL ? f->in_len : (size_t) (end - f->in);
  if (n > f->max - f->carry.len) return fail(f, FL_ETOOLONG);

  if (end != NULL && f->carry.len == 0) {
    view->data = f->in;
    view->len = n;
    consume(f, n + 1);
    return 1;
  }

  rc = carry(f, n, f->max);
  if (rc != FL_OK || end == NULL) return rc;
  consume(f, 1);
  return hand_out(f, view, 0);
}

static int next_length(fl_frame_t *f, fl_frame_view_t *view) {
  size_t content;
  size_t missing;
  int rc;

  if (f->in_len == 0) return 0;

  /* The whole frame may lie in the chunk. */
  if (f->carry.len == 0 && f->in_len >= FL_FRAME_HEADER) {
    content = get_header(f->in);
    if (content > f->max) return fail(f, FL_ETOOLONG);
    if (content <= f->in_len - FL_FRAME_HEADER) {
      view->data = f->in + FL_FRAME_HEADER;
      view->len = content;
      consume(f, FL_FRAME_HEADER + content);
      return 1;
    }
  }

  if (f->carry.len < FL_FRAME_HEADER) {
    missing = FL_FRAME_HEADER - f->carry.len;
    rc = carry(f, f->in_len < missing ? f->in_len : missing, SIZE_MAX);
    if (rc != FL_OK || f->carry.len < FL_FRAME_HEADER) return rc;
    if (get_header(f->carry.base) > f->max) return fail(f, FL_ETOOLONG);
  }

  /* Memory grows with what has arrived, not with what the header claims. */
  content = get_header(f->carry.base);
  missing = FL_FRAME_HEADER + content - f->carry.len;
  rc = carry(f, f->in_len < missing ? f->in_len : missing,
             FL_FRAME_HEADER + content);
  if (rc != FL_OK || f->carry.len < FL_FRAME_HEADER + content) return rc;
  return hand_out(f, view, FL_FRAME_HEADER);
}

int fl_frame_next(fl_frame_t *f, fl_frame_view_t *view) {
  if (f->status != FL_OK) return f->status;
  if (f->handed_out) {
    f->handed_out = 0;
    fl_bytes_clear(&f->carry, KEEP);
  }
  return f->format == FL_FRAME_LINES ? next_line(f, view)
                                     : next_length(f, view);
}

int fl_frame_begin(fl_frame_format_t format, fl_bytes_t *out) {
  static const uint8_t unknown[FL_FRAME_HEADER] = {0};

  if (format == FL_FRAME_LINES) return FL_OK;
  return fl_bytes_append(out, unknown, sizeof(unknown), SIZE_MAX);
}

int fl_frame_end(fl_frame_format_t format, fl_bytes_t *out, size_t start) {
  size_t content;
  int rc;

  if (format == FL_FRAME_LINES) {
    rc = fl_bytes_append(out, "\n", 1, SIZE_MAX);
    if (rc != FL_OK) out->len = start;
    return rc;
  }

  content = out->len - start - FL_FRAME_HEADER;
  if (content > FL_FRAME_LENGTH_MAX) {
    out->len = start;
    return FL_ETOOLONG;
  }
  put_header(out->base + start, (uint32_t) content);
  return FL_OK;
}
