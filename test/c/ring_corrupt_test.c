/* SPDX-License-Identifier: MIT
 *
 * The ring when the other side breaks the rules: all that it can write into the
 * shared memory of a small ring, compared with a reader of few words that takes
 * one step at a time. The memory ends with the ring, so that a look outside is
 * seen by AddressSanitizer.
 */
#include "../../src/core/ring.h"

#include "../../src/core/status.h"
#include "check.h"
#include "ring_memory.h"

enum { SIZE = 32, FAR = 72 /* more than twice the ring, both ways */ };

/* Where the side under test stands: at each offset, and before 64 bits end. */
static const uint64_t places[] = {0,
                                  8,
                                  16,
                                  24,
                                  32,
                                  UINT64_C(1) << 63,
                                  UINT64_C(0) - 32,
                                  UINT64_C(0) - 24,
                                  UINT64_C(0) - 16,
                                  UINT64_C(0) - 8};

enum { PLACES = sizeof(places) / sizeof(places[0]) };

/* Besides those near, positions far away. */
static const uint64_t distances[] = {UINT64_C(1) << 31, UINT64_C(1) << 32,
                                     (UINT64_C(1) << 32) + 8, UINT64_C(1) << 63,
                                     (UINT64_C(1) << 63) + 16};

enum {
  NEAR = 2 * FAR + 1,
  HOSTILE = NEAR + sizeof(distances) / sizeof(distances[0])
};

static uint64_t hostile(uint64_t place, size_t i) {
  return i < NEAR ? place + i - FAR : place + distances[i - NEAR];
}

/* How many records of 8 bytes lie between the two, or -1. */
static int records_between(uint64_t tail, uint64_t head) {
  if (tail % FL_RECORD_ALIGN != 0) return -1;
  for (int n = 0; n <= SIZE / FL_RECORD_HEADER; n++)
    if (tail + (uint64_t) n * FL_RECORD_HEADER == head) return n;
  return -1;
}

static void set_head(fl_test_ring_t *r, uint64_t head) {
  atomic_store(&r->shared->head, head);
}

static void set_tail(fl_test_ring_t *r, uint64_t tail) {
  atomic_store(&r->shared->tail, tail);
}

static int attach_producer(fl_ring_producer_t *p, fl_test_ring_t *r) {
  return fl_ring_producer_init(p, r->shared, r->data, r->size);
}

static int attach_consumer(fl_ring_consumer_t *c, fl_test_ring_t *r) {
  return fl_ring_consumer_init(c, r->shared, r->data, r->size);
}

static void fill_with_immediates(fl_test_ring_t *r) {
  for (size_t at = 0; at < 2 * r->size; at += FL_RECORD_HEADER)
    fl_test_ring_header(r->data + at, (uint32_t) at, 1, FL_RECORD_IMMEDIATE, 0);
}

/* --- Positions --------------------------------------------------------------
 */

static void test_a_producer_refuses_what_it_finds(void **state) {
  fl_ring_producer_t p;
  fl_test_ring_t r;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  for (size_t i = 0; i < PLACES; i++) {
    for (size_t off = 0; off < FL_RECORD_ALIGN; off++) {
      set_tail(&r, places[i] + off);
      for (size_t j = 0; j < HOSTILE; j++) {
        uint64_t head = hostile(places[i] + off, j);
        int used = records_between(places[i] + off, head);

        set_head(&r, head);
        assert_int_equal(attach_producer(&p, &r),
                         used < 0 ? FL_ECORRUPT : FL_OK);
        if (used >= 0) assert_int_equal(fl_ring_space(&p, 0), SIZE - used * 8);
      }
    }
  }
  fl_test_ring_close(&r);
}

/* The head is looked at only when there is something to read. */
static void test_a_consumer_refuses_what_it_finds(void **state) {
  fl_ring_consumer_t c;
  fl_test_ring_t r;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  for (size_t i = 0; i < HOSTILE; i++) {
    uint64_t tail = hostile(places[1], i);

    set_tail(&r, tail);
    assert_int_equal(attach_consumer(&c, &r),
                     tail % FL_RECORD_ALIGN == 0 ? FL_OK : FL_ECORRUPT);
  }
  fl_test_ring_close(&r);
}

static void test_a_head_that_is_none_is_not_followed(void **state) {
  fl_ring_consumer_t c;
  fl_test_ring_t r;
  fl_record_t record;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  fill_with_immediates(&r);
  for (size_t i = 0; i < PLACES; i++) {
    for (size_t j = 0; j < HOSTILE; j++) {
      uint64_t head = hostile(places[i], j);
      int count = records_between(places[i], head);

      fl_test_ring_move(&r, places[i]);
      set_head(&r, head);
      assert_int_equal(attach_consumer(&c, &r), FL_OK);
      assert_int_equal(fl_ring_has_records(&c), count != 0);
      assert_true(fl_ring_unread(&c) <= SIZE);
      if (count >= 0) assert_int_equal(fl_ring_unread(&c), count * 8);
      for (int n = 0; n < count; n++) {
        assert_int_equal(fl_ring_next(&c, &record), 1);
        assert_int_equal(record.word, (places[i] + (uint64_t) n * 8) % SIZE);
        fl_ring_drop(&c, &record);
      }
      assert_int_equal(fl_ring_next(&c, &record), count < 0 ? FL_ECORRUPT : 0);
    }
  }
  fl_test_ring_close(&r);
}

/* What was checked once stays readable; then the head is looked at again. */
static void test_a_head_may_change_behind_checked_records(void **state) {
  fl_ring_consumer_t c;
  fl_test_ring_t r;
  fl_record_t record;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  fill_with_immediates(&r);
  for (size_t i = 0; i < PLACES; i++) {
    for (size_t j = 0; j < HOSTILE; j++) {
      uint64_t head = hostile(places[i], j);
      int left = records_between(places[i] + 24, head);

      fl_test_ring_move(&r, places[i]);
      assert_int_equal(attach_consumer(&c, &r), FL_OK);
      set_head(&r, places[i] + 24);
      for (int n = 0; n < 3; n++) {
        assert_true(fl_ring_has_records(&c));
        assert_int_equal(fl_ring_next(&c, &record), 1);
        fl_ring_drop(&c, &record);
        set_head(&r, head);
      }
      assert_int_equal(fl_ring_next(&c, &record), left < 0   ? FL_ECORRUPT
                                                  : left > 0 ? 1
                                                             : 0);
    }
  }
  fl_test_ring_close(&r);
}

/* `known` and `head` are how far the consumer had come and what was written. */
static void check_tail(fl_test_ring_t *r, uint64_t known, uint64_t head,
                       uint64_t tail) {
  bool sane = records_between(tail, head) >= 0 &&
              records_between(known, tail) >= 0 &&
              records_between(known, tail) <= records_between(known, head);
  int64_t space = sane ? SIZE - records_between(tail, head) * 8 : FL_ECORRUPT;
  fl_ring_producer_t p;

  set_tail(r, known);
  set_head(r, head);
  assert_int_equal(attach_producer(&p, r), FL_OK);
  set_tail(r, tail);
  /* It does not look for what it has. */
  assert_int_equal(fl_ring_space(&p, 0),
                   SIZE - records_between(known, head) * 8);
  assert_int_equal(fl_ring_space(&p, SIZE + 1), space);

  assert_int_equal(attach_producer(&p, r),
                   records_between(tail, head) >= 0 ? FL_OK : FL_ECORRUPT);
  set_tail(r, known);
  assert_int_equal(attach_producer(&p, r), FL_OK);
  set_tail(r, tail);
  assert_int_equal(fl_ring_await_space(&p, SIZE + 1), sane);
  assert_int_equal(atomic_load(&r->shared->hungry), sane);
}

static void test_a_tail_that_is_none_gives_no_room(void **state) {
  fl_test_ring_t r;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  for (size_t i = 0; i < PLACES; i++)
    for (uint64_t used = 0; used <= SIZE; used += FL_RECORD_HEADER)
      for (size_t j = 0; j < HOSTILE; j++)
        check_tail(&r, places[i], places[i] + used, hostile(places[i], j));
  fl_test_ring_close(&r);
}

/* A side never reads its own position back. */
static void test_its_own_position_is_its_own(void **state) {
  static const uint8_t bytes[8] = {0};
  fl_ring_producer_t p;
  fl_ring_consumer_t c;
  fl_test_ring_t r;
  fl_record_t record;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  assert_int_equal(attach_producer(&p, &r), FL_OK);
  assert_int_equal(attach_consumer(&c, &r), FL_OK);
  for (size_t i = 0; i < HOSTILE; i++) {
    uint64_t at = p.head;

    set_head(&r, hostile(at, i));
    assert_int_equal(fl_ring_space(&p, SIZE), SIZE);
    fl_ring_publish_raw(&p, bytes, sizeof(bytes));
    assert_int_equal(atomic_load(&r.shared->head), at + 8);
    set_tail(&r, hostile(at, i));
    assert_int_equal(fl_ring_next(&c, &record), 1);
    fl_ring_drop(&c, &record);
    fl_ring_release(&c);
    assert_int_equal(atomic_load(&r.shared->tail), at + 8);
  }
  fl_test_ring_close(&r);
}

/* --- Records ----------------------------------------------------------------
 */

/* Bytes that the record takes, or -1. */
static int naive_size(uint32_t word, uint8_t flags, uint16_t reserved,
                      size_t available) {
  if (reserved != 0) return -1;
  if (flags == FL_RECORD_IMMEDIATE) return FL_RECORD_HEADER;
  if (flags != 0) return -1;
  for (uint32_t len = 0; len <= SIZE; len++) {
    uint32_t padded = (len + 7) / 8 * 8;

    if (len == word)
      return FL_RECORD_HEADER + padded <= available
                 ? (int) (FL_RECORD_HEADER + padded)
                 : -1;
  }
  return -1;
}

static unsigned int sum(const uint8_t *data, size_t n) {
  unsigned int total = 0;

  for (size_t i = 0; i < n; i++) total += data[i];
  return total;
}

static void check_header(fl_test_ring_t *r, uint64_t place, uint64_t available,
                         uint32_t word, uint8_t flags, uint16_t reserved) {
  int size = naive_size(word, flags, reserved, (size_t) available);
  fl_ring_consumer_t c;
  fl_record_t record;

  fl_test_ring_move(r, place);
  assert_int_equal(attach_consumer(&c, r), FL_OK);
  set_head(r, place + available);
  fl_test_ring_header(r->data + place % SIZE, word, 1, flags, reserved);
  assert_int_equal(fl_ring_next(&c, &record), size < 0 ? FL_ECORRUPT : 1);
  if (size < 0) return;
  assert_int_equal(record.size, size);
  assert_int_equal(record.word, word);
  if (flags == 0) {
    assert_int_equal(record.len, word);
    assert_ptr_equal(record.payload, r->data + place % SIZE + FL_RECORD_HEADER);
    /* That it can be read is AddressSanitizer's to say. */
    assert_true(sum(record.payload, record.len) < 256 * SIZE);
  } else {
    assert_int_equal(record.len, 0);
    assert_null(record.payload);
  }
}

static void test_a_header_that_is_none_is_refused(void **state) {
  static const uint32_t words[] = {FAR,
                                   INT32_MAX - 7,
                                   INT32_MAX,
                                   UINT32_C(1) << 31,
                                   UINT32_MAX,
                                   UINT32_MAX - 1,
                                   UINT32_MAX - 7,
                                   UINT32_MAX - 8,
                                   UINT32_MAX - 15,
                                   UINT32_MAX - 16,
                                   UINT32_MAX - 31};
  fl_test_ring_t r;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  for (size_t i = 0; i < PLACES; i++) {
    for (uint64_t n = FL_RECORD_HEADER; n <= SIZE; n += FL_RECORD_HEADER) {
      for (uint32_t word = 0; word < FAR; word++) {
        for (int flags = 0; flags < 256; flags++)
          check_header(&r, places[i], n, word, (uint8_t) flags, 0);
        for (int bit = 0; bit < 16; bit++) {
          check_header(&r, places[i], n, word, 0, (uint16_t) (1u << bit));
          check_header(&r, places[i], n, word, FL_RECORD_IMMEDIATE,
                       (uint16_t) (1u << bit));
        }
      }
      for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
        check_header(&r, places[i], n, words[w], 0, 0);
        check_header(&r, places[i], n, words[w], FL_RECORD_IMMEDIATE, 0);
      }
    }
  }
  fl_test_ring_close(&r);
}

/* The same at the end of what is really mapped. */
static void test_nothing_is_read_behind_the_second_copy(void **state) {
  size_t size = fl_test_ring_page();
  fl_ring_consumer_t c;
  fl_test_ring_t r;
  fl_record_t record;

  (void) state;
  fl_test_ring_open(&r, size);
  for (uint32_t back = 0; back <= 16; back++) {
    fl_test_ring_move(&r, size - FL_RECORD_HEADER);
    assert_int_equal(attach_consumer(&c, &r), FL_OK);
    set_head(&r, size - FL_RECORD_HEADER + size);
    fl_test_ring_header(r.data + size - FL_RECORD_HEADER,
                        (uint32_t) size - back, 1, 0, 0);
    assert_int_equal(fl_ring_next(&c, &record), back < 8 ? FL_ECORRUPT : 1);
    if (back >= 8) assert_true(sum(record.payload, record.len) < 256 * size);
  }
  fl_test_ring_close(&r);
}

static void test_a_record_may_change_after_it_was_read(void **state) {
  fl_ring_consumer_t c;
  fl_test_ring_t r;
  fl_record_t record;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  fl_test_ring_header(r.data, 5, 1, 0, 0);
  fl_test_ring_header(r.data + 16, 99, 1, FL_RECORD_IMMEDIATE, 0);
  set_head(&r, 24);
  assert_int_equal(attach_consumer(&c, &r), FL_OK);
  assert_int_equal(fl_ring_next(&c, &record), 1);
  memset(r.data, 0xff, 16);
  assert_int_equal(record.len, 5);
  fl_ring_drop(&c, &record);
  assert_int_equal(fl_ring_next(&c, &record), 1);
  assert_int_equal(record.word, 99);
  fl_test_ring_close(&r);
}

/* --- Waking -----------------------------------------------------------------
 */

static void test_any_number_is_an_announcement(void **state) {
  static const uint32_t numbers[] = {1, 2, 256, UINT32_C(1) << 31, UINT32_MAX};
  fl_ring_producer_t p;
  fl_ring_consumer_t c;
  fl_test_ring_t r;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    fl_test_ring_move(&r, 0);
    assert_int_equal(attach_producer(&p, &r), FL_OK);
    assert_int_equal(attach_consumer(&c, &r), FL_OK);
    atomic_store(&r.shared->asleep, numbers[i]);
    atomic_store(&r.shared->hungry, numbers[i]);
    assert_true(fl_ring_publish_immediate(&p, 1, 0));
    assert_false(fl_ring_publish_immediate(&p, 1, 0));
    assert_true(fl_ring_release(&c));
    assert_false(fl_ring_release(&c));
  }
  fl_test_ring_close(&r);
}

/* Giving memory back is no reason to trust the head: at worst, one wake. */
static void test_a_release_does_not_mind_the_head(void **state) {
  fl_ring_consumer_t c;
  fl_test_ring_t r;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  assert_int_equal(attach_consumer(&c, &r), FL_OK);
  for (size_t i = 0; i < HOSTILE; i++) {
    uint64_t head = hostile(0, i);

    set_head(&r, head);
    atomic_store(&r.shared->hungry, 1);
    assert_int_equal(fl_ring_release(&c), head <= SIZE / 2);
    assert_int_equal(atomic_load(&r.shared->tail), 0);
  }
  fl_test_ring_close(&r);
}

/* It would sleep forever on a ring that makes no sense: the next look says so.
 */
static void test_does_not_sleep_on_a_head_that_is_none(void **state) {
  fl_ring_consumer_t c;
  fl_test_ring_t r;

  (void) state;
  fl_test_ring_open(&r, SIZE);
  assert_int_equal(attach_consumer(&c, &r), FL_OK);
  for (size_t i = 0; i < HOSTILE; i++) {
    set_head(&r, hostile(0, i));
    assert_int_equal(fl_ring_sleep(&c), hostile(0, i) == 0);
    assert_int_equal(atomic_load(&r.shared->asleep), hostile(0, i) == 0);
  }
  fl_test_ring_close(&r);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_a_producer_refuses_what_it_finds),
      TEST(test_a_consumer_refuses_what_it_finds),
      TEST(test_a_head_that_is_none_is_not_followed),
      TEST(test_a_head_may_change_behind_checked_records),
      TEST(test_a_tail_that_is_none_gives_no_room),
      TEST(test_its_own_position_is_its_own),
      TEST(test_a_header_that_is_none_is_refused),
      TEST(test_nothing_is_read_behind_the_second_copy),
      TEST(test_a_record_may_change_after_it_was_read),
      TEST(test_any_number_is_an_announcement),
      TEST(test_a_release_does_not_mind_the_head),
      TEST(test_does_not_sleep_on_a_head_that_is_none),
  };

  return RUN(tests);
}
