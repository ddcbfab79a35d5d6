/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target of the scanners and of fl_latin1_to_utf8(). The input is
 * PREFIX bytes of choices, then the text. The text lies in memory that ends
 * with it, at any alignment. Whatever the text:
 *
 *  1. each scanner gives the answer of a loop over single bytes, for the text
 *     and for each of the tails that start at its first bytes;
 *  2. the conversion gives the bytes of a converter that writes a copy, and
 *     leaves what lies in front of the text alone;
 *  3. without memory it fails, and everything is as it was; it asks for none
 *     if the text is ASCII or there is room;
 *  4. what it makes decodes to the characters that went in.
 */
#include <stdlib.h>
#include <string.h>

#include "../../src/core/latin1.h"
#include "../../src/core/scan.h"
#include "../../src/core/status.h"
#include "alloc_fault.h"
#include "fuzz.h"

enum { PREFIX = 2, TAILS = 16 };

static void check_scanners(const uint8_t *text, size_t n) {
  const uint8_t *newline = NULL;
  bool ascii = true;
  bool plain = true;

  for (size_t i = 0; i < n; i++) {
    if (text[i] == '\n' && newline == NULL) newline = text + i;
    if (text[i] > 0x7f) ascii = false;
    if (text[i] > 0x7f || text[i] < 0x20 || text[i] == '"' || text[i] == '\\')
      plain = false;
  }
  CHECK(fl_scan_newline(text, n) == newline);
  CHECK(fl_scan_is_ascii(text, n) == ascii);
  CHECK(fl_scan_is_plain(text, n) == plain);
}

/* `out` has room for 2 * n bytes. */
static size_t naive_utf8(const uint8_t *text, size_t n, uint8_t *out) {
  size_t len = 0;

  for (size_t i = 0; i < n; i++) {
    if (text[i] < 0x80) {
      out[len++] = text[i];
    } else {
      out[len++] = (uint8_t) (0xc0 + text[i] / 64);
      out[len++] = (uint8_t) (0x80 + text[i] % 64);
    }
  }
  return len;
}

static void check_decoded(const uint8_t *utf8, size_t len, const uint8_t *text,
                          size_t n) {
  size_t at = 0;

  for (size_t i = 0; i < n; i++) {
    unsigned int c;

    CHECK(at < len);
    c = utf8[at++];
    if (c >= 0x80) {
      CHECK(at < len && (c & 0xe0) == 0xc0 && (utf8[at] & 0xc0) == 0x80);
      c = (c & 0x1f) << 6 | (utf8[at++] & 0x3f);
      CHECK(c >= 0x80);
    }
    CHECK(c == text[i]);
  }
  CHECK(at == len);
}

/* Converts `n` bytes behind `start` others, with `spare` bytes of capacity
 * behind them; the first allocation fails if `starve`. */
static void check_latin1(const uint8_t *text, size_t n, size_t start,
                         size_t spare, bool starve) {
  fl_bytes_t b = FL_BYTES_INIT;
  fl_bytes_t before;
  uint8_t *expected = malloc(2 * n + 1);
  size_t len;
  bool must_grow;
  int rc;

  CHECK(expected != NULL);
  len = naive_utf8(text, n, expected);
  fl_test_alloc_reset();
  b.cap = start + n + spare;
  b.base = fl_test_realloc(NULL, b.cap == 0 ? 1 : b.cap);
  CHECK(b.base != NULL);
  memset(b.base, 0xe9, start);
  if (n != 0) memcpy(b.base + start, text, n);
  b.len = start + n;
  before = b;
  must_grow = start + len > b.cap;

  fl_test_alloc_fail(starve ? 1 : 0);
  rc = fl_latin1_to_utf8(&b, start);
  CHECK(fl_test_alloc.calls == (must_grow ? 1 : 0));
  CHECK(rc == (must_grow && starve ? FL_ENOMEM : FL_OK));
  for (size_t i = 0; i < start; i++) CHECK(b.base[i] == 0xe9);
  if (rc == FL_OK) {
    CHECK(b.len == start + len && b.len <= b.cap);
    CHECK(len == 0 || memcmp(b.base + start, expected, len) == 0);
    check_decoded(b.base + start, len, text, n);
  } else {
    CHECK(memcmp(&b, &before, sizeof(b)) == 0);
    CHECK(memcmp(b.base + start, text, n) == 0);
  }
  fl_bytes_destroy(&b);
  CHECK(fl_test_alloc.live == 0);
  free(expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *block;
  uint8_t *text;
  size_t at;
  size_t n;

  if (size < PREFIX) return 0;
  n = size - PREFIX;
  at = data[0] % 64;
  block = malloc(at + n + 1);
  CHECK(block != NULL);
  /* The text ends with the block. What lies in front of it would change the
   * answers if it were read. */
  text = block + 1 + at;
  memset(block, '\n', at + 1);
  if (n != 0) memcpy(text, data + PREFIX, n);

  for (size_t i = 0; i <= n && i < TAILS; i++) check_scanners(text + i, n - i);
  check_latin1(text, n, data[0] >> 6, data[1] % 64, data[1] >> 7);
  free(block);
  return 0;
}
