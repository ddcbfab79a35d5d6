/* SPDX-License-Identifier: MIT
 *
 * The frame parser's contract beside what it makes of a stream, which the text
 * cases (cases_test.c) cover: limits, memory, work per byte, whose the bytes
 * are, errors that stay, and the writer.
 */
#include "../../src/core/frame.h"

#include "../../src/core/status.h"
#include "check.h"
#include "memchr_count.h"

enum {
  CHUNK = 64 * 1024, /* what Node reads at a time */
  KEEP = 64 * 1024   /* a carry buffer above this is freed */
};

#define MIB ((size_t) 1 << 20)

static const uint8_t *bytes(const char *text) {
  return (const uint8_t *) text;
}

/* Feeds `n` bytes, of which nothing but complete frames is expected, and
 * returns the last status. Counts the frames in `*frames` if that is not
 * NULL. */
static int feed(fl_frame_t *f, const void *data, size_t n, size_t *frames) {
  fl_frame_view_t view;
  int rc;

  fl_frame_feed(f, data, n);
  while ((rc = fl_frame_next(f, &view)) == 1)
    if (frames != NULL) ++*frames;
  return rc;
}

static void expect_frame(fl_frame_t *f, const void *content, size_t n) {
  fl_frame_view_t view;

  assert_int_equal(fl_frame_next(f, &view), 1);
  assert_int_equal(view.len, n);
  if (n != 0) assert_memory_equal(view.data, content, n);
}

static void expect_status(fl_frame_t *f, int status) {
  fl_frame_view_t view;

  assert_int_equal(fl_frame_next(f, &view), status);
}

/* The stream of one frame with `content` bytes of 'x'. The caller frees it. */
static uint8_t *stream_of(fl_frame_format_t format, size_t content,
                          size_t *len) {
  fl_bytes_t b = FL_BYTES_INIT;
  uint8_t *stream;

  assert_int_equal(fl_frame_begin(format, &b), FL_OK);
  assert_int_equal(fl_bytes_reserve(&b, content + 1, SIZE_MAX), FL_OK);
  memset(b.base + b.len, 'x', content);
  b.len += content;
  assert_int_equal(fl_frame_end(format, &b, 0), FL_OK);
  *len = b.len;
  stream = exact_copy(b.base, b.len);
  fl_bytes_destroy(&b);
  return stream;
}

/* --- Limits --------------------------------------------------------------- */

static void limit_case(fl_frame_format_t format, size_t max, size_t content,
                       size_t chunk) {
  fl_frame_t f;
  size_t len;
  size_t frames = 0;
  uint8_t *stream = stream_of(format, content, &len);
  int rc = FL_OK;

  fl_frame_init(&f, format, max);
  for (size_t at = 0; at < len; at += chunk) {
    size_t n = len - at < chunk ? len - at : chunk;

    rc = feed(&f, stream + at, n, &frames);
    if (rc != FL_OK) break;
    /* The memory for a frame has the same limit. */
    assert_true(f.carry.cap <= 256 || f.carry.cap <= max + FL_FRAME_HEADER);
  }
  assert_int_equal(rc, content > max ? FL_ETOOLONG : FL_OK);
  assert_int_equal(frames, content > max ? 0 : 1);
  assert_int_equal(fl_frame_pending(&f), 0);
  fl_frame_destroy(&f);
  free(stream);
}

static void test_lengths_around_the_maximum(void **state) {
  static const size_t maxima[] = {0, 1, 3, 4, 5, 255, 256, 257, 1000, 4096};
  static const size_t chunks[] = {1, 2, 3, 7, 100, 1 << 20};

  (void) state;
  for (size_t m = 0; m < sizeof(maxima) / sizeof(maxima[0]); m++) {
    for (size_t c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++) {
      for (size_t add = 0; add <= 3; add++) {
        if (maxima[m] + add == 0) continue;
        limit_case(FL_FRAME_LINES, maxima[m], maxima[m] + add - 1, chunks[c]);
        limit_case(FL_FRAME_LENGTH, maxima[m], maxima[m] + add - 1, chunks[c]);
      }
    }
  }
}

static void test_a_huge_length_fails_before_memory_is_taken(void **state) {
  static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff};
  fl_frame_t f;

  (void) state;
  fl_frame_init(&f, FL_FRAME_LENGTH, 1000);
  assert_int_equal(feed(&f, huge, sizeof(huge), NULL), FL_ETOOLONG);
  assert_int_equal(fl_test_alloc.calls, 0);
  fl_frame_destroy(&f);

  /* Cut, the header itself has to be kept, and nothing else. */
  fl_frame_init(&f, FL_FRAME_LENGTH, 1000);
  assert_int_equal(feed(&f, huge, 3, NULL), FL_OK);
  assert_int_equal(feed(&f, huge + 3, 1, NULL), FL_ETOOLONG);
  assert_int_equal(fl_test_alloc.calls, 1);
  assert_true(fl_test_alloc.largest <= 256);
  assert_int_equal(fl_test_alloc.live, 0);
  fl_frame_destroy(&f);
}

static void test_memory_follows_what_arrives_not_the_claim(void **state) {
  static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff};
  uint8_t *chunk = malloc(CHUNK);
  size_t fed = sizeof(huge);
  fl_frame_t f;

  (void) state;
  assert_non_null(chunk);
  memset(chunk, 'x', CHUNK);
  /* A parser that believes the header is refused instead of served. */
  fl_test_alloc_limit(16 * MIB);
  fl_frame_init(&f, FL_FRAME_LENGTH, SIZE_MAX);
  assert_int_equal(f.max, FL_FRAME_LENGTH_MAX);
  assert_int_equal(feed(&f, huge, sizeof(huge), NULL), FL_OK);
  assert_true(f.carry.cap <= 256);
  while (fed < 4 * MIB) {
    assert_int_equal(feed(&f, chunk, CHUNK, NULL), FL_OK);
    fed += CHUNK;
    assert_int_equal(fl_frame_pending(&f), fed);
    assert_true(f.carry.cap <= 2 * fed);
    assert_true(fl_test_alloc.largest <= 2 * fed);
  }
  fl_frame_destroy(&f);
  free(chunk);
}

static void test_the_largest_maximum_does_not_overflow(void **state) {
  fl_frame_t f;

  (void) state;
  fl_frame_init(&f, FL_FRAME_LINES, SIZE_MAX);
  assert_true(f.max >= SIZE_MAX - FL_FRAME_HEADER);
  fl_frame_feed(&f, bytes("ab"), 2);
  expect_status(&f, 0);
  fl_frame_feed(&f, bytes("c\nd\n"), 4);
  expect_frame(&f, "abc", 3);
  expect_frame(&f, "d", 1);
  expect_status(&f, 0);
  fl_frame_destroy(&f);
}

/* --- Work ----------------------------------------------------------------- */

/* Feeds one frame of 16 MiB in pieces and returns how many bytes were looked
 * at or moved by a growth. */
static size_t work_of(fl_frame_format_t format, size_t piece) {
  size_t content = 16 * MIB;
  size_t len;
  size_t frames = 0;
  uint8_t *stream = stream_of(format, content, &len);
  fl_frame_t f;

  fl_test_alloc_reset();
  fl_test_memchr_bytes = 0;
  fl_frame_init(&f, format, SIZE_MAX);
  for (size_t at = 0; at < len; at += piece) {
    size_t n = len - at < piece ? len - at : piece;

    assert_int_equal(feed(&f, stream + at, n, &frames), FL_OK);
  }
  assert_int_equal(frames, 1);
  fl_frame_destroy(&f);
  free(stream);
  /* 256 bytes doubled 16 times are 16 MiB; the header may take one more. */
  assert_in_range(fl_test_alloc.calls, 1, 18);
  return fl_test_alloc.moved + fl_test_memchr_bytes;
}

static void test_growth_is_geometric_and_work_linear(void **state) {
  (void) state;
  /* Each byte is looked at once, and moved less than twice on average. */
  assert_true(work_of(FL_FRAME_LINES, CHUNK) <= 3 * 16 * MIB);
  assert_true(fl_test_memchr_bytes == 16 * MIB + 1);
  assert_true(work_of(FL_FRAME_LENGTH, CHUNK) <= 2 * 16 * MIB);
  assert_int_equal(fl_test_memchr_bytes, 0);
}

static void test_each_byte_is_looked_at_once(void **state) {
  /* Lines of 0 to 99 bytes, fed one byte at a time and all at once. */
  uint8_t stream[100 * 101 / 2];
  size_t len = 0;
  size_t frames = 0;
  fl_frame_t f;

  (void) state;
  for (size_t n = 0; n < 100; n++) {
    memset(stream + len, 'x', n);
    stream[len + n] = '\n';
    len += n + 1;
  }
  assert_int_equal(len, sizeof(stream));

  fl_test_memchr_bytes = 0;
  fl_frame_init(&f, FL_FRAME_LINES, 1000);
  assert_int_equal(feed(&f, stream, len, &frames), FL_OK);
  assert_int_equal(frames, 100);
  assert_int_equal(fl_test_memchr_bytes, len);
  assert_int_equal(fl_test_alloc.calls, 0);

  fl_test_memchr_bytes = 0;
  for (size_t i = 0; i < len; i++)
    assert_int_equal(feed(&f, stream + i, 1, &frames), FL_OK);
  assert_int_equal(frames, 200);
  assert_int_equal(fl_test_memchr_bytes, len);
  fl_frame_destroy(&f);
}

/* --- Whose the bytes are -------------------------------------------------- */

static void test_a_frame_inside_one_chunk_is_not_copied(void **state) {
  static const uint8_t lengths[] = {0, 0, 0, 2, 'a', 'b', 0, 0, 0,
                                    0, 0, 0, 0, 1,   'c', 0, 0};
  const uint8_t *lines = bytes("ab\n\nc\nd");
  fl_frame_view_t view;
  fl_frame_t f;

  (void) state;
  fl_frame_init(&f, FL_FRAME_LINES, 10);
  fl_frame_feed(&f, lines, 7);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, lines);
  assert_int_equal(view.len, 2);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, lines + 3);
  assert_int_equal(view.len, 0);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, lines + 4);
  assert_int_equal(view.len, 1);
  assert_int_equal(fl_test_alloc.calls, 0);
  expect_status(&f, 0);
  assert_int_equal(fl_frame_pending(&f), 1);
  fl_frame_destroy(&f);

  fl_test_alloc_reset();
  fl_frame_init(&f, FL_FRAME_LENGTH, 10);
  fl_frame_feed(&f, lengths, sizeof(lengths));
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, lengths + 4);
  assert_int_equal(view.len, 2);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, lengths + 10);
  assert_int_equal(view.len, 0);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, lengths + 14);
  assert_int_equal(view.len, 1);
  assert_int_equal(fl_test_alloc.calls, 0);
  expect_status(&f, 0);
  assert_int_equal(fl_frame_pending(&f), 2);
  fl_frame_destroy(&f);
}

static void test_a_frame_that_ends_the_chunk_is_not_copied(void **state) {
  const uint8_t *line = bytes("ab\n");
  const uint8_t *length = bytes("\0\0\0\2ab");
  const uint8_t *empty = bytes("\0\0\0\0");
  fl_frame_view_t view;
  fl_frame_t f;

  (void) state;
  fl_frame_init(&f, FL_FRAME_LINES, 10);
  fl_frame_feed(&f, line, 3);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, line);
  expect_status(&f, 0);

  fl_frame_init(&f, FL_FRAME_LENGTH, 10);
  fl_frame_feed(&f, length, 6);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, length + 4);
  expect_status(&f, 0);
  fl_frame_feed(&f, empty, 4);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_int_equal(view.len, 0);
  expect_status(&f, 0);
  assert_int_equal(fl_test_alloc.calls, 0);
}

static void test_a_chunk_may_go_once_it_is_used_up(void **state) {
  uint8_t *chunk = exact_copy("one\ntw", 6);
  fl_frame_t f;

  (void) state;
  fl_frame_init(&f, FL_FRAME_LINES, 10);
  fl_frame_feed(&f, chunk, 6);
  expect_frame(&f, "one", 3);
  expect_status(&f, 0);
  free(chunk);
  assert_int_equal(fl_frame_pending(&f), 2);
  fl_frame_feed(&f, bytes("o\n"), 2);
  expect_frame(&f, "two", 3);
  assert_int_equal(fl_frame_pending(&f), 0);
  expect_status(&f, 0);
  fl_frame_destroy(&f);
}

static void test_what_follows_a_carried_frame_is_not_copied(void **state) {
  const uint8_t *rest = bytes("b\ncd\n");
  fl_frame_view_t view;
  fl_frame_t f;

  (void) state;
  fl_frame_init(&f, FL_FRAME_LINES, 10);
  fl_frame_feed(&f, bytes("a"), 1);
  expect_status(&f, 0);
  fl_frame_feed(&f, rest, 5);
  expect_frame(&f, "ab", 2);
  assert_int_equal(fl_frame_next(&f, &view), 1);
  assert_ptr_equal(view.data, rest + 2);
  assert_int_equal(view.len, 2);
  expect_status(&f, 0);
  fl_frame_destroy(&f);
}

static void test_an_empty_chunk_changes_nothing(void **state) {
  static const fl_frame_format_t formats[] = {FL_FRAME_LINES, FL_FRAME_LENGTH};
  static const uint8_t none[1];

  (void) state;
  for (size_t i = 0; i < 2; i++) {
    fl_frame_t f;
    size_t len;
    size_t frames = 0;
    uint8_t *stream = stream_of(formats[i], 3, &len);

    fl_frame_init(&f, formats[i], 3);
    for (size_t at = 0; at < len; at++) {
      assert_int_equal(feed(&f, none, 0, &frames), FL_OK);
      assert_int_equal(frames, 0);
      assert_int_equal(fl_frame_pending(&f), at);
      assert_int_equal(feed(&f, stream + at, 1, &frames), FL_OK);
    }
    assert_int_equal(frames, 1);
    assert_int_equal(feed(&f, none, 0, &frames), FL_OK);
    assert_int_equal(frames, 1);
    fl_frame_destroy(&f);
    free(stream);
  }
}

/* No memory at all stands behind it, as before the first read. */
static void test_no_chunk_is_an_empty_chunk(void **state) {
  static const fl_frame_format_t formats[] = {FL_FRAME_LINES, FL_FRAME_LENGTH};

  (void) state;
  for (size_t i = 0; i < 2; i++) {
    fl_frame_t f;
    fl_frame_view_t view;

    fl_frame_init(&f, formats[i], 10);
    assert_int_equal(fl_frame_next(&f, &view), 0);
    fl_frame_feed(&f, NULL, 0);
    assert_int_equal(fl_frame_next(&f, &view), 0);
    assert_int_equal(fl_frame_pending(&f), 0);
    fl_frame_destroy(&f);
  }
}

static void test_small_carry_memory_is_kept_and_large_is_not(void **state) {
  uint8_t *stream;
  size_t len;
  fl_frame_t f;

  (void) state;
  fl_frame_init(&f, FL_FRAME_LENGTH, SIZE_MAX);
  stream = stream_of(FL_FRAME_LENGTH, 1000, &len);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(feed(&f, stream, 500, NULL), FL_OK);
    assert_int_equal(feed(&f, stream + 500, len - 500, NULL), FL_OK);
  }
  free(stream);
  assert_true(f.carry.cap > 0);
  assert_int_equal(fl_test_alloc.live, 1);

  fl_test_alloc_reset();
  stream = stream_of(FL_FRAME_LENGTH, 1000, &len);
  fl_test_alloc_reset();
  assert_int_equal(feed(&f, stream, 500, NULL), FL_OK);
  assert_int_equal(feed(&f, stream + 500, len - 500, NULL), FL_OK);
  assert_int_equal(fl_test_alloc.calls, 0);
  free(stream);

  stream = stream_of(FL_FRAME_LENGTH, 2 * KEEP, &len);
  assert_int_equal(feed(&f, stream, len - 1, NULL), FL_OK);
  assert_true(f.carry.cap > KEEP);
  assert_int_equal(feed(&f, stream + len - 1, 1, NULL), FL_OK);
  assert_int_equal(f.carry.cap, 0);
  assert_int_equal(fl_test_alloc.live, 0);
  free(stream);
  fl_frame_destroy(&f);
}

/* --- Errors --------------------------------------------------------------- */

static void expect_stuck(fl_frame_t *f, int status) {
  for (int i = 0; i < 3; i++) expect_status(f, status);
  fl_test_alloc_reset();
  fl_frame_feed(f, bytes("\0\0\0\1a\nb\n"), 8);
  for (int i = 0; i < 3; i++) expect_status(f, status);
  assert_int_equal(fl_frame_pending(f), 0);
  assert_int_equal(fl_test_alloc.calls, 0);
  assert_int_equal(fl_test_alloc.live, 0);
}

static void test_too_long_stays(void **state) {
  fl_frame_t f;

  (void) state;
  fl_frame_init(&f, FL_FRAME_LINES, 3);
  fl_frame_feed(&f, bytes("ok\nfour\nok\n"), 11);
  expect_frame(&f, "ok", 2);
  expect_status(&f, FL_ETOOLONG);
  expect_stuck(&f, FL_ETOOLONG);
  fl_frame_destroy(&f);

  fl_frame_init(&f, FL_FRAME_LINES, 3);
  fl_frame_feed(&f, bytes("fo"), 2);
  expect_status(&f, 0);
  fl_frame_feed(&f, bytes("ur"), 2);
  expect_status(&f, FL_ETOOLONG);
  expect_stuck(&f, FL_ETOOLONG);
  fl_frame_destroy(&f);

  fl_frame_init(&f, FL_FRAME_LENGTH, 3);
  fl_frame_feed(&f, bytes("\0\0\0\1a\0\0\0\4abcd"), 13);
  expect_frame(&f, "a", 1);
  expect_status(&f, FL_ETOOLONG);
  expect_stuck(&f, FL_ETOOLONG);
  fl_frame_destroy(&f);
}

/* Feeds `n` bytes in pieces while allocation number `nth` fails. Returns the
 * frames that came out, and the last status in `*rc`. */
static size_t starved(fl_frame_format_t format, const uint8_t *stream, size_t n,
                      size_t piece, size_t nth, int *rc) {
  fl_frame_t f;
  size_t frames = 0;

  *rc = FL_OK;
  fl_frame_init(&f, format, SIZE_MAX);
  fl_test_alloc_fail(nth);
  for (size_t at = 0; at < n && *rc == FL_OK; at += piece) {
    size_t len = n - at < piece ? n - at : piece;
    uint8_t *chunk = exact_copy(stream + at, len);

    *rc = feed(&f, chunk, len, &frames);
    free(chunk);
  }
  if (*rc != FL_OK) expect_stuck(&f, *rc);
  fl_frame_destroy(&f);
  return frames;
}

static void test_out_of_memory_stays(void **state) {
  static const fl_frame_format_t formats[] = {FL_FRAME_LINES, FL_FRAME_LENGTH};
  static const size_t pieces[] = {1, 3, 100, 700};

  (void) state;
  for (size_t i = 0; i < 2; i++) {
    size_t len;
    uint8_t *one = stream_of(formats[i], 3000, &len);
    uint8_t *stream = malloc(3 * len);

    assert_non_null(stream);
    for (size_t k = 0; k < 3; k++) memcpy(stream + k * len, one, len);
    for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
      size_t needed;
      int rc;

      assert_int_equal(starved(formats[i], stream, 3 * len, pieces[p], 0, &rc),
                       3);
      assert_int_equal(rc, FL_OK);
      needed = fl_test_alloc.calls;
      assert_true(needed >= 1);
      for (size_t nth = 1; nth <= needed; nth++) {
        size_t frames =
            starved(formats[i], stream, 3 * len, pieces[p], nth, &rc);

        assert_int_equal(rc, FL_ENOMEM);
        assert_true(frames < 3);
      }
    }
    free(one);
    free(stream);
  }
}

static void test_starts_again_after_destroy(void **state) {
  fl_frame_t f;

  (void) state;
  /* After an error. */
  fl_frame_init(&f, FL_FRAME_LINES, 3);
  fl_frame_feed(&f, bytes("four\n"), 5);
  expect_status(&f, FL_ETOOLONG);
  fl_frame_destroy(&f);
  fl_frame_feed(&f, bytes("abc\n"), 4);
  expect_frame(&f, "abc", 3);
  expect_status(&f, 0);

  /* With half a frame kept, of which nothing must be left. */
  fl_frame_feed(&f, bytes("zz"), 2);
  expect_status(&f, 0);
  fl_frame_destroy(&f);
  assert_int_equal(fl_frame_pending(&f), 0);
  fl_frame_feed(&f, bytes("abc\n"), 4);
  expect_frame(&f, "abc", 3);

  /* With a chunk half read, and after a carried frame was handed out. */
  fl_frame_destroy(&f);
  fl_frame_feed(&f, bytes("a"), 1);
  expect_status(&f, 0);
  fl_frame_feed(&f, bytes("b\nc\n"), 4);
  expect_frame(&f, "ab", 2);
  fl_frame_destroy(&f);
  assert_int_equal(fl_test_alloc.live, 0);
  expect_status(&f, 0);
  fl_frame_feed(&f, bytes("abcd\n"), 5);
  expect_status(&f, FL_ETOOLONG);
  fl_frame_destroy(&f);
  fl_frame_destroy(&f);

  fl_frame_init(&f, FL_FRAME_LENGTH, 2);
  fl_frame_feed(&f, bytes("\0\0\0\2a"), 5);
  expect_status(&f, 0);
  fl_frame_destroy(&f);
  fl_frame_feed(&f, bytes("\0\0\0\1x"), 5);
  expect_frame(&f, "x", 1);
  fl_frame_feed(&f, bytes("\0\0\0\3"), 4);
  expect_status(&f, FL_ETOOLONG);
  fl_frame_destroy(&f);
}

/* --- The writer ----------------------------------------------------------- */

static void test_writes_the_documented_bytes(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;

  (void) state;
  assert_int_equal(fl_frame_begin(FL_FRAME_LINES, &b), FL_OK);
  assert_int_equal(b.len, 0);
  assert_int_equal(fl_bytes_append(&b, "{}", 2, SIZE_MAX), FL_OK);
  assert_int_equal(fl_frame_end(FL_FRAME_LINES, &b, 0), FL_OK);
  assert_int_equal(b.len, 3);
  assert_memory_equal(b.base, "{}\n", 3);

  /* Behind what is there already. */
  assert_int_equal(fl_frame_begin(FL_FRAME_LENGTH, &b), FL_OK);
  assert_int_equal(b.len, 7);
  assert_int_equal(fl_bytes_append(&b, "\xff\x0f", 2, SIZE_MAX), FL_OK);
  assert_int_equal(fl_frame_end(FL_FRAME_LENGTH, &b, 3), FL_OK);
  assert_int_equal(b.len, 9);
  assert_memory_equal(b.base, "{}\n\0\0\0\2\xff\x0f", 9);
  fl_bytes_destroy(&b);
}

static void test_the_length_is_big_endian(void **state) {
  uint8_t header[FL_FRAME_HEADER] = {0};
  fl_bytes_t b = {header, 0, sizeof(header)};

  (void) state;
  /* fl_frame_end() writes nothing but the header, so the content need not be
   * there. */
  b.len = FL_FRAME_HEADER + (size_t) 0x01020304;
  assert_int_equal(fl_frame_end(FL_FRAME_LENGTH, &b, 0), FL_OK);
  assert_memory_equal(header, "\x01\x02\x03\x04", 4);
#if SIZE_MAX > UINT32_MAX
  b.len = FL_FRAME_HEADER + (size_t) 0xffffffff;
  assert_int_equal(fl_frame_end(FL_FRAME_LENGTH, &b, 0), FL_OK);
  assert_memory_equal(header, "\xff\xff\xff\xff", 4);
#endif
}

#if SIZE_MAX > UINT32_MAX
static void test_refuses_a_length_beyond_the_header(void **state) {
  uint8_t header[FL_FRAME_HEADER + 3] = {0};
  fl_bytes_t b = {header, 0, sizeof(header)};

  (void) state;
  b.len = 3 + FL_FRAME_HEADER + (size_t) 0xffffffff + 1;
  assert_int_equal(fl_frame_end(FL_FRAME_LENGTH, &b, 3), FL_ETOOLONG);
  assert_int_equal(b.len, 3);
  b.len = SIZE_MAX;
  assert_int_equal(fl_frame_end(FL_FRAME_LENGTH, &b, 0), FL_ETOOLONG);
  assert_int_equal(b.len, 0);
}
#endif

static void test_the_parser_reads_what_the_writer_wrote(void **state) {
  static const fl_frame_format_t formats[] = {FL_FRAME_LINES, FL_FRAME_LENGTH};
  uint32_t seed = 4;

  (void) state;
  for (size_t i = 0; i < 2; i++) {
    for (int round = 0; round < 200; round++) {
      fl_bytes_t out = FL_BYTES_INIT;
      uint8_t contents[20][300];
      size_t lengths[20];
      size_t count = 1 + draw(&seed) % 20;
      size_t at = 0;
      size_t seen = 0;
      fl_frame_t f;
      fl_frame_view_t view;
      int rc;

      for (size_t k = 0; k < count; k++) {
        size_t start = out.len;

        lengths[k] = draw(&seed) % (draw(&seed) % 2 ? 4 : 300);
        for (size_t j = 0; j < lengths[k]; j++) {
          uint8_t c = (uint8_t) draw(&seed);
          /* The one byte that a line cannot have inside. */
          contents[k][j] = formats[i] == FL_FRAME_LINES && c == '\n' ? 0 : c;
        }
        assert_int_equal(fl_frame_begin(formats[i], &out), FL_OK);
        assert_int_equal(
            fl_bytes_append(&out, contents[k], lengths[k], SIZE_MAX), FL_OK);
        assert_int_equal(fl_frame_end(formats[i], &out, start), FL_OK);
      }

      fl_frame_init(&f, formats[i], 300);
      while (at < out.len) {
        size_t n = 1 + draw(&seed) % 200;
        uint8_t *chunk;

        if (n > out.len - at) n = out.len - at;
        chunk = exact_copy(out.base + at, n);
        fl_frame_feed(&f, chunk, n);
        while ((rc = fl_frame_next(&f, &view)) == 1) {
          assert_true(seen < count);
          assert_int_equal(view.len, lengths[seen]);
          if (view.len != 0)
            assert_memory_equal(view.data, contents[seen], view.len);
          seen++;
        }
        assert_int_equal(rc, 0);
        free(chunk);
        at += n;
      }
      assert_int_equal(seen, count);
      assert_int_equal(fl_frame_pending(&f), 0);
      fl_frame_destroy(&f);
      fl_bytes_destroy(&out);
    }
  }
}

static void test_the_writer_takes_back_what_it_cannot_end(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;
  fl_bytes_t before;

  (void) state;
  fl_test_alloc_fail(1);
  assert_int_equal(fl_frame_begin(FL_FRAME_LENGTH, &b), FL_ENOMEM);
  assert_null(b.base);
  assert_int_equal(b.len, 0);
  assert_int_equal(b.cap, 0);

  /* Begin: as it was. */
  assert_int_equal(fl_bytes_append(&b, "abc", 3, 3), FL_OK);
  b.len = b.cap;
  before = b;
  fl_test_alloc_fail(1);
  assert_int_equal(fl_frame_begin(FL_FRAME_LENGTH, &b), FL_ENOMEM);
  assert_memory_equal(&b, &before, sizeof(b));
  assert_int_equal(fl_frame_begin(FL_FRAME_LINES, &b), FL_OK);
  assert_memory_equal(&b, &before, sizeof(b));

  /* End: as long as it was when the frame began. */
  fl_test_alloc_fail(1);
  assert_int_equal(fl_frame_end(FL_FRAME_LINES, &b, 1), FL_ENOMEM);
  assert_int_equal(b.len, 1);
  assert_memory_equal(b.base, "a", 1);
  fl_bytes_destroy(&b);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
    TEST(test_lengths_around_the_maximum),
    TEST(test_a_huge_length_fails_before_memory_is_taken),
    TEST(test_memory_follows_what_arrives_not_the_claim),
    TEST(test_the_largest_maximum_does_not_overflow),
    TEST(test_growth_is_geometric_and_work_linear),
    TEST(test_each_byte_is_looked_at_once),
    TEST(test_a_frame_inside_one_chunk_is_not_copied),
    TEST(test_a_frame_that_ends_the_chunk_is_not_copied),
    TEST(test_a_chunk_may_go_once_it_is_used_up),
    TEST(test_what_follows_a_carried_frame_is_not_copied),
    TEST(test_an_empty_chunk_changes_nothing),
    TEST(test_no_chunk_is_an_empty_chunk),
    TEST(test_small_carry_memory_is_kept_and_large_is_not),
    TEST(test_too_long_stays),
    TEST(test_out_of_memory_stays),
    TEST(test_starts_again_after_destroy),
    TEST(test_writes_the_documented_bytes),
    TEST(test_the_length_is_big_endian),
#if SIZE_MAX > UINT32_MAX
    TEST(test_refuses_a_length_beyond_the_header),
#endif
    TEST(test_the_parser_reads_what_the_writer_wrote),
    TEST(test_the_writer_takes_back_what_it_cannot_end),
  };

  return RUN(tests);
}
