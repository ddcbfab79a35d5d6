/* SPDX-License-Identifier: MIT
 * The outbox: order, which frames share a piece, and whose the memory is.
 */
#include "../../src/core/outbox.h"

#include "../../src/core/status.h"
#include "check.h"

enum {
  SMALL = 100,                /* copied always */
  LARGE = FL_OUTBOX_PIECE * 2 /* taken over always */
};

/* A frame of `n` bytes that count up from `first`. */
static fl_bytes_t frame_of(size_t n, uint8_t first) {
  fl_bytes_t b = FL_BYTES_INIT;

  assert_int_equal(fl_bytes_reserve(&b, n, n), FL_OK);
  for (size_t i = 0; i < n; i++) b.base[i] = (uint8_t) (first + i);
  b.len = n;
  return b;
}

/* Pushes a frame of its own; whatever becomes of its memory. */
static void push(fl_outbox_t *o, size_t n, uint8_t first) {
  fl_bytes_t frame = frame_of(n, first);
  size_t size = o->size;

  assert_int_equal(fl_outbox_push(o, &frame, 0), FL_OK);
  assert_int_equal(o->size, size + n);
  fl_bytes_destroy(&frame);
}

static void expect_empty(const fl_outbox_t *o) {
  size_t len = 1;

  assert_int_equal(o->size, 0);
  assert_null(o->first);
  assert_null(o->last);
  assert_null(fl_outbox_front(o, &len));
  assert_int_equal(len, 0);
}

/* The front holds `n` bytes that count up from `first`. */
static void expect_front(const fl_outbox_t *o, size_t n, uint8_t first) {
  size_t len;
  const uint8_t *front = fl_outbox_front(o, &len);

  assert_non_null(front);
  assert_int_equal(len, n);
  for (size_t i = 0; i < n; i++)
    assert_int_equal(front[i], (uint8_t) (first + i));
}

/* Takes everything out; the bytes must count up from `first`. Returns the
 * number of pieces. */
static size_t expect_all(fl_outbox_t *o, uint8_t first) {
  size_t pieces = 0;
  size_t size = o->size;

  while (o->size > 0) {
    fl_bytes_t bytes;
    size_t head;

    fl_outbox_take(o, &bytes, &head);
    assert_true(head < bytes.len);
    for (size_t i = head; i < bytes.len; i++)
      assert_int_equal(bytes.base[i], first++);
    size -= bytes.len - head;
    assert_int_equal(o->size, size);
    fl_bytes_destroy(&bytes);
    pieces++;
  }
  expect_empty(o);
  return pieces;
}

static void test_starts_empty(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t bytes = {NULL, 1, 1};
  size_t head = 1;

  (void) state;
  expect_empty(&o);
  fl_outbox_drop(&o, 0);
  fl_outbox_take(&o, &bytes, &head);
  assert_null(bytes.base);
  assert_int_equal(bytes.len, 0);
  assert_int_equal(bytes.cap, 0);
  assert_int_equal(head, 0);
  fl_outbox_destroy(&o);
  expect_empty(&o);
  assert_int_equal(fl_test_alloc.calls, 0);
}

static void test_copies_a_small_frame(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t frame = frame_of(SMALL, 0);
  fl_bytes_t before = frame;

  (void) state;
  assert_int_equal(fl_outbox_push(&o, &frame, 10), FL_OK);
  assert_memory_equal(&frame, &before, sizeof(frame));
  /* Its memory can go, or take the next frame. */
  memset(frame.base, 0xee, SMALL);
  fl_bytes_destroy(&frame);
  assert_int_equal(o.size, SMALL - 10);
  expect_front(&o, SMALL - 10, 10);
  fl_outbox_destroy(&o);
}

static void test_takes_a_large_frame_over(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t frame = frame_of(LARGE, 3);
  uint8_t *base = frame.base;
  size_t len;

  (void) state;
  fl_test_alloc_reset();
  assert_int_equal(fl_outbox_push(&o, &frame, 10), FL_OK);
  assert_true(fl_test_alloc.largest < LARGE);
  assert_null(frame.base);
  assert_int_equal(frame.len, 0);
  assert_int_equal(frame.cap, 0);
  assert_int_equal(o.size, LARGE - 10);
  assert_ptr_equal(fl_outbox_front(&o, &len), base + 10);
  expect_front(&o, LARGE - 10, 13);
  /* The empty value that is left behind can be filled again. */
  assert_int_equal(fl_bytes_append(&frame, "x", 1, SIZE_MAX), FL_OK);
  fl_bytes_destroy(&frame);
  fl_outbox_destroy(&o);
}

/* Also one that would fit into the piece before it. */
static void test_does_not_copy_a_large_frame_behind_others(void **state) {
  static const size_t sizes[] = {FL_OUTBOX_PIECE / 2, LARGE};

  (void) state;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    fl_outbox_t o = FL_OUTBOX_INIT;
    fl_bytes_t large = frame_of(sizes[i], SMALL);
    uint8_t *base = large.base;
    fl_bytes_t bytes;
    size_t head;

    push(&o, SMALL, 0);
    assert_int_equal(fl_outbox_push(&o, &large, 0), FL_OK);
    fl_bytes_destroy(&large);
    assert_int_equal(o.size, sizes[i] + SMALL);
    expect_front(&o, SMALL, 0);
    fl_outbox_drop(&o, SMALL);
    expect_front(&o, sizes[i], SMALL);
    fl_outbox_take(&o, &bytes, &head);
    assert_ptr_equal(bytes.base, base);
    assert_int_equal(head, 0);
    fl_bytes_destroy(&bytes);
    expect_empty(&o);
  }
}

/* One system call for each piece: small frames must not have one each. */
/* Small frames behind it go into a piece of their own: putting them into its
 * memory would move it. */
static void test_leaves_a_large_frame_where_it_is(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t large = frame_of(FL_OUTBOX_PIECE / 2, 0);
  uint8_t *base = large.base;
  size_t len;

  (void) state;
  assert_int_equal(fl_outbox_push(&o, &large, 0), FL_OK);
  fl_bytes_destroy(&large);
  push(&o, SMALL, (uint8_t) (FL_OUTBOX_PIECE / 2));
  assert_ptr_equal(fl_outbox_front(&o, &len), base);
  assert_int_equal(expect_all(&o, 0), 2);
  fl_outbox_destroy(&o);
}

static void test_small_frames_share_a_piece(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  size_t total = 0;

  (void) state;
  while (total + SMALL <= FL_OUTBOX_PIECE) {
    push(&o, SMALL, (uint8_t) total);
    total += SMALL;
  }
  assert_ptr_equal(o.first, o.last);
  assert_true(o.first->bytes.cap <= FL_OUTBOX_PIECE);
  push(&o, SMALL, (uint8_t) total);
  assert_ptr_not_equal(o.first, o.last);
  assert_int_equal(expect_all(&o, 0), 2);
}

static void test_many_frames_cost_memory_in_proportion(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t frame = frame_of(SMALL, 0);
  size_t frames = 20000;

  (void) state;
  fl_test_alloc_reset();
  for (size_t i = 0; i < frames; i++)
    assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_OK);
  assert_int_equal(o.size, frames * SMALL);
  /* A queue in one block would be moved as a whole each time it grows. */
  assert_true(fl_test_alloc.largest <= FL_OUTBOX_PIECE);
  assert_true(fl_test_alloc.moved <= 2 * frames * SMALL);
  assert_true(fl_test_alloc.calls < frames / 10);
  fl_bytes_destroy(&frame);
  fl_outbox_destroy(&o);
  expect_empty(&o);
}

static void test_drops_from_the_front(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;

  (void) state;
  push(&o, SMALL, 0);
  push(&o, LARGE, SMALL);
  expect_front(&o, SMALL, 0);
  fl_outbox_drop(&o, 0);
  expect_front(&o, SMALL, 0);
  fl_outbox_drop(&o, 1);
  expect_front(&o, SMALL - 1, 1);
  fl_outbox_drop(&o, SMALL - 2);
  expect_front(&o, 1, SMALL - 1);
  assert_int_equal(o.size, LARGE + 1);
  fl_outbox_drop(&o, 1);
  expect_front(&o, LARGE, SMALL);
  fl_outbox_drop(&o, LARGE);
  expect_empty(&o);
  assert_int_equal(fl_test_alloc.live, 0);

  push(&o, SMALL, 7);
  expect_front(&o, SMALL, 7);
  fl_outbox_destroy(&o);
}

/* What has left already is not sent again, and what is pushed meanwhile lands
 * behind it. */
static void test_takes_what_is_left_of_a_piece(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_bytes_t bytes;
  size_t head;

  (void) state;
  push(&o, SMALL, 0);
  fl_outbox_drop(&o, 30);
  push(&o, SMALL, SMALL);
  assert_int_equal(o.size, 2 * SMALL - 30);
  fl_outbox_take(&o, &bytes, &head);
  assert_int_equal(bytes.len - head, 2 * SMALL - 30);
  for (size_t i = head; i < bytes.len; i++)
    assert_int_equal(bytes.base[i], 30 + i - head);
  expect_empty(&o);

  /* It is the caller's now: the outbox goes on without it. */
  push(&o, SMALL, 0);
  fl_outbox_destroy(&o);
  assert_int_equal(bytes.base[head], 30);
  fl_bytes_destroy(&bytes);
}

static void test_keeps_order_over_random_frames(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  uint32_t seed = 99;
  size_t pushed = 0;
  size_t left = 0;

  (void) state;
  for (int round = 0; round < 500; round++) {
    size_t from = draw(&seed) % 8;
    size_t n =
        1 + draw(&seed) % (draw(&seed) % 8 == 0 ? FL_OUTBOX_PIECE : SMALL);
    fl_bytes_t frame = frame_of(from + n, (uint8_t) (pushed - from));

    assert_int_equal(fl_outbox_push(&o, &frame, from), FL_OK);
    fl_bytes_destroy(&frame);
    pushed += n;
    assert_int_equal(o.size, pushed - left);

    /* The socket has taken a part of the front, or all of it. */
    if (draw(&seed) % 4 == 0) {
      size_t len;
      size_t taken;

      if (fl_outbox_front(&o, &len) == NULL) continue;
      expect_front(&o, len, (uint8_t) left);
      taken = draw(&seed) % 2 ? len : draw(&seed) % (len + 1);
      fl_outbox_drop(&o, taken);
      left += taken;
      assert_int_equal(o.size, pushed - left);
    }
    if (draw(&seed) % 32 == 0) {
      expect_all(&o, (uint8_t) left);
      left = pushed;
    }
  }
  expect_all(&o, (uint8_t) left);
}

/* Pushes `n` bytes behind what is there while allocation `nth` fails. Returns
 * whether it succeeded; otherwise everything must be as it was. */
static int starve(size_t there, size_t n, size_t nth) {
  fl_outbox_t o = FL_OUTBOX_INIT;
  fl_outbox_t before;
  fl_bytes_t frame = frame_of(n, (uint8_t) there);
  fl_bytes_t frame_before = frame;
  size_t live;
  int rc;

  if (there != 0) push(&o, there, 0);
  before = o;
  live = fl_test_alloc.live;
  fl_test_alloc_fail(nth);
  rc = fl_outbox_push(&o, &frame, 0);
  fl_test_alloc_reset();
  if (rc != FL_OK) {
    assert_int_equal(rc, FL_ENOMEM);
    assert_memory_equal(&o, &before, sizeof(o));
    assert_memory_equal(&frame, &frame_before, sizeof(frame));
    assert_int_equal(fl_test_alloc.live, live);
    if (there != 0) expect_front(&o, there, 0);
    for (size_t i = 0; i < n; i++)
      assert_int_equal(frame.base[i], (uint8_t) (there + i));
    /* Nothing is spoilt: it succeeds when there is memory again. */
    assert_int_equal(fl_outbox_push(&o, &frame, 0), FL_OK);
  }
  expect_all(&o, 0);
  fl_bytes_destroy(&frame);
  return rc == FL_OK;
}

static void test_both_are_as_they_were_without_memory(void **state) {
  static const size_t there[] = {0, SMALL, 300, FL_OUTBOX_PIECE - 1, LARGE};
  static const size_t sizes[] = {
      1, SMALL, 300, FL_OUTBOX_PIECE / 2 - 1, FL_OUTBOX_PIECE / 2, LARGE};
  size_t failures = 0;

  (void) state;
  for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
    for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
      size_t nth = 1;

      while (!starve(there[i], sizes[j], nth)) nth++;
      failures += nth - 1;
    }
  }
  /* Each size fails at least once into an empty outbox. */
  assert_true(failures >= sizeof(sizes) / sizeof(sizes[0]));
}

static void test_can_be_used_again_after_destroy(void **state) {
  fl_outbox_t o = FL_OUTBOX_INIT;

  (void) state;
  for (int i = 0; i < 3; i++) {
    push(&o, SMALL, 0);
    push(&o, LARGE, 0);
    push(&o, SMALL, 0);
    fl_outbox_drop(&o, 7);
    fl_outbox_destroy(&o);
    expect_empty(&o);
    assert_int_equal(fl_test_alloc.live, 0);
    fl_outbox_destroy(&o);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_starts_empty),
      TEST(test_copies_a_small_frame),
      TEST(test_takes_a_large_frame_over),
      TEST(test_does_not_copy_a_large_frame_behind_others),
      TEST(test_leaves_a_large_frame_where_it_is),
      TEST(test_small_frames_share_a_piece),
      TEST(test_many_frames_cost_memory_in_proportion),
      TEST(test_drops_from_the_front),
      TEST(test_takes_what_is_left_of_a_piece),
      TEST(test_keeps_order_over_random_frames),
      TEST(test_both_are_as_they_were_without_memory),
      TEST(test_can_be_used_again_after_destroy),
  };

  return RUN(tests);
}
