/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target of the ring. The input is PREFIX bytes of choices, then what
 * stands in the ring, then a script of calls to either side. In between, unless
 * the choices say that both sides are honest, it changes the shared memory. The
 * ring is a block of just twice its size; the second copy is kept equal to the
 * first by hand where the producer writes. Whatever the script:
 *
 *  1. the consumer finds what a naive reader finds, or that the ring is corrupt
 *     when that does, and a payload lies inside the block;
 *  2. the producer knows of the room that a naive one knows of, writes there
 * and nowhere else;
 *  3. a side stores nothing but its position and the two announcements, and
 *     whatever stands there is only a number;
 *  4. an announcement, of any number but 0, is answered once;
 *  5. of honest sides, each record comes out once, in order, as it went in,
 * none finds the ring corrupt, and nobody sleeps on a record.
 */
#include <stdlib.h>
#include <string.h>

#include "../../src/core/ring.h"
#include "../../src/core/status.h"
#include "fuzz.h"
#include "ring_memory.h"

enum {
  PREFIX = 2,
  RING_MAX = 256, /* bytes; far from a page, or it would be mapped twice */
  RECORDS_MAX = RING_MAX / FL_RECORD_HEADER
};

typedef struct script_s {
  const uint8_t *at;
  const uint8_t *end;
} script_t;

/* What a record was when it was published. */
typedef struct item_s {
  uint8_t kind;
  bool immediate;
  uint32_t word;
} item_t;

typedef struct world_s {
  fl_test_ring_t ring;
  fl_ring_producer_t producer;
  fl_ring_consumer_t consumer;
  bool honest;
  /* No call is made to a side that has found the ring corrupt. */
  bool producer_lives;
  bool consumer_lives;
  uint8_t before[2 * RING_MAX]; /* the block before the call */
  uint64_t head;                /* and the positions */
  uint64_t tail;
  item_t items[RECORDS_MAX]; /* published and not released */
  size_t item_count;
  size_t dropped; /* of these */
  uint8_t next_kind;
} world_t;

static uint8_t take(script_t *s) {
  return s->at == s->end ? 0 : *s->at++;
}

static uint64_t load(const _Atomic uint64_t *at) {
  return atomic_load(at);
}

/* --- What a call may change --------------------------------------------------
 */

static void before_call(world_t *w) {
  memcpy(w->before, w->ring.data, 2 * w->ring.size);
  w->head = load(&w->ring.shared->head);
  w->tail = load(&w->ring.shared->tail);
}

static void check_head_is_kept(const world_t *w) {
  CHECK(load(&w->ring.shared->head) == w->head);
}

static void check_tail_is_kept(const world_t *w) {
  CHECK(load(&w->ring.shared->tail) == w->tail);
}

/* Nothing but the `size` bytes at `at` has changed. */
static void check_written(const world_t *w, size_t at, size_t size) {
  size_t end = at + size;

  CHECK(end <= 2 * w->ring.size);
  CHECK(memcmp(w->before, w->ring.data, at) == 0);
  CHECK(memcmp(w->before + end, w->ring.data + end, 2 * w->ring.size - end) ==
        0);
}

static void copy_to_the_other_copy(world_t *w, size_t at, size_t size) {
  for (size_t i = at; i < at + size; i++)
    w->ring.data[(i + w->ring.size) % (2 * w->ring.size)] = w->ring.data[i];
}

/* --- The naive ring ----------------------------------------------------------
 */

/* Bytes between the two, or -1 if they are no positions of one ring. */
static int64_t naive_distance(const world_t *w, uint64_t tail, uint64_t head) {
  if (tail % FL_RECORD_ALIGN != 0) return -1;
  for (size_t n = 0; n <= w->ring.size; n += FL_RECORD_ALIGN)
    if (tail + n == head) return (int64_t) n;
  return -1;
}

static int64_t naive_space(const world_t *w, size_t wanted) {
  const fl_ring_producer_t *p = &w->producer;
  int64_t used = naive_distance(w, p->tail, p->head);
  int64_t size = (int64_t) w->ring.size;

  CHECK(used >= 0);
  if (size - used >= (int64_t) wanted) return size - used;
  /* It is not behind the one that was known, and not before the head. */
  for (uint64_t n = 0; n <= (uint64_t) used; n += FL_RECORD_ALIGN)
    if (p->tail + n == w->tail) return size - used + (int64_t) n;
  return FL_ECORRUPT;
}

static int naive_next(const world_t *w, fl_record_t *r) {
  const fl_ring_consumer_t *c = &w->consumer;
  bool knows = c->head != c->tail;
  int64_t available = naive_distance(w, c->tail, knows ? c->head : w->head);
  size_t offset = (size_t) (c->tail % w->ring.size);
  const uint8_t *at = w->ring.data + offset;

  if (available == 0) return 0;
  if (available < 0 || at[6] != 0 || at[7] != 0 || at[5] > 1)
    return FL_ECORRUPT;
  memset(r, 0, sizeof(*r));
  memcpy(&r->word, at, sizeof(r->word));
  r->kind = at[4];
  r->flags = at[5];
  r->size = FL_RECORD_HEADER;
  if (r->flags == 1) return 1;
  if (r->word > RING_MAX) return FL_ECORRUPT;
  r->payload = at + FL_RECORD_HEADER;
  r->len = r->word;
  r->size += (r->len + 7) / 8 * 8;
  return (int64_t) r->size <= available ? 1 : FL_ECORRUPT;
}

/* --- Calls of the producer ---------------------------------------------------
 */

static void attach_producer(world_t *w) {
  int64_t used;
  int rc;

  before_call(w);
  rc = fl_ring_producer_init(&w->producer, w->ring.shared, w->ring.data,
                             w->ring.size);
  used = naive_distance(w, w->tail, w->head);
  check_written(w, 0, 0);
  CHECK(rc == (used < 0 ? FL_ECORRUPT : FL_OK));
  CHECK(rc == FL_OK || !w->honest);
  w->producer_lives = rc == FL_OK;
}

static bool has_space(world_t *w, size_t wanted) {
  int64_t expected;
  int64_t space;

  before_call(w);
  expected = naive_space(w, wanted);
  space = fl_ring_space(&w->producer, wanted);
  check_written(w, 0, 0);
  check_head_is_kept(w);
  check_tail_is_kept(w);
  CHECK(space == expected);
  CHECK(space >= 0 || !w->honest);
  if (space < 0) w->producer_lives = false;
  return space >= 0 && (size_t) space >= wanted;
}

static void add_item(world_t *w, uint8_t kind, bool immediate, uint32_t word) {
  if (!w->honest) return;
  CHECK(w->item_count < RECORDS_MAX);
  w->items[w->item_count++] = (item_t){kind, immediate, word};
}

static void fill_payload(uint8_t *to, uint32_t len, uint8_t kind) {
  for (uint32_t i = 0; i < len; i++) to[i] = (uint8_t) (kind * 7 + i);
}

/* After the `size` bytes at `at` were published; `wake` is the answer. */
static void check_published(world_t *w, size_t at, size_t size, bool asleep,
                            bool wake) {
  check_written(w, at, size);
  check_tail_is_kept(w);
  CHECK(load(&w->ring.shared->head) == w->producer.head);
  CHECK(wake == asleep);
  CHECK(atomic_load(&w->ring.shared->asleep) == 0);
  copy_to_the_other_copy(w, at, size);
}

static void publish(world_t *w, script_t *s) {
  bool immediate = (take(s) & 1) != 0;
  uint32_t word = take(s);
  size_t size = fl_record_size(immediate ? 0 : word);
  uint8_t kind = w->next_kind++;
  uint64_t head = w->producer.head;
  size_t at = (size_t) (head % w->ring.size);
  bool asleep;
  bool wake;

  if (!has_space(w, size)) return;
  asleep = atomic_load(&w->ring.shared->asleep) != 0;
  add_item(w, kind, immediate, word);
  before_call(w);
  CHECK(fl_ring_payload(&w->producer) == w->ring.data + at + FL_RECORD_HEADER);
  if (immediate) {
    wake = fl_ring_publish_immediate(&w->producer, kind, word);
  } else {
    fill_payload(fl_ring_payload(&w->producer), word, kind);
    wake = fl_ring_publish(&w->producer, kind, word);
  }
  CHECK(w->producer.head == head + size);
  check_published(w, at, size, asleep, wake);
}

static void publish_raw(world_t *w, script_t *s) {
  size_t count = 1 + take(s) % 4;
  size_t at = (size_t) (w->producer.head % w->ring.size);
  size_t size = count * FL_RECORD_HEADER;
  uint8_t *raw;
  bool asleep;
  bool wake;

  if (!has_space(w, size)) return;
  raw = malloc(size);
  CHECK(raw != NULL);
  for (size_t i = 0; i < count; i++) {
    uint32_t word = take(s) * 0x01010101u;

    fl_test_ring_header(raw + i * FL_RECORD_HEADER, word, w->next_kind,
                        FL_RECORD_IMMEDIATE, 0);
    add_item(w, w->next_kind++, true, word);
  }
  asleep = atomic_load(&w->ring.shared->asleep) != 0;
  before_call(w);
  wake = fl_ring_publish_raw(&w->producer, raw, size);
  check_published(w, at, size, asleep, wake);
  free(raw);
}

static void await_space(world_t *w, script_t *s) {
  size_t wanted = take(s);
  int64_t space;
  bool waits;

  before_call(w);
  space = naive_space(w, wanted);
  waits = fl_ring_await_space(&w->producer, wanted);
  check_written(w, 0, 0);
  check_head_is_kept(w);
  check_tail_is_kept(w);
  CHECK(waits == (space >= 0 && space < (int64_t) wanted));
  CHECK(atomic_load(&w->ring.shared->hungry) == waits);
}

/* --- Calls of the consumer ---------------------------------------------------
 */

static void attach_consumer(world_t *w) {
  int rc;

  before_call(w);
  rc = fl_ring_consumer_init(&w->consumer, w->ring.shared, w->ring.data,
                             w->ring.size);
  CHECK(rc == (w->tail % FL_RECORD_ALIGN == 0 ? FL_OK : FL_ECORRUPT));
  CHECK(rc == FL_OK || !w->honest);
  w->consumer_lives = rc == FL_OK;
  w->dropped = 0;
}

/* That all of it can be read is AddressSanitizer's to say. */
static void read_all(const fl_record_t *r) {
  uint8_t copy[RING_MAX];

  CHECK(r->len <= sizeof(copy));
  if (r->len != 0) memcpy(copy, r->payload, r->len);
}

static void check_item(world_t *w, const fl_record_t *r) {
  const item_t *item = &w->items[w->dropped];
  uint8_t expected[RING_MAX];

  CHECK(w->dropped < w->item_count);
  CHECK(r->kind == item->kind && r->word == item->word);
  CHECK((r->payload == NULL) == item->immediate);
  if (item->immediate) return;
  fill_payload(expected, item->word, item->kind);
  CHECK(memcmp(r->payload, expected, r->len) == 0);
}

static void next(world_t *w, bool drop) {
  fl_record_t expected;
  fl_record_t r;
  int wanted;
  int rc;

  before_call(w);
  wanted = naive_next(w, &expected);
  rc = fl_ring_next(&w->consumer, &r);
  CHECK(rc == wanted);
  CHECK(rc >= 0 || !w->honest);
  if (rc < 0) w->consumer_lives = false;
  if (w->honest) CHECK((rc == 1) == (w->dropped < w->item_count));
  if (rc == 1) {
    CHECK(r.kind == expected.kind && r.flags == expected.flags);
    CHECK(r.word == expected.word && r.payload == expected.payload);
    CHECK(r.len == expected.len && r.size == expected.size);
    read_all(&r);
    if (w->honest) check_item(w, &r);
    if (drop) fl_ring_drop(&w->consumer, &r);
    if (drop) w->dropped++;
  }
  CHECK(naive_distance(w, w->consumer.tail, w->consumer.head) >= 0);
  check_written(w, 0, 0);
  check_head_is_kept(w);
  check_tail_is_kept(w);
}

static void release(world_t *w) {
  uint32_t hungry = atomic_load(&w->ring.shared->hungry);
  uint64_t used = load(&w->ring.shared->head) - w->consumer.tail;
  bool wake;

  before_call(w);
  wake = fl_ring_release(&w->consumer);
  check_written(w, 0, 0);
  check_head_is_kept(w);
  CHECK(load(&w->ring.shared->tail) == w->consumer.tail);
  CHECK(wake == (hungry != 0 && used <= w->ring.size / 2));
  CHECK(atomic_load(&w->ring.shared->hungry) == (wake ? 0 : hungry));
  if (!w->honest) return;
  w->item_count -= w->dropped;
  memmove(w->items, w->items + w->dropped, w->item_count * sizeof(item_t));
  w->dropped = 0;
}

static void sleep_or_not(world_t *w) {
  bool has = fl_ring_has_records(&w->consumer);
  size_t unread = fl_ring_unread(&w->consumer);
  int64_t known;
  bool sleeps;

  before_call(w);
  known = naive_distance(w, w->consumer.tail, w->head);
  CHECK(unread <= w->ring.size);
  if (known >= 0) CHECK(unread == (size_t) known);
  CHECK(has ==
        (w->consumer.head != w->consumer.tail || w->head != w->consumer.tail));
  if (w->honest) CHECK(has == (w->dropped < w->item_count));
  sleeps = fl_ring_sleep(&w->consumer);
  check_written(w, 0, 0);
  check_head_is_kept(w);
  check_tail_is_kept(w);
  CHECK(sleeps == !has);
  CHECK(atomic_load(&w->ring.shared->asleep) == sleeps);
}

static void stay_awake(world_t *w) {
  before_call(w);
  fl_ring_awake(&w->consumer);
  check_written(w, 0, 0);
  CHECK(atomic_load(&w->ring.shared->asleep) == 0);
}

/* --- The other side ----------------------------------------------------------
 */

static uint64_t hostile_position(script_t *s, uint64_t near) {
  uint8_t how = take(s);
  uint64_t by = (uint64_t) (int8_t) take(s);

  if (how % 4 == 0) return near + by;
  if (how % 4 == 1) return near + by * FL_RECORD_ALIGN;
  if (how % 4 == 2) return near + by + ((uint64_t) take(s) << 56);
  return by + ((uint64_t) take(s) << 32);
}

static void be_hostile(world_t *w, script_t *s) {
  uint8_t what = take(s) % 6;
  uint8_t *data = w->ring.data;

  if (what == 0) {
    atomic_store(&w->ring.shared->head, hostile_position(s, w->consumer.tail));
  } else if (what == 1) {
    atomic_store(&w->ring.shared->tail, hostile_position(s, w->producer.head));
  } else if (what == 2) {
    uint8_t *at = data + take(s) * 2u % (2 * w->ring.size);

    *at = take(s);
  } else if (what == 3) {
    uint8_t word = take(s);

    fl_test_ring_header(data + w->consumer.tail % w->ring.size, word, 0,
                        take(s) & 3, 0);
  } else {
    uint32_t number = take(s) * UINT32_C(0x01000001);

    atomic_store(what == 4 ? &w->ring.shared->asleep : &w->ring.shared->hungry,
                 number);
  }
}

/* --- The script --------------------------------------------------------------
 */

static void play(world_t *w, script_t *s) {
  uint8_t call = take(s) % 12;

  if (call < 3) {
    if (!w->producer_lives)
      attach_producer(w);
    else if (call == 0)
      publish(w, s);
    else if (call == 1)
      publish_raw(w, s);
    else
      await_space(w, s);
  } else if (call < 8) {
    if (!w->consumer_lives)
      attach_consumer(w);
    else if (call < 5)
      next(w, call == 4);
    else if (call == 5)
      release(w);
    else if (call == 6)
      sleep_or_not(w);
    else
      stay_awake(w);
  } else if (call == 8) {
    attach_producer(w);
  } else if (call == 9) {
    attach_consumer(w);
  } else if (!w->honest) {
    be_hostile(w, s);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint64_t starts[] = {0, 24, UINT64_C(1) << 32, UINT64_C(0) - 64};
  script_t s = {data + PREFIX, data + size};
  world_t w = {0};

  if (size < PREFIX) return 0;
  fl_test_ring_open(&w.ring, (size_t) FL_RECORD_HEADER << data[0] % 6);
  fl_test_ring_move(&w.ring, starts[data[1] % 4]);
  w.honest = (data[0] & 0x80) != 0;
  for (size_t i = 0; i < w.ring.size; i++)
    w.ring.data[i] = w.ring.data[i + w.ring.size] = take(&s);
  attach_producer(&w);
  attach_consumer(&w);
  while (s.at != s.end) play(&w, &s);
  fl_test_ring_close(&w.ring);
  return 0;
}
