/* SPDX-License-Identifier: MIT
 * The outbox: order, when it takes memory over, and whose the memory is.
 */
#include "../../src/core/outbox.h"

#include "../../src/core/status.h"
#include "check.h"

enum {
  LARGE = 64 * 1024, /* taken over when the outbox is empty */
  SMALL = 100        /* copied always */
};

/* A frame of `n` bytes that count up from `first`. */
static fl_bytes_t frame_of(size_t n, uint8_t first) {
  fl_bytes_t b = FL_BYTES_INIT;

  assert_int_equal(fl_bytes_reserve(&b, n, n), FL_OK);
  for (size_t i = 0; i < n; i++) b.base[i] = (uint8_t) (first + i);
  b.len = n;
  return b;
}

static void test_starts_empty(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_outbox_t taken;

  (void) state;
  assert_int_equal(fl_outbox_size(&o), 0);
  fl_outbox_take(&o, &taken);
  assert_int_equal(fl_outbox_size(&taken), 0);
  assert_null(taken.bytes.base);
  fl_outbox_destroy(&o);
  fl_outbox_destroy(&taken);
  assert_int_equal(fl_test_alloc.calls, 0);
}

static void test_copies_a_small_frame(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t frame = frame_of(SMALL, 0);
  fl_bytes_t before = frame;

  (void) state;
  assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_OK);
  assert_memory_equal(&frame, &before, sizeof(frame));
  assert_ptr_not_equal(o.bytes.base, frame.base);
  assert_int_equal(fl_outbox_size(&o), SMALL);
  for (size_t i = 0; i < SMALL; i++)
    assert_int_equal(o.bytes.base[o.head + i], (uint8_t) i);
  fl_bytes_destroy(&frame);
  fl_outbox_destroy(&o);
  assert_int_equal(fl_outbox_size(&o), 0);
}

static void test_takes_a_large_frame_over(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t frame = frame_of(LARGE, 3);
  uint8_t *base = frame.base;

  (void) state;
  fl_test_alloc_reset();
  assert_int_equal(fl_outbox_push(&o, &frame, 10), FL_OK);
  assert_int_equal(fl_test_alloc.calls, 0);
  assert_null(frame.base);
  assert_int_equal(frame.len, 0);
  assert_int_equal(frame.cap, 0);
  assert_ptr_equal(o.bytes.base, base);
  assert_int_equal(fl_outbox_size(&o), LARGE - 10);
  assert_int_equal(o.bytes.base[o.head], 13);
  /* The empty value that is left behind can be filled again. */
  assert_int_equal(fl_bytes_append(&frame, "x", 1, SIZE_MAX), FL_OK);
  fl_bytes_destroy(&frame);
  fl_outbox_destroy(&o);
}

static void test_frees_its_own_memory_before_it_takes_over(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t frame = frame_of(SMALL, 0);

  (void) state;
  assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_OK);
  fl_bytes_destroy(&frame);
  o.head = o.bytes.len; /* all written */
  assert_int_equal(fl_outbox_size(&o), 0);

  frame = frame_of(LARGE, 0);
  assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_OK);
  assert_int_equal(fl_test_alloc.live, 1);
  assert_int_equal(fl_outbox_size(&o), LARGE);
  fl_bytes_destroy(&frame);
  fl_outbox_destroy(&o);
}

static void test_does_not_take_over_behind_others(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t small = frame_of(1, 0);
  fl_bytes_t large = frame_of(LARGE, 1);
  fl_bytes_t before = large;

  (void) state;
  assert_int_equal(fl_outbox_push(&o, &small, 0), FL_OK);
  assert_int_equal(fl_outbox_push(&o, &large, 0), FL_OK);
  assert_memory_equal(&large, &before, sizeof(large));
  assert_int_equal(fl_outbox_size(&o), LARGE + 1);
  for (size_t i = 0; i <= LARGE; i++)
    assert_int_equal(o.bytes.base[o.head + i], (uint8_t) i);
  fl_bytes_destroy(&small);
  fl_bytes_destroy(&large);
  fl_outbox_destroy(&o);
}

static void test_keeps_order_over_random_frames(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  uint32_t seed = 99;
  size_t pushed = 0;
  size_t written = 0;

  (void) state;
  for (int round = 0; round < 300; round++) {
    size_t from = draw(&seed) % 8;
    size_t n = draw(&seed) % 8 == 0 ? draw(&seed) % LARGE + 1
                                    : draw(&seed) % SMALL + 1;
    fl_bytes_t frame = frame_of(from + n, (uint8_t) (pushed - from));

    assert_int_equal(fl_outbox_push(&o, &frame, from), FL_OK);
    pushed += n;
    assert_int_equal(fl_outbox_size(&o), pushed - written);
    fl_bytes_destroy(&frame);

    /* The socket has taken a part of it. */
    if (draw(&seed) % 4 == 0) {
      size_t size = fl_outbox_size(&o);
      size_t taken = draw(&seed) % 2 ? size : draw(&seed) % (size + 1);

      for (size_t i = 0; i < taken; i++)
        assert_int_equal(o.bytes.base[o.head + i], (uint8_t) (written + i));
      o.head += taken;
      written += taken;
    }
    if (draw(&seed) % 8 == 0) {
      fl_outbox_t out;

      fl_outbox_take(&o, &out);
      assert_int_equal(fl_outbox_size(&o), 0);
      assert_null(o.bytes.base);
      assert_int_equal(fl_outbox_size(&out), pushed - written);
      for (size_t i = out.head; i < out.bytes.len; i++)
        assert_int_equal(out.bytes.base[i], (uint8_t) (written++));
      fl_bytes_destroy(&out.bytes);
    }
  }
  fl_outbox_destroy(&o);
}

static void test_pushing_nothing_changes_nothing(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t frame = frame_of(SMALL, 0);

  (void) state;
  assert_int_equal(fl_outbox_push(&o, &frame, SMALL), FL_OK);
  assert_int_equal(fl_outbox_size(&o), 0);
  assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_OK);
  assert_int_equal(fl_outbox_push(&o, &frame, SMALL), FL_OK);
  assert_int_equal(fl_outbox_size(&o), SMALL);
  fl_bytes_destroy(&frame);
  fl_outbox_destroy(&o);
}

static void test_both_are_as_they_were_without_memory(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t frame = frame_of(LARGE, 0);
  fl_bytes_t frame_before;
  fl_outbox_t before;

  (void) state;
  frame.len = SMALL;
  fl_test_alloc_fail(1);
  assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_ENOMEM);
  assert_int_equal(fl_outbox_size(&o), 0);
  assert_null(o.bytes.base);

  assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_OK);
  frame.len = LARGE;
  before = o;
  frame_before = frame;
  fl_test_alloc_fail(1);
  assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_ENOMEM);
  assert_memory_equal(&o, &before, sizeof(o));
  assert_memory_equal(&frame, &frame_before, sizeof(frame));
  for (size_t i = 0; i < SMALL; i++)
    assert_int_equal(o.bytes.base[i], (uint8_t) i);
  for (size_t i = 0; i < LARGE; i++)
    assert_int_equal(frame.base[i], (uint8_t) i);
  fl_bytes_destroy(&frame);
  fl_outbox_destroy(&o);
}

static void test_can_be_used_again_after_destroy(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;

  (void) state;
  for (int i = 0; i < 3; i++) {
    fl_bytes_t frame = frame_of(SMALL, 0);

    assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_OK);
    o.head = 7;
    assert_int_equal(fl_outbox_size(&o), SMALL - 7);
    fl_outbox_destroy(&o);
    assert_int_equal(fl_outbox_size(&o), 0);
    fl_bytes_destroy(&frame);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_starts_empty),
      TEST(test_copies_a_small_frame),
      TEST(test_takes_a_large_frame_over),
      TEST(test_frees_its_own_memory_before_it_takes_over),
      TEST(test_does_not_take_over_behind_others),
      TEST(test_keeps_order_over_random_frames),
      TEST(test_pushing_nothing_changes_nothing),
      TEST(test_both_are_as_they_were_without_memory),
      TEST(test_can_be_used_again_after_destroy),
  };

  return RUN(tests);
}
