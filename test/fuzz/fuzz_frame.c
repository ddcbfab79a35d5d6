/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target of the frame parser and writer. The input is PREFIX bytes
 * of choices (see choose()), then a stream. The parser gets the stream in
 * chunks, each in memory of its own that is freed once it is used up; a naive
 * reader looks at the whole stream. Whatever the stream:
 *
 *  1. both find the same frames, the same final status and the same number of
 *     pending bytes, however the stream is cut;
 *  2. a frame that lies inside one chunk is handed out where it is;
 *  3. memory is at most twice what was fed, and at most what a frame of the
 *     largest length needs, but for the smallest block;
 *  4. after an error the same error is returned, and no memory is held;
 *  5. if an allocation fails, the frames are the first of those that the naive
 *     reader finds, and the status is FL_ENOMEM;
 *  6. the writer makes the same stream again out of the frames;
 *  7. everything is freed.
 */
#include <stdlib.h>
#include <string.h>

#include "../../src/core/frame.h"
#include "../../src/core/status.h"
#include "alloc_fault.h"
#include "draw.h"
#include "fuzz.h"

enum {
  PREFIX = 5,
  SMALLEST_BLOCK = 256 /* the least capacity that bytes.c takes */
};

typedef struct choices_s {
  fl_frame_format_t format;
  size_t max;
  uint32_t seed; /* of the chunking, and the largest chunk */
  size_t chunk;
  size_t fail_at; /* the allocation that fails, or 0 */
} choices_t;

typedef struct span_s {
  size_t offset; /* of the content */
  size_t len;
} span_t;

typedef struct result_s {
  span_t *frames; /* at most one for each byte of the stream */
  size_t count;
  size_t end; /* offset behind the last frame */
  int status;
  size_t pending;
} result_t;

static choices_t choose(const uint8_t prefix[PREFIX]) {
  choices_t c;
  size_t n = prefix[1];

  c.format = prefix[0] & 1 ? FL_FRAME_LENGTH : FL_FRAME_LINES;
  switch (prefix[0] >> 1 & 3) {
    case 0:
      c.max = n;
      break;
    case 1:
      c.max = n * 16;
      break;
    case 2:
      c.max = SMALLEST_BLOCK - 8 + n % 16;
      break;
    default:
      c.max = SIZE_MAX - n;
  }
  c.seed = 1u + prefix[2];
  c.chunk = 1 + prefix[3] % 64 * (prefix[3] & 64 ? 16 : 1);
  c.fail_at = prefix[4] % 16;
  return c;
}

/* Reads one frame of `n` bytes of stream at `at`. Returns whether there is one;
 * if not, `*status` says whether that is an error. */
static int naive_frame(const choices_t *c, const uint8_t *stream, size_t n,
                       size_t at, span_t *frame, size_t *end, int *status) {
  uint64_t len = 0;

  if (c->format == FL_FRAME_LINES) {
    while (at + len < n && stream[at + len] != '\n') len++;
    if (len > c->max) *status = FL_ETOOLONG;
    if (*status != FL_OK || at + len == n) return 0;
    frame->offset = at;
    frame->len = len;
    *end = at + len + 1;
    return 1;
  }

  if (n - at < 4) return 0;
  for (size_t i = 0; i < 4; i++) len = len * 256 + stream[at + i];
  if (len > c->max) *status = FL_ETOOLONG;
  if (*status != FL_OK || len > n - at - 4) return 0;
  frame->offset = at + 4;
  frame->len = len;
  *end = at + 4 + len;
  return 1;
}

static result_t naive(const choices_t *c, const uint8_t *stream, size_t n) {
  result_t r = {0};

  r.frames = malloc((n + 1) * sizeof(*r.frames));
  CHECK(r.frames != NULL);
  while (
      naive_frame(c, stream, n, r.end, &r.frames[r.count], &r.end, &r.status))
    r.count++;
  r.pending = r.status == FL_OK ? n - r.end : 0;
  return r;
}

static void check_memory(const choices_t *c, const fl_frame_t *f, size_t fed) {
  size_t most = 2 * fed;

  if (c->max < most && c->max + FL_FRAME_HEADER < most)
    most = c->max + FL_FRAME_HEADER;
  if (most < SMALLEST_BLOCK) most = SMALLEST_BLOCK;
  CHECK(f->carry.cap <= most);
  CHECK(fl_test_alloc.largest <= most);
  CHECK(f->carry.len <= f->carry.cap);
}

/* Feeds `n` bytes at offset `at` of the stream; counts the frames on. */
static int feed(const choices_t *c, fl_frame_t *f, const result_t *expected,
                const uint8_t *stream, size_t at, size_t n, size_t *count) {
  size_t header = c->format == FL_FRAME_LENGTH ? FL_FRAME_HEADER : 0;
  uint8_t *chunk = malloc(n == 0 ? 1 : n);
  fl_frame_view_t view;
  int rc;

  CHECK(chunk != NULL);
  if (n != 0) memcpy(chunk, stream + at, n);
  fl_frame_feed(f, chunk, n);
  while ((rc = fl_frame_next(f, &view)) == 1) {
    const span_t *frame = &expected->frames[*count];

    CHECK(*count < expected->count);
    CHECK(view.len == frame->len);
    if (view.len != 0)
      CHECK(memcmp(view.data, stream + frame->offset, view.len) == 0);
    if (frame->offset - header >= at)
      CHECK(view.data == chunk + (frame->offset - at));
    CHECK(fl_frame_pending(f) == 0);
    check_memory(c, f, at + n);
    ++*count;
  }
  free(chunk);
  return rc;
}

/* Parses in chunks and compares with `expected`. */
static void parse(const choices_t *c, const result_t *expected,
                  const uint8_t *stream, size_t n) {
  uint32_t seed = c->seed;
  size_t count = 0;
  size_t at = 0;
  int rc = FL_OK;
  int starved;
  fl_frame_t f;

  fl_test_alloc_fail(c->fail_at);
  fl_frame_init(&f, c->format, c->max);
  while (at < n) {
    size_t size = draw(&seed) % (c->chunk + 1);
    int before = rc;

    if (size > n - at) size = n - at;
    rc = feed(c, &f, expected, stream, at, size, &count);
    at += size;
    if (before != FL_OK) CHECK(rc == before);
    if (rc != FL_OK) CHECK(f.carry.base == NULL);
    check_memory(c, &f, at);
  }

  starved = c->fail_at != 0 && fl_test_alloc.calls >= c->fail_at;
  CHECK(rc == (starved ? FL_ENOMEM : expected->status));
  CHECK(starved ? count <= expected->count : count == expected->count);
  CHECK(fl_frame_pending(&f) == (starved ? 0 : expected->pending));
  fl_frame_destroy(&f);
  CHECK(fl_test_alloc.live == 0);
}

static void write_again(const choices_t *c, const result_t *frames,
                        const uint8_t *stream) {
  fl_bytes_t out = FL_BYTES_INIT;

  fl_test_alloc_reset();
  for (size_t i = 0; i < frames->count; i++) {
    const span_t *frame = &frames->frames[i];
    size_t start = out.len;

    CHECK(fl_frame_begin(c->format, &out) == FL_OK);
    CHECK(fl_bytes_append(&out, stream + frame->offset, frame->len, SIZE_MAX) ==
          FL_OK);
    CHECK(fl_frame_end(c->format, &out, start) == FL_OK);
  }
  CHECK(out.len == frames->end);
  if (out.len != 0) CHECK(memcmp(out.base, stream, out.len) == 0);
  fl_bytes_destroy(&out);
  CHECK(fl_test_alloc.live == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *stream = data + PREFIX;
  result_t expected;
  choices_t c;
  size_t n;

  if (size < PREFIX) return 0;
  n = size - PREFIX;
  c = choose(data);
  expected = naive(&c, stream, n);
  parse(&c, &expected, stream, n);
  if (c.fail_at != 0) {
    c.fail_at = 0;
    parse(&c, &expected, stream, n);
  }
  write_again(&c, &expected, stream);
  free(expected.frames);
  return 0;
}
