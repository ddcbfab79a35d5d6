/* SPDX-License-Identifier: MIT
 * Latin-1 to UTF-8 in place, against a copy made one character at a time.
 */
#include "../../src/core/latin1.h"

#include "../../src/core/status.h"
#include "check.h"

/* `out` has room for 2 * n bytes. */
static size_t naive(const uint8_t *in, size_t n, uint8_t *out) {
  size_t len = 0;

  for (size_t i = 0; i < n; i++) {
    if (in[i] < 0x80) {
      out[len++] = in[i];
    } else {
      out[len++] = in[i] < 0xc0 ? 0xc2 : 0xc3;
      out[len++] = (uint8_t) (0x80 + in[i] % 0x40);
    }
  }
  return len;
}

/* Converts `n` bytes behind `start` others and compares; the others, which are
 * not ASCII, must stay as they are. */
static void compare(const uint8_t *in, size_t n, size_t start) {
  fl_bytes_t b = FL_BYTES_INIT;
  uint8_t *expected = malloc(2 * n + 1);
  size_t len;

  assert_non_null(expected);
  len = naive(in, n, expected);
  for (size_t i = 0; i < start; i++)
    assert_int_equal(fl_bytes_append(&b, "\xff", 1, SIZE_MAX), FL_OK);
  assert_int_equal(fl_bytes_append(&b, in, n, SIZE_MAX), FL_OK);

  assert_int_equal(fl_latin1_to_utf8(&b, start), FL_OK);
  assert_int_equal(b.len, start + len);
  for (size_t i = 0; i < start; i++) assert_int_equal(b.base[i], 0xff);
  if (len != 0) assert_memory_equal(b.base + start, expected, len);
  fl_bytes_destroy(&b);
  free(expected);
}

static void test_converts_each_character(void **state) {
  (void) state;
  for (int c = 0; c < 256; c++) {
    uint8_t in[1] = {(uint8_t) c};

    compare(in, 1, 0);
    compare(in, 1, 5);
  }
}

static void test_converts_known_text(void **state) {
  /* "é", "ÿ", the first and the last two-byte character of the range. */
  static const char in[] = "a\xe9-\xff\x80\x7f";
  static const char expected[] = "a\xc3\xa9-\xc3\xbf\xc2\x80\x7f";
  fl_bytes_t b = FL_BYTES_INIT;

  (void) state;
  assert_int_equal(fl_bytes_append(&b, in, sizeof(in) - 1, SIZE_MAX), FL_OK);
  assert_int_equal(fl_latin1_to_utf8(&b, 0), FL_OK);
  assert_int_equal(b.len, sizeof(expected) - 1);
  assert_memory_equal(b.base, expected, b.len);
  fl_bytes_destroy(&b);
}

static void test_converts_one_character_at_each_position(void **state) {
  uint8_t in[200];

  (void) state;
  memset(in, 'a', sizeof(in));
  for (size_t len = 0; len <= sizeof(in); len += 1 + len / 16) {
    compare(in, len, 0);
    for (size_t i = 0; i < len; i++) {
      in[i] = 0xe9;
      compare(in, len, i % 3);
      in[i] = 'a';
    }
  }
}

static void test_converts_all_wide_text(void **state) {
  uint8_t in[1000];

  (void) state;
  memset(in, 0xe9, sizeof(in));
  for (size_t len = 0; len <= sizeof(in); len += 37) compare(in, len, 2);
}

static void test_agrees_on_random_text(void **state) {
  uint32_t seed = 7;
  uint8_t in[400];

  (void) state;
  for (int round = 0; round < 3000; round++) {
    size_t n = draw(&seed) % sizeof(in);
    uint32_t mask = draw(&seed) % 4 == 0 ? 0xff : 0x7f;

    for (size_t i = 0; i < n; i++) in[i] = (uint8_t) (draw(&seed) & mask);
    if (n != 0 && draw(&seed) % 2) in[draw(&seed) % n] = 0xa0;
    compare(in, n, draw(&seed) % 8);
  }
}

static void test_leaves_ascii_alone(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;
  fl_bytes_t before;

  (void) state;
  assert_int_equal(fl_bytes_append(&b, "\xe9plain", 6, 6), FL_OK);
  before = b;
  fl_test_alloc_reset();
  assert_int_equal(fl_latin1_to_utf8(&b, 1), FL_OK);
  assert_int_equal(fl_latin1_to_utf8(&b, b.len), FL_OK);
  assert_memory_equal(&b, &before, sizeof(b));
  assert_memory_equal(b.base, "\xe9plain", 6);
  assert_int_equal(fl_test_alloc.calls, 0);
  fl_bytes_destroy(&b);
}

static void test_takes_an_empty_value(void **state) {
  fl_bytes_t b = FL_BYTES_INIT;

  (void) state;
  assert_int_equal(fl_latin1_to_utf8(&b, 0), FL_OK);
  assert_null(b.base);
  assert_int_equal(fl_test_alloc.calls, 0);
}

/* Room for each wide character's second byte, and for nothing more. */
static void test_needs_no_memory_if_there_is_room(void **state) {
  static const char *const texts[] = {"\xe9\xe9\xe9\xe9\xe9", "plain \xe9",
                                      "\xe9 \xe0"};
  static const size_t wide[] = {5, 1, 2};

  (void) state;
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    fl_bytes_t b = FL_BYTES_INIT;
    size_t n = strlen(texts[i]);

    fl_test_alloc_reset();
    assert_int_equal(fl_bytes_reserve(&b, n + wide[i], n + wide[i]), FL_OK);
    assert_int_equal(b.cap, n + wide[i]);
    assert_int_equal(fl_bytes_append(&b, texts[i], n, SIZE_MAX), FL_OK);
    fl_test_alloc_fail(1);
    assert_int_equal(fl_latin1_to_utf8(&b, 0), FL_OK);
    assert_int_equal(b.len, b.cap);
    assert_int_equal(fl_test_alloc.calls, 0);
    fl_bytes_destroy(&b);
  }
}

static void test_is_as_it_was_without_memory(void **state) {
  static const char in[] = "caf\xe9 \xe0 la carte";
  fl_bytes_t b = FL_BYTES_INIT;
  fl_bytes_t before;

  (void) state;
  assert_int_equal(fl_bytes_append(&b, in, sizeof(in) - 1, sizeof(in) - 1),
                   FL_OK);
  assert_int_equal(b.cap, sizeof(in) - 1);
  before = b;
  fl_test_alloc_fail(1);
  assert_int_equal(fl_latin1_to_utf8(&b, 0), FL_ENOMEM);
  assert_int_equal(fl_test_alloc.calls, 1);
  assert_memory_equal(&b, &before, sizeof(b));
  assert_memory_equal(b.base, in, sizeof(in) - 1);
  fl_bytes_destroy(&b);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_converts_each_character),
      TEST(test_converts_known_text),
      TEST(test_converts_one_character_at_each_position),
      TEST(test_converts_all_wide_text),
      TEST(test_agrees_on_random_text),
      TEST(test_leaves_ascii_alone),
      TEST(test_takes_an_empty_value),
      TEST(test_needs_no_memory_if_there_is_room),
      TEST(test_is_as_it_was_without_memory),
  };

  return RUN(tests);
}
