/* SPDX-License-Identifier: MIT
 *
 * A producer and a consumer on a thread each, random records, and both
 * handshakes for real: whoever has nothing to do waits for its bell and for
 * nothing else. A wake that is lost is a wait that does not end in time.
 *
 * Runs under AddressSanitizer (`make test`) and ThreadSanitizer (`make tsan`).
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "../../src/core/ring.h"
#include "check.h"
#include "ring_memory.h"

#ifndef RECORDS
#define RECORDS 30000 /* for each ring */
#endif

enum {
  DEADLINE_MS = 20000, /* of one wait */
  RAW_RECORDS = 4      /* at most, of one publish_raw */
};

/* A pipe: rung by one side, waited for by the other. */
typedef struct bell_s {
  int fds[2];
  unsigned long waits;
} bell_t;

typedef struct trial_s {
  fl_test_ring_t ring;
  size_t len_max;
  uint32_t seed;
  bell_t consumer_bell;
  bell_t producer_bell;
} trial_t;

/* What record number `seq` is; both sides know by themselves. */
typedef struct item_s {
  uint8_t kind;
  bool immediate;
  uint32_t len;
  uint32_t word;
  size_t size;
} item_t;

static void open_bell(bell_t *b) {
  b->waits = 0;
  assert_int_equal(pipe(b->fds), 0);
}

static void close_bell(bell_t *b) {
  close(b->fds[0]);
  close(b->fds[1]);
}

/* Each side is woken once for each time that it asked, so the pipe never fills.
 */
static bool ring_bell(bell_t *b) {
  return write(b->fds[1], "", 1) == 1;
}

static bool wait_for_bell(bell_t *b) {
  struct pollfd p = {.fd = b->fds[0], .events = POLLIN};
  char byte;

  b->waits++;
  return poll(&p, 1, DEADLINE_MS) == 1 && read(b->fds[0], &byte, 1) == 1;
}

static item_t item_of(const trial_t *t, uint32_t seq) {
  uint32_t seed = (t->seed + seq) * 2654435761u | 1;
  item_t item;

  draw(&seed);
  item.kind = (uint8_t) draw(&seed);
  item.immediate = t->len_max == 0 || draw(&seed) % 4 == 0;
  item.word = draw(&seed) ^ seq;
  item.len = 0;
  /* Mostly short ones, or the ring would be full of a few. */
  if (!item.immediate)
    item.len =
        draw(&seed) % (draw(&seed) % 8 == 0 ? (uint32_t) t->len_max + 1 : 64);
  if (item.len > t->len_max) item.len = (uint32_t) t->len_max;
  item.size = fl_record_size(item.len);
  return item;
}

static void write_payload(const item_t *item, uint8_t *to) {
  uint32_t seed = item->word | 1;

  for (uint32_t i = 0; i < item->len; i++) to[i] = (uint8_t) draw(&seed);
}

static bool is_item(const item_t *item, const fl_record_t *r) {
  uint32_t seed = item->word | 1;

  if (r->kind != item->kind || r->len != item->len || r->size != item->size)
    return false;
  if (item->immediate)
    return r->flags == FL_RECORD_IMMEDIATE && r->word == item->word;
  for (uint32_t i = 0; i < item->len; i++)
    if (r->payload[i] != (uint8_t) draw(&seed)) return false;
  return r->flags == 0;
}

/* A little later than at once, so that the other side gets in between. */
static void dawdle(uint32_t *seed) {
  static const struct timespec shortest = {0, 1};
  uint32_t n = draw(seed) % 256;

  if (n < 8) sched_yield();
  if (n == 8) nanosleep(&shortest, NULL);
}

/* --- Producer ----------------------------------------------------------------
 */

static const char *make_room(trial_t *t, fl_ring_producer_t *p, size_t size) {
  for (;;) {
    int64_t space = fl_ring_space(p, size);

    if (space < 0) return "the producer found the ring corrupt";
    if ((size_t) space >= size) return NULL;
    if (fl_ring_await_space(p, size) && !wait_for_bell(&t->producer_bell))
      return "nobody woke the producer";
  }
}

static bool publish_one(fl_ring_producer_t *p, const item_t *item) {
  if (item->immediate)
    return fl_ring_publish_immediate(p, item->kind, item->word);
  write_payload(item, fl_ring_payload(p));
  return fl_ring_publish(p, item->kind, item->len);
}

/* As many of the next records as fit into `limit` bytes; one at least. Returns
 * their size. */
static size_t gather(const trial_t *t, uint32_t *seq, size_t limit,
                     uint8_t *raw) {
  size_t size = 0;

  for (int i = 0; i < RAW_RECORDS && *seq < RECORDS; i++) {
    item_t item = item_of(t, *seq);

    if (size != 0 && size + item.size > limit) break;
    fl_test_ring_header(raw + size, item.immediate ? item.word : item.len,
                        item.kind, item.immediate ? FL_RECORD_IMMEDIATE : 0, 0);
    write_payload(&item, raw + size + FL_RECORD_HEADER);
    size += item.size;
    ++*seq;
  }
  return size;
}

/* Returns NULL or what went wrong: cmocka's assertions are for its own thread.
 */
static void *produce(void *data) {
  trial_t *t = data;
  size_t limit = t->ring.size / 2;
  uint8_t *raw = malloc(t->ring.size);
  const char *failure = raw == NULL ? "no memory" : NULL;
  uint32_t seed = t->seed;
  uint32_t seq = 0;
  fl_ring_producer_t p;

  if (fl_ring_producer_init(&p, t->ring.shared, t->ring.data, t->ring.size) !=
      0)
    failure = "the producer did not begin";
  while (failure == NULL && seq < RECORDS) {
    bool wake;

    if (draw(&seed) % 4 == 0) {
      size_t size = gather(t, &seq, limit, raw);

      failure = make_room(t, &p, size);
      if (failure != NULL) break;
      wake = fl_ring_publish_raw(&p, raw, size);
    } else {
      item_t item = item_of(t, seq++);

      failure = make_room(t, &p, item.size);
      if (failure != NULL) break;
      wake = publish_one(&p, &item);
    }
    if (wake && !ring_bell(&t->consumer_bell)) failure = "the bell broke";
    dawdle(&seed);
  }
  free(raw);
  return (void *) failure;
}

/* --- Consumer ----------------------------------------------------------------
 */

static const char *release(trial_t *t, fl_ring_consumer_t *c) {
  if (!fl_ring_release(c)) return NULL;
  return ring_bell(&t->producer_bell) ? NULL : "the bell broke";
}

static const char *rest(trial_t *t, fl_ring_consumer_t *c, uint32_t *seed) {
  const char *failure = release(t, c);

  if (failure != NULL || !fl_ring_sleep(c)) return failure;
  if (!wait_for_bell(&t->consumer_bell)) return "nobody woke the consumer";
  /* It may say that it is awake, and need not. */
  if (draw(seed) % 2 == 0) fl_ring_awake(c);
  return NULL;
}

static void *consume(void *data) {
  trial_t *t = data;
  uint32_t seed = ~t->seed;
  const char *failure = NULL;
  uint32_t seq = 0;
  fl_ring_consumer_t c;

  if (fl_ring_consumer_init(&c, t->ring.shared, t->ring.data, t->ring.size) !=
      0)
    failure = "the consumer did not begin";
  while (failure == NULL && seq < RECORDS) {
    fl_record_t r;
    int rc = fl_ring_next(&c, &r);

    if (rc < 0) {
      failure = "the consumer found the ring corrupt";
    } else if (rc == 0) {
      failure = rest(t, &c, &seed);
    } else {
      item_t item = item_of(t, seq++);

      if (!is_item(&item, &r)) failure = "a record is not what it was";
      fl_ring_drop(&c, &r);
      if (draw(&seed) % 8 == 0 && failure == NULL) failure = release(t, &c);
    }
    dawdle(&seed);
  }
  /* One more than was written would be a record that came twice. */
  if (failure == NULL && fl_ring_has_records(&c)) failure = "a record too many";
  if (failure == NULL) failure = release(t, &c);
  return (void *) failure;
}

/* --- Trials ------------------------------------------------------------------
 */

static void run(size_t size, size_t len_max, uint32_t seed) {
  trial_t t = {.len_max = len_max, .seed = seed};
  pthread_t threads[2];
  void *failures[2];

  fl_test_ring_open(&t.ring, size);
  open_bell(&t.consumer_bell);
  open_bell(&t.producer_bell);
  assert_int_equal(pthread_create(&threads[0], NULL, produce, &t), 0);
  assert_int_equal(pthread_create(&threads[1], NULL, consume, &t), 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_join(threads[i], &failures[i]), 0);
  for (int i = 0; i < 2; i++)
    if (failures[i] != NULL) fail_msg("%s", (const char *) failures[i]);

  printf("# ring of %zu bytes: %lu waits for records, %lu for room\n", size,
         t.consumer_bell.waits, t.producer_bell.waits);
  /* A trial in which nobody waits shows nothing. */
  assert_true(t.consumer_bell.waits + t.producer_bell.waits > 0);
  close_bell(&t.consumer_bell);
  close_bell(&t.producer_bell);
  fl_test_ring_close(&t.ring);
}

static void test_one_record_at_a_time(void **state) {
  (void) state;
  run(8, 0, 1);
}

static void test_two_records_at_a_time(void **state) {
  (void) state;
  run(16, 0, 2);
}

/* Up to records as large as the ring. */
static void test_a_page(void **state) {
  size_t size = fl_test_ring_page();

  (void) state;
  run(size, size - FL_RECORD_HEADER, 3);
}

static void test_a_large_ring(void **state) {
  (void) state;
  run((size_t) 1 << 20, 4096, 4);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_one_record_at_a_time),
      TEST(test_two_records_at_a_time),
      TEST(test_a_page),
      TEST(test_a_large_ring),
  };

  /* For a loop without a wait in it. */
  alarm(300);
  return RUN(tests);
}
