/* SPDX-License-Identifier: MIT
 * The ring. Memory order is argued where it matters; the rest is relaxed.
 */
#include "ring.h"

#include "status.h"

static bool is_position(uint64_t position) {
  return (position & (FL_RECORD_ALIGN - 1)) == 0;
}

/* Whether two positions can be of one ring: both on the boundary of a record,
 * and not further apart than the ring is long. */
static bool is_span(uint64_t tail, uint64_t head, size_t size) {
  return is_position(tail) && is_position(head) && head - tail <= size;
}

void fl_ring_format(fl_ring_shared_t *shared) {
  atomic_store_explicit(&shared->head, 0, memory_order_relaxed);
  atomic_store_explicit(&shared->tail, 0, memory_order_relaxed);
  atomic_store_explicit(&shared->hungry, 0, memory_order_relaxed);
  atomic_store_explicit(&shared->asleep, 1, memory_order_release);
}

int fl_ring_producer_init(fl_ring_producer_t *p, fl_ring_shared_t *shared,
                          uint8_t *data, size_t size) {
  p->shared = shared;
  p->data = data;
  p->size = size;
  p->head = atomic_load_explicit(&shared->head, memory_order_relaxed);
  /* The consumer is done with what lies before its tail: what is written there
   * next must not be seen by reads that came before that store. */
  p->tail = atomic_load_explicit(&shared->tail, memory_order_acquire);
  return is_span(p->tail, p->head, size) ? FL_OK : FL_ECORRUPT;
}

int fl_ring_consumer_init(fl_ring_consumer_t *c, fl_ring_shared_t *shared,
                          const uint8_t *data, size_t size) {
  c->shared = shared;
  c->data = data;
  c->size = size;
  c->tail = atomic_load_explicit(&shared->tail, memory_order_relaxed);
  c->head = c->tail;
  return is_position(c->tail) ? FL_OK : FL_ECORRUPT;
}

/* --- Producer --- */

int64_t fl_ring_space(fl_ring_producer_t *p, size_t wanted) {
  size_t space = p->size - (size_t) (p->head - p->tail);
  uint64_t tail;

  if (space >= wanted) return (int64_t) space;
  /* Acquire: what is written next comes after the consumer's reads of what was
   * there. More than that only for fl_ring_await_space(). */
  tail = atomic_load_explicit(&p->shared->tail, memory_order_seq_cst);
  /* A tail that goes back would be harmless, but it is no tail of ours. */
  if (!is_span(tail, p->head, p->size) || tail - p->tail > p->head - p->tail)
    return FL_ECORRUPT;
  p->tail = tail;
  return (int64_t) (p->size - (size_t) (p->head - tail));
}

static uint8_t *at_head(const fl_ring_producer_t *p) {
  return p->data + (p->head & (p->size - 1));
}

uint8_t *fl_ring_payload(const fl_ring_producer_t *p) {
  return at_head(p) + FL_RECORD_HEADER;
}

/* Makes `size` more bytes visible. */
static bool advance(fl_ring_producer_t *p, size_t size) {
  fl_ring_shared_t *s = p->shared;

  p->head += size;
  /* Whoever sees this head sees the records before it (release). And this side
   * stores head, then looks at asleep, while the consumer stores asleep, then
   * looks at head: as all four are in one order (seq_cst), at least one of the
   * two sees the other's store, and nobody sleeps on a record. */
  atomic_store_explicit(&s->head, p->head, memory_order_seq_cst);
  return atomic_load_explicit(&s->asleep, memory_order_seq_cst) != 0 &&
         atomic_exchange_explicit(&s->asleep, 0, memory_order_relaxed) != 0;
}

bool fl_ring_publish(fl_ring_producer_t *p, uint8_t kind, uint32_t len) {
  fl_record_put_header(at_head(p), len, kind, 0);
  return advance(p, fl_record_size(len));
}

bool fl_ring_publish_immediate(fl_ring_producer_t *p, uint8_t kind,
                               uint32_t word) {
  fl_record_put_header(at_head(p), word, kind, FL_RECORD_IMMEDIATE);
  return advance(p, FL_RECORD_HEADER);
}

bool fl_ring_publish_raw(fl_ring_producer_t *p, const uint8_t *records,
                         size_t size) {
  memcpy(at_head(p), records, size);
  return advance(p, size);
}

bool fl_ring_await_space(fl_ring_producer_t *p, size_t wanted) {
  /* As in advance(), with tail and hungry in the place of head and asleep. */
  atomic_store_explicit(&p->shared->hungry, 1, memory_order_seq_cst);
  int64_t space = fl_ring_space(p, wanted);
  if (space >= 0 && (size_t) space < wanted) return true;
  atomic_store_explicit(&p->shared->hungry, 0, memory_order_relaxed);
  return false;
}

/* --- Consumer --- */

int fl_ring_next(fl_ring_consumer_t *c, fl_record_t *r) {
  const uint8_t *at;
  size_t available;

  if (c->head == c->tail) {
    uint64_t head =
        atomic_load_explicit(&c->shared->head, memory_order_acquire);
    if (head == c->tail) return 0;
    if (!is_span(c->tail, head, c->size)) return FL_ECORRUPT;
    c->head = head;
  }
  available = (size_t) (c->head - c->tail);
  at = c->data + (c->tail & (c->size - 1));

  /* Read once: the other side may write here all the time. */
  uint64_t header = *(const volatile uint64_t *) (const void *) at;
  uint32_t word;
  uint8_t rest[4];
  memcpy(&word, &header, sizeof(word));
  memcpy(rest, (const uint8_t *) &header + sizeof(word), sizeof(rest));

  r->kind = rest[0];
  r->flags = rest[1];
  r->word = word;
  if ((rest[1] & ~FL_RECORD_IMMEDIATE) != 0 || rest[2] != 0 || rest[3] != 0)
    return FL_ECORRUPT;
  if (rest[1] & FL_RECORD_IMMEDIATE) {
    r->payload = NULL;
    r->len = 0;
  } else {
    r->payload = at + FL_RECORD_HEADER;
    r->len = word;
  }
  if (r->len > available) return FL_ECORRUPT;
  r->size = fl_record_size(r->len);
  return r->size <= available ? 1 : FL_ECORRUPT;
}

void fl_ring_drop(fl_ring_consumer_t *c, const fl_record_t *r) {
  c->tail += r->size;
}

bool fl_ring_release(fl_ring_consumer_t *c) {
  fl_ring_shared_t *s = c->shared;

  /* Release: reads of the records come before the producer writes there. More
   * than that as in fl_ring_await_space(). */
  atomic_store_explicit(&s->tail, c->tail, memory_order_seq_cst);
  if (atomic_load_explicit(&s->hungry, memory_order_seq_cst) == 0) return false;
  /* Waking for every few bytes would cost more than it moves. A consumer goes
   * on until there is nothing left, so all of the room comes at last. */
  uint64_t head = atomic_load_explicit(&s->head, memory_order_relaxed);
  if (head != c->tail && head - c->tail > c->size / 2) return false;
  return atomic_exchange_explicit(&s->hungry, 0, memory_order_relaxed) != 0;
}

bool fl_ring_has_records(const fl_ring_consumer_t *c) {
  return c->head != c->tail ||
         atomic_load_explicit(&c->shared->head, memory_order_seq_cst) !=
             c->tail;
}

size_t fl_ring_unread(const fl_ring_consumer_t *c) {
  uint64_t n =
      atomic_load_explicit(&c->shared->head, memory_order_seq_cst) - c->tail;
  return n <= c->size ? (size_t) n : c->size;
}

bool fl_ring_sleep(fl_ring_consumer_t *c) {
  /* Before the look at head: see advance(). */
  atomic_store_explicit(&c->shared->asleep, 1, memory_order_seq_cst);
  if (!fl_ring_has_records(c)) return true;
  fl_ring_awake(c);
  return false;
}

void fl_ring_awake(fl_ring_consumer_t *c) {
  atomic_store_explicit(&c->shared->asleep, 0, memory_order_relaxed);
}
