/* SPDX-License-Identifier: MIT
 *
 * The scanners against loops that look at one byte at a time: each alignment,
 * each length around the block size, the byte that matters at each position.
 */
#include "../../src/core/scan.h"

#include "check.h"

enum { ALIGNMENTS = 16, LENGTHS = 200 };

static const uint8_t *naive_newline(const uint8_t *data, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (data[i] == 0x0a) return data + i;
  return NULL;
}

static bool naive_is_ascii(const uint8_t *data, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (data[i] > 0x7f) return false;
  return true;
}

/* Allowed outside an escape by RFC 8259: %x20-21 / %x23-5B / %x5D-10FFFF, of
 * which ASCII is the part up to 7F. */
static bool naive_is_plain(const uint8_t *data, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint8_t c = data[i];
    if (!((c >= 0x20 && c <= 0x21) || (c >= 0x23 && c <= 0x5b) ||
          (c >= 0x5d && c <= 0x7f)))
      return false;
  }
  return true;
}

static void compare(const uint8_t *data, size_t n) {
  assert_ptr_equal(fl_scan_newline(data, n), naive_newline(data, n));
  assert_int_equal(fl_scan_is_ascii(data, n), naive_is_ascii(data, n));
  assert_int_equal(fl_scan_is_plain(data, n), naive_is_plain(data, n));
}

/* A block whose last byte is the last byte that may be read, with `at` bytes
 * in front that would change the answer if they were read. */
typedef struct window_s {
  uint8_t *block;
  uint8_t *data;
  size_t len;
} window_t;

static window_t open_window(size_t at, size_t len, uint8_t outside) {
  window_t w;

  /* malloc() aligns to 16 at least, so `at` is the alignment. */
  w.block = malloc(at + len + 1);
  assert_non_null(w.block);
  memset(w.block, outside, at);
  w.data = w.block + at;
  w.len = len;
  memset(w.data, 'a', len);
  w.block = realloc(w.block, at + len == 0 ? 1 : at + len);
  assert_non_null(w.block);
  w.data = w.block + at;
  return w;
}

static void test_finds_a_byte_at_each_position(void **state) {
  /* The edges of the classes, and one from within each. */
  static const uint8_t special[] = {0x00, 0x09, 0x0a, 0x1f, '"',
                                    '\\', 0x80, 0xc3, 0xff};

  (void) state;
  for (size_t at = 0; at < ALIGNMENTS; at++) {
    for (size_t len = 0; len <= LENGTHS; len++) {
      window_t w = open_window(at, len, '\n');

      compare(w.data, len);
      assert_null(fl_scan_newline(w.data, len));
      assert_true(fl_scan_is_ascii(w.data, len));
      assert_true(fl_scan_is_plain(w.data, len));
      for (size_t i = 0; i < len; i++) {
        uint8_t c = special[(i + len) % sizeof(special)];

        w.data[i] = '\n';
        assert_ptr_equal(fl_scan_newline(w.data, len), w.data + i);
        w.data[i] = 0x80;
        assert_false(fl_scan_is_ascii(w.data, len));
        w.data[i] = '"';
        assert_false(fl_scan_is_plain(w.data, len));
        w.data[i] = c;
        compare(w.data, len);
        w.data[i] = 'a';
      }
      free(w.block);
    }
  }
}

static void test_classifies_each_byte_value(void **state) {
  /* In the block that is looked at as a whole, and in the rest behind it. */
  static const size_t positions[] = {0, 63, 64, 127, 128, 129};
  uint8_t *data;

  (void) state;
  data = malloc(130);
  assert_non_null(data);
  memset(data, 'a', 130);
  for (size_t p = 0; p < sizeof(positions) / sizeof(positions[0]); p++) {
    for (int c = 0; c < 256; c++) {
      data[positions[p]] = (uint8_t) c;
      compare(data, 130);
    }
    data[positions[p]] = 'a';
  }
  free(data);
}

static void test_finds_the_first_of_several_newlines(void **state) {
  uint8_t *data = exact_copy("a\nb\n\n", 5);

  (void) state;
  assert_ptr_equal(fl_scan_newline(data, 5), data + 1);
  assert_ptr_equal(fl_scan_newline(data + 2, 3), data + 3);
  assert_ptr_equal(fl_scan_newline(data + 4, 1), data + 4);
  assert_null(fl_scan_newline(data, 1));
  free(data);
}

static void test_takes_null_for_nothing(void **state) {
  (void) state;
  assert_null(fl_scan_newline(NULL, 0));
  assert_true(fl_scan_is_ascii(NULL, 0));
  assert_true(fl_scan_is_plain(NULL, 0));
}

static void test_agrees_on_random_bytes(void **state) {
  uint32_t seed = 20260101;

  (void) state;
  for (int round = 0; round < 4000; round++) {
    size_t at = draw(&seed) % ALIGNMENTS;
    size_t len = draw(&seed) % 300;
    window_t w = open_window(at, len, 0xff);
    /* Mostly letters, or one odd byte would be found at once each time. */
    uint32_t one_in = 1 + draw(&seed) % 256;

    for (size_t i = 0; i < len; i++)
      if (draw(&seed) % one_in == 0) w.data[i] = (uint8_t) draw(&seed);
    compare(w.data, len);
    free(w.block);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_finds_a_byte_at_each_position),
      TEST(test_classifies_each_byte_value),
      TEST(test_finds_the_first_of_several_newlines),
      TEST(test_takes_null_for_nothing),
      TEST(test_agrees_on_random_bytes),
  };

  return RUN(tests);
}
