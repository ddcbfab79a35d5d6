/* SPDX-License-Identifier: MIT
 *
 * Message boundaries of Node's IPC channel, both wire formats of
 * lib/internal/child_process/serialization.js (PROTOCOL.md, "Frames"):
 *
 *   FL_FRAME_LINES   UTF-8 JSON text, then one byte 0x0a
 *
 *   FL_FRAME_LENGTH  +--------+--------+--------+--------+---- ... ----+
 *                    |   length, unsigned, big endian    | V8 bytes    |
 *                    +--------+--------+--------+--------+---- ... ----+
 *
 * The parser takes chunks cut anywhere and hands out whole frames. It looks at
 * each byte once; a frame that lies inside one chunk is not copied.
 */
#ifndef FL_FRAME_H
#define FL_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fl_frame_format {
  FL_FRAME_LINES = 0,
  FL_FRAME_LENGTH = 1
} fl_frame_format_t;

enum { FL_FRAME_HEADER = 4 /* bytes of FL_FRAME_LENGTH before the content */ };

/* The largest content that FL_FRAME_LENGTH can announce. */
#define FL_FRAME_LENGTH_MAX UINT32_MAX

typedef struct fl_frame_s {
  fl_frame_format_t format;
  size_t max;        /* largest content, in bytes */
  fl_bytes_t carry;  /* the frame begun in earlier chunks, header included */
  int handed_out;    /* `carry` is what fl_frame_next() returned last */
  const uint8_t *in; /* what is left of the chunk; the caller's memory */
  size_t in_len;
  int status; /* FL_OK, or the error that ended it */
} fl_frame_t;

/* The content of one frame, without newline or header. */
typedef struct fl_frame_view_s {
  const uint8_t *data;
  size_t len;
} fl_frame_view_t;

/* Starts a parser of frames of at most `max` bytes of content each. A length
 * beyond `max` is an error before any memory is taken for it. */
void fl_frame_init(fl_frame_t *f, fl_frame_format_t format, size_t max);

/* Frees what the parser holds. The parser may be started again. */
void fl_frame_destroy(fl_frame_t *f);

/* Gives the next chunk. The chunk stays the caller's and must stay as it is
 * until fl_frame_next() has returned something else than 1; only then may the
 * next chunk come. */
void fl_frame_feed(fl_frame_t *f, const uint8_t *data, size_t len);

/* 1: `view` is the next frame; it is valid until the next call with `f`.
 * 0: the chunk is used up, and what it began is kept.
 * FL_ETOOLONG, FL_ENOMEM: the boundaries are lost; the rest of the stream
 * cannot be read, and every later call returns the same error. */
int fl_frame_next(fl_frame_t *f, fl_frame_view_t *view);

/* Bytes kept of a frame that is not complete yet, header included. */
size_t fl_frame_pending(const fl_frame_t *f);

/* Begins a frame at the end of `out`; its content is appended to `out` next.
 * FL_OK or FL_ENOMEM. */
int fl_frame_begin(fl_frame_format_t format, fl_bytes_t *out);

/* Ends the frame that begins at offset `start` of `out`: writes the newline, or
 * the length into the header. FL_OK; FL_ENOMEM; FL_ETOOLONG if the length does
 * not fit the header. After an error `out` is as long as it was at `start`. */
int fl_frame_end(fl_frame_format_t format, fl_bytes_t *out, size_t start);

#ifdef __cplusplus
}
#endif

#endif
