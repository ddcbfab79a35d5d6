/* SPDX-License-Identifier: MIT
 * Names and texts of the status codes.
 */
#include "../../src/core/status.h"

#include <ctype.h>

#include "check.h"

static const int codes[] = {FL_OK,
#define X(name, value, text) name,
                            FL_STATUS_MAP(X)
#undef X
};

enum { COUNT = sizeof(codes) / sizeof(codes[0]) };

static void test_names_are_the_constants(void **state) {
  (void) state;
  assert_string_equal(fl_status_name(FL_OK), "FL_OK");
  assert_string_equal(fl_status_name(FL_ENOMEM), "FL_ENOMEM");
  assert_string_equal(fl_status_name(FL_ETOOLONG), "FL_ETOOLONG");
}

static void test_texts_are_phrases(void **state) {
  (void) state;
  for (size_t i = 0; i < COUNT; i++) {
    const char *text = fl_status_text(codes[i]);
    size_t len = strlen(text);

    assert_true(len > 0);
    assert_true(islower((unsigned char) text[0]));
    assert_true(text[len - 1] != '.');
    assert_string_not_equal(text, fl_status_text(1));
  }
}

static void test_codes_are_distinct(void **state) {
  (void) state;
  for (size_t i = 0; i < COUNT; i++) {
    for (size_t j = 0; j < i; j++) {
      assert_int_not_equal(codes[i], codes[j]);
      assert_string_not_equal(fl_status_name(codes[i]),
                              fl_status_name(codes[j]));
      assert_string_not_equal(fl_status_text(codes[i]),
                              fl_status_text(codes[j]));
    }
  }
}

/* The transport returns both in one int. */
static void test_failures_are_below_errno_and_libuv(void **state) {
  (void) state;
  assert_int_equal(FL_OK, 0);
  for (size_t i = 1; i < COUNT; i++) assert_true(codes[i] < -10000);
}

static void test_other_numbers_have_a_name_too(void **state) {
  static const int others[] = {1, -1, -9999, INT32_MIN, INT32_MAX};

  (void) state;
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    assert_string_equal(fl_status_name(others[i]), "FL_EUNKNOWN");
    assert_string_equal(fl_status_text(others[i]), "unknown status");
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_names_are_the_constants),
      TEST(test_texts_are_phrases),
      TEST(test_codes_are_distinct),
      TEST(test_failures_are_below_errno_and_libuv),
      TEST(test_other_numbers_have_a_name_too),
  };

  return RUN(tests);
}
