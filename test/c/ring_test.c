/* SPDX-License-Identifier: MIT
 *
 * The ring between two sides that keep to the rules, both on this thread: what
 * goes in comes out, at every place, and who has to wake whom.
 */
#include "../../src/core/ring.h"

#include "../../src/core/status.h"
#include "check.h"
#include "ring_memory.h"

typedef struct pair_s {
  fl_test_ring_t ring;
  fl_ring_producer_t p;
  fl_ring_consumer_t c;
} pair_t;

/* Positions only grow; those near the end of 64 bits go on at 0. */
static const uint64_t starts[] = {0, UINT64_C(1) << 32, UINT64_C(1) << 63,
                                  UINT64_C(0) - 4096};

enum { STARTS = sizeof(starts) / sizeof(starts[0]) };

static void attach_producer(pair_t *x) {
  assert_int_equal(
      fl_ring_producer_init(&x->p, x->ring.shared, x->ring.data, x->ring.size),
      FL_OK);
}

static void attach_consumer(pair_t *x) {
  assert_int_equal(
      fl_ring_consumer_init(&x->c, x->ring.shared, x->ring.data, x->ring.size),
      FL_OK);
}

static void move_to(pair_t *x, uint64_t position) {
  fl_test_ring_move(&x->ring, position);
  attach_producer(x);
  attach_consumer(x);
}

static void open_pair(pair_t *x, size_t size) {
  fl_test_ring_open(&x->ring, size);
  move_to(x, 0);
}

static void close_pair(pair_t *x) {
  fl_test_ring_close(&x->ring);
}

/* What stands in a payload is told by its length and one number. */
static uint8_t byte_of(size_t i, size_t mark) {
  return (uint8_t) (i * 7 + mark * 31 + i / 251);
}

static bool put(pair_t *x, uint8_t kind, size_t len, size_t mark) {
  uint8_t *payload = fl_ring_payload(&x->p);
  size_t size = fl_record_size(len);

  assert_true(fl_ring_space(&x->p, size) >= (int64_t) size);
  for (size_t i = 0; i < len; i++) payload[i] = byte_of(i, mark);
  return fl_ring_publish(&x->p, kind, (uint32_t) len);
}

static void take(pair_t *x, uint8_t kind, size_t len, size_t mark) {
  fl_record_t r;

  assert_int_equal(fl_ring_next(&x->c, &r), 1);
  assert_int_equal(r.kind, kind);
  assert_int_equal(r.flags, 0);
  assert_int_equal(r.len, len);
  assert_int_equal(r.size, fl_record_size(len));
  assert_true(r.payload >= x->ring.data + FL_RECORD_HEADER);
  assert_true(r.payload + r.len <= x->ring.data + 2 * x->ring.size);
  for (size_t i = 0; i < len; i++)
    if (r.payload[i] != byte_of(i, mark))
      fail_msg("byte %zu of %zu is %d", i, len, r.payload[i]);
  fl_ring_drop(&x->c, &r);
}

static bool put_word(pair_t *x, uint32_t word) {
  assert_true(fl_ring_space(&x->p, FL_RECORD_HEADER) >= FL_RECORD_HEADER);
  return fl_ring_publish_immediate(&x->p, 9, word);
}

static void take_word(pair_t *x, uint32_t word) {
  fl_record_t r;

  assert_int_equal(fl_ring_next(&x->c, &r), 1);
  assert_int_equal(r.kind, 9);
  assert_int_equal(r.flags, FL_RECORD_IMMEDIATE);
  assert_int_equal(r.word, word);
  assert_null(r.payload);
  assert_int_equal(r.len, 0);
  assert_int_equal(r.size, FL_RECORD_HEADER);
  fl_ring_drop(&x->c, &r);
}

static void take_nothing(pair_t *x) {
  fl_record_t r;

  assert_int_equal(fl_ring_next(&x->c, &r), 0);
  assert_false(fl_ring_has_records(&x->c));
}

/* Fills the ring with records without a payload. */
static void fill(pair_t *x) {
  for (uint32_t i = 0; i < x->ring.size / FL_RECORD_HEADER; i++) put_word(x, i);
  assert_int_equal(fl_ring_space(&x->p, 1), 0);
}

/* --- Records ----------------------------------------------------------------
 */

static void test_sizes_are_padded(void **state) {
  (void) state;
  assert_int_equal(fl_record_size(0), 8);
  for (size_t len = 1; len <= 8; len++)
    assert_int_equal(fl_record_size(len), 16);
  assert_int_equal(fl_record_size(9), 24);
  assert_int_equal(fl_record_size(4096 - 8), 4096);
}

static void test_a_new_ring_is_empty(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  take_nothing(&x);
  assert_int_equal(fl_ring_space(&x.p, 0), 64);
  assert_int_equal(fl_ring_space(&x.p, 64), 64);
  assert_int_equal(fl_ring_space(&x.p, 65), 64);
  assert_ptr_equal(fl_ring_payload(&x.p), x.ring.data + FL_RECORD_HEADER);
  close_pair(&x);
}

static void test_a_record_is_drawn_as_in_the_header(void **state) {
  static const uint8_t rest[] = {7, 0, 0, 0, 'a', 'b', 'c'};
  uint32_t word = 3;
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  memset(x.ring.data, 0xff, 64);
  memcpy(fl_ring_payload(&x.p), "abc", 3);
  fl_ring_publish(&x.p, 7, 3);
  assert_memory_equal(x.ring.data, &word, 4);
  assert_memory_equal(x.ring.data + 4, rest, sizeof(rest));
  assert_int_equal(atomic_load(&x.ring.shared->head), 16);
  close_pair(&x);
}

static void test_is_seen_as_a_whole_or_not_at_all(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  memset(fl_ring_payload(&x.p), 1, 16);
  take_nothing(&x);
  put(&x, 1, 16, 5);
  assert_true(fl_ring_has_records(&x.c));
  take(&x, 1, 16, 5);
  take_nothing(&x);
  close_pair(&x);
}

/* The next record stays the next until it is dropped. */
static void test_next_does_not_go_on_by_itself(void **state) {
  fl_record_t first;
  fl_record_t again;
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  put(&x, 1, 3, 0);
  put(&x, 2, 4, 0);
  assert_int_equal(fl_ring_next(&x.c, &first), 1);
  assert_int_equal(fl_ring_next(&x.c, &again), 1);
  assert_ptr_equal(first.payload, again.payload);
  assert_int_equal(again.kind, 1);
  take(&x, 1, 3, 0);
  take(&x, 2, 4, 0);
  close_pair(&x);
}

/* Also what it has not looked at yet; not what it has dropped. */
static void test_counts_what_is_unread(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  for (size_t s = 0; s < STARTS; s++) {
    move_to(&x, starts[s]);
    assert_int_equal(fl_ring_unread(&x.c), 0);
    fill(&x);
    for (uint32_t i = 0; i < 8; i++) {
      assert_int_equal(fl_ring_unread(&x.c), 64 - 8 * i);
      take_word(&x, i);
    }
    assert_int_equal(fl_ring_unread(&x.c), 0);
    fl_ring_release(&x.c);
    put_word(&x, 0);
    assert_int_equal(fl_ring_unread(&x.c), 8);
  }
  close_pair(&x);
}

static void test_goes_across_the_end_at_every_offset(void **state) {
  pair_t x;
  size_t size = fl_test_ring_page();
  const size_t lens[] = {0,  1,  7,   8,        9,        15,      16,
                         17, 63, 100, size / 2, size - 9, size - 8};

  (void) state;
  open_pair(&x, size);
  for (size_t s = 0; s < STARTS; s++) {
    for (size_t offset = 0; offset < size; offset += FL_RECORD_ALIGN) {
      size_t len = lens[(offset / FL_RECORD_ALIGN + s) %
                        (sizeof(lens) / sizeof(lens[0]))];

      move_to(&x, starts[s] + offset);
      put(&x, (uint8_t) s, len, offset);
      take(&x, (uint8_t) s, len, offset);
      take_nothing(&x);
      fl_ring_release(&x.c);
      assert_int_equal(fl_ring_space(&x.p, size), size);
    }
  }

  /* Where it matters, each length at each offset. */
  for (size_t back = FL_RECORD_ALIGN; back <= 128; back += FL_RECORD_ALIGN) {
    for (size_t len = 0; len <= 136; len++) {
      move_to(&x, size - back);
      put(&x, 3, len, back);
      put(&x, 4, 1, len);
      take(&x, 3, len, back);
      take(&x, 4, 1, len);
    }
  }
  close_pair(&x);
}

static void test_immediate_records_carry_their_word(void **state) {
  static const uint32_t words[] = {0, 1, 8, 64, 65, INT32_MAX, UINT32_MAX};
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  for (size_t s = 0; s < STARTS; s++) {
    move_to(&x, starts[s]);
    for (size_t i = 0; i < 50; i++) {
      uint32_t word = words[i % (sizeof(words) / sizeof(words[0]))];

      put_word(&x, word);
      take_word(&x, word);
      fl_ring_release(&x.c);
    }
  }
  close_pair(&x);
}

static void test_several_records_are_published_at_once(void **state) {
  pair_t from;
  pair_t to;
  size_t size = fl_test_ring_page();

  (void) state;
  open_pair(&from, size);
  open_pair(&to, size);
  put(&from, 1, 5, 1);
  put_word(&from, 77);
  put(&from, 2, 100, 2);
  put(&from, 3, 0, 3);
  for (size_t back = 0; back <= 160; back += FL_RECORD_ALIGN) {
    move_to(&to, UINT64_C(5) * size - back);
    assert_true(
        fl_ring_publish_raw(&to.p, from.ring.data, (size_t) from.p.head));
    assert_int_equal(atomic_load(&to.ring.shared->head),
                     5 * size - back + from.p.head);
    take(&to, 1, 5, 1);
    take_word(&to, 77);
    take(&to, 2, 100, 2);
    take(&to, 3, 0, 3);
    take_nothing(&to);
  }
  close_pair(&from);
  close_pair(&to);
}

/* --- Room -------------------------------------------------------------------
 */

static void test_holds_exactly_its_size(void **state) {
  size_t size = fl_test_ring_page();
  pair_t x;

  (void) state;
  open_pair(&x, size);
  for (size_t s = 0; s < STARTS; s++) {
    move_to(&x, starts[s] + 24);
    put(&x, 1, size - FL_RECORD_HEADER, s);
    assert_int_equal(fl_ring_space(&x.p, 1), 0);
    take(&x, 1, size - FL_RECORD_HEADER, s);
    assert_int_equal(fl_ring_space(&x.p, 1), 0);
    fl_ring_release(&x.c);
    assert_int_equal(fl_ring_space(&x.p, 1), size);
  }

  move_to(&x, 0);
  fill(&x);
  for (uint32_t i = 0; i < size / FL_RECORD_HEADER; i++) take_word(&x, i);
  take_nothing(&x);
  close_pair(&x);
}

/* Looking at the other side's cache line for each record would cost more than
 * the record. */
static void test_looks_for_room_only_if_it_knows_of_too_little(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  for (uint32_t i = 0; i < 6; i++) put_word(&x, i);
  for (uint32_t i = 0; i < 6; i++) take_word(&x, i);
  fl_ring_release(&x.c);
  assert_int_equal(fl_ring_space(&x.p, 0), 16);
  assert_int_equal(fl_ring_space(&x.p, 16), 16);
  assert_int_equal(fl_ring_space(&x.p, 17), 64);
  assert_int_equal(fl_ring_space(&x.p, 0), 64);
  close_pair(&x);
}

/* --- Taking over ------------------------------------------------------------
 */

static void test_another_producer_goes_on(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  for (uint32_t i = 0; i < 100; i++) {
    put_word(&x, 2 * i);
    memset(&x.p, 0xee, sizeof(x.p));
    attach_producer(&x);
    assert_int_equal(fl_ring_space(&x.p, 0), 56);
    put_word(&x, 2 * i + 1);
    take_word(&x, 2 * i);
    take_word(&x, 2 * i + 1);
    fl_ring_release(&x.c);
    attach_producer(&x);
  }
  /* Also when there is no room at all. */
  fill(&x);
  attach_producer(&x);
  assert_int_equal(fl_ring_space(&x.p, 1), 0);
  close_pair(&x);
}

/* It begins where the last one gave memory back: what was dropped and not
 * released comes again. */
static void test_another_consumer_goes_on(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  fill(&x);
  for (uint32_t i = 0; i < 8; i++) {
    take_word(&x, i);
    fl_ring_release(&x.c);
    if (i < 7) take_word(&x, i + 1);
    memset(&x.c, 0xee, sizeof(x.c));
    attach_consumer(&x);
    assert_int_equal(fl_ring_has_records(&x.c), i < 7);
  }
  take_nothing(&x);
  close_pair(&x);
}

/* --- Waking -----------------------------------------------------------------
 */

static void test_the_first_record_wakes(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  assert_true(put_word(&x, 1));
  assert_false(put_word(&x, 2));
  close_pair(&x);
}

static void test_one_of_each_kind_of_call_wakes_once(void **state) {
  static const uint8_t raw[8] = {0, 0, 0, 0, 9, FL_RECORD_IMMEDIATE, 0, 0};
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  put_word(&x, 0);
  take_word(&x, 0);

  assert_true(fl_ring_sleep(&x.c));
  assert_true(put_word(&x, 0));
  assert_false(put(&x, 1, 0, 0));
  assert_false(fl_ring_publish_raw(&x.p, raw, sizeof(raw)));
  take_word(&x, 0);
  take(&x, 1, 0, 0);
  take_word(&x, 0);

  assert_true(fl_ring_sleep(&x.c));
  fl_ring_release(&x.c);
  assert_true(put(&x, 1, 0, 0));
  assert_false(put_word(&x, 0));
  take(&x, 1, 0, 0);
  take_word(&x, 0);

  assert_true(fl_ring_sleep(&x.c));
  assert_true(fl_ring_publish_raw(&x.p, raw, sizeof(raw)));
  assert_false(put_word(&x, 0));
  close_pair(&x);
}

static void test_sleeps_only_if_there_is_nothing(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  put_word(&x, 0);
  /* One that it has not looked at, one that it knows of, one behind that. */
  assert_false(fl_ring_sleep(&x.c));
  put_word(&x, 1);
  take_word(&x, 0);
  assert_false(fl_ring_sleep(&x.c));
  take_word(&x, 1);
  put_word(&x, 2);
  assert_false(fl_ring_sleep(&x.c));
  assert_int_equal(atomic_load(&x.ring.shared->asleep), 0);
  assert_false(put_word(&x, 3));
  take_word(&x, 2);
  take_word(&x, 3);
  assert_true(fl_ring_sleep(&x.c));
  assert_int_equal(atomic_load(&x.ring.shared->asleep), 1);
  close_pair(&x);
}

static void test_an_awake_consumer_is_not_woken(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  fl_ring_awake(&x.c);
  assert_false(put_word(&x, 0));
  take_word(&x, 0);
  assert_true(fl_ring_sleep(&x.c));
  fl_ring_awake(&x.c);
  assert_false(put_word(&x, 0));
  close_pair(&x);
}

static void test_waits_for_room_only_if_there_is_too_little(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  assert_false(fl_ring_await_space(&x.p, 64));
  assert_int_equal(atomic_load(&x.ring.shared->hungry), 0);
  fill(&x);
  assert_true(fl_ring_await_space(&x.p, 8));
  assert_int_equal(atomic_load(&x.ring.shared->hungry), 1);
  for (uint32_t i = 0; i < 3; i++) take_word(&x, i);
  atomic_store(&x.ring.shared->hungry, 0);
  assert_false(fl_ring_release(&x.c));
  assert_true(fl_ring_await_space(&x.p, 32));
  assert_false(fl_ring_await_space(&x.p, 24));
  assert_int_equal(atomic_load(&x.ring.shared->hungry), 0);
  close_pair(&x);
}

static void test_nobody_is_woken_who_does_not_wait(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  fill(&x);
  for (uint32_t i = 0; i < 8; i++) {
    take_word(&x, i);
    assert_false(fl_ring_release(&x.c));
  }
  close_pair(&x);
}

/* Releases `step` records at a time. */
static void check_wake_at_half(pair_t *x, uint64_t start, uint32_t step) {
  uint32_t count = (uint32_t) (x->ring.size / FL_RECORD_HEADER);
  bool woken = false;

  move_to(x, start);
  fill(x);
  assert_true(fl_ring_await_space(&x->p, 8));
  for (uint32_t i = 0; i < count; i++) {
    take_word(x, i);
    if ((i + 1) % step != 0 && i + 1 != count) continue;
    assert_int_equal(fl_ring_release(&x->c), !woken && i + 1 >= count / 2);
    if (i + 1 >= count / 2) woken = true;
    assert_int_equal(atomic_load(&x->ring.shared->hungry), !woken);
  }
  assert_true(woken);
}

static void test_wakes_once_half_of_it_is_free(void **state) {
  static const size_t sizes[] = {8, 16, 32, 64, 128};
  pair_t x;

  (void) state;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    open_pair(&x, sizes[i]);
    for (size_t s = 0; s < STARTS; s++)
      for (uint32_t step = 1; step <= sizes[i] / FL_RECORD_HEADER; step++)
        check_wake_at_half(&x, starts[s], step);
    close_pair(&x);
  }
}

/* Who wants more than half a ring may be woken too early, then asks again, and
 * is woken when it is all there. */
static void test_wakes_again_whoever_wants_more_than_half(void **state) {
  pair_t x;

  (void) state;
  open_pair(&x, 64);
  fill(&x);
  assert_true(fl_ring_await_space(&x.p, 64));
  for (uint32_t i = 0; i < 8; i++) {
    take_word(&x, i);
    assert_int_equal(fl_ring_release(&x.c), i >= 3);
    assert_int_equal(fl_ring_await_space(&x.p, 64), i < 7);
  }
  close_pair(&x);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_sizes_are_padded),
      TEST(test_a_new_ring_is_empty),
      TEST(test_a_record_is_drawn_as_in_the_header),
      TEST(test_is_seen_as_a_whole_or_not_at_all),
      TEST(test_next_does_not_go_on_by_itself),
      TEST(test_counts_what_is_unread),
      TEST(test_goes_across_the_end_at_every_offset),
      TEST(test_immediate_records_carry_their_word),
      TEST(test_several_records_are_published_at_once),
      TEST(test_holds_exactly_its_size),
      TEST(test_looks_for_room_only_if_it_knows_of_too_little),
      TEST(test_another_producer_goes_on),
      TEST(test_another_consumer_goes_on),
      TEST(test_the_first_record_wakes),
      TEST(test_one_of_each_kind_of_call_wakes_once),
      TEST(test_sleeps_only_if_there_is_nothing),
      TEST(test_an_awake_consumer_is_not_woken),
      TEST(test_waits_for_room_only_if_there_is_too_little),
      TEST(test_nobody_is_woken_who_does_not_wait),
      TEST(test_wakes_once_half_of_it_is_free),
      TEST(test_wakes_again_whoever_wants_more_than_half),
  };

  return RUN(tests);
}
