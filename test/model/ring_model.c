/* SPDX-License-Identifier: MIT
 *
 * Every schedule of a producer and a consumer on a small ring, with everything
 * that C11 lets them see (machine.h, memory.h). The code is that of
 * src/core/ring.c. What must hold:
 *
 *  1. when nobody can go on, everything was written and read: no consumer
 * sleeps on a record and no producer waits for room that is there;
 *  2. every record is read once, in order, whole; its bytes were written before
 *     they are read, and read before they are written again;
 *  3. an announcement is answered by one wake at most;
 *  4. who is told not to wait finds what it wanted.
 *
 * That the model can see a fault is tested too: for each operation of ring.c
 * that it came across, with a weaker order, or left out, something of the above
 * must fail, but for those in `harmless`.
 */
#include "../../src/core/ring.h"
#include "check.h"
#include "machine.h"
#include "ring_memory.h"
#include "seen.h"

enum { PRODUCER, CONSUMER };
enum { HEAD, TAIL, ASLEEP, HUNGRY };
enum { RING_MAX = 32 /* bytes */ };

/* --- What is tried -----------------------------------------------------------
 */

typedef struct scenario_s {
  const char *title;
  size_t ring;       /* bytes */
  const char *sizes; /* of what is published at once, in records of 8 bytes */
  uint8_t batch;     /* the consumer releases after so many records, and when
                        there are no more */
  uint8_t stray;     /* waits of either side that end without a wake */
  bool says_awake;   /* after a wait, with fl_ring_awake() */
} scenario_t;

static const scenario_t scenarios[] = {
    {"one record fits", 8, "1111", 1, 0, false},
    {"one record fits, stray wakes", 8, "111", 1, 1, true},
    {"two fit", 16, "1111", 1, 0, true},
    {"two fit, released together", 16, "1111", 2, 0, false},
    {"two fit, stray wakes", 16, "111", 1, 1, true},
    {"one or both of two", 16, "1212", 1, 0, false},
    {"pairs where four fit", 32, "2221", 3, 0, false},
    {"all of four at once", 32, "141", 1, 0, true},
    {"three of four at once, stray wakes", 32, "131", 1, 1, true},
};

enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };

/* --- State -------------------------------------------------------------------
 */

typedef struct producer_s {
  fl_ring_producer_t end;
  uint8_t published; /* of scenario->sizes */
  uint8_t sequence;  /* number of the next record */
  uint8_t waiting;
  uint8_t told; /* that there is room */
  uint8_t unused[4];
} producer_t;

typedef struct consumer_s {
  fl_ring_consumer_t end;
  uint8_t sequence;
  uint8_t unreleased;
  uint8_t waiting;
  uint8_t told; /* that there is a record */
  uint8_t unused[4];
} consumer_t;

typedef struct state_s {
  machine_t machine;
  producer_t producer;
  consumer_t consumer;
  uint8_t data[2 * RING_MAX];
} state_t;

_Static_assert(sizeof(state_t) % sizeof(uint64_t) == 0, "hashed in words");

static const scenario_t *scenario;
static state_t now;
static fl_ring_shared_t shared; /* only its addresses are used */

/* --- Producer ----------------------------------------------------------------
 */

static uint8_t records_of(size_t publication) {
  return (uint8_t) (scenario->sizes[publication] - '0');
}

/* The next bytes may be written only if the reads of what was there come first.
 */
static void check_room(const producer_t *p, uint8_t records) {
  view_t *view = fl_machine_view();

  if (view->read + scenario->ring / FL_RECORD_HEADER <
      (size_t) p->sequence + records)
    fl_machine_fail("written over what may still be read");
  view->written = (uint8_t) (p->sequence + records);
}

static bool publish(producer_t *p, uint8_t records) {
  uint8_t raw[RING_MAX];
  size_t size = (size_t) records * FL_RECORD_HEADER;
  size_t at = (size_t) p->end.head & (scenario->ring - 1);

  if (records == 1) return fl_ring_publish_immediate(&p->end, 1, p->sequence);
  for (uint8_t i = 0; i < records; i++) {
    uint32_t word = (uint32_t) p->sequence + i;

    fl_test_ring_header(raw + (size_t) i * FL_RECORD_HEADER, word, 1,
                        FL_RECORD_IMMEDIATE, 0);
  }
  /* Here the second copy of the ring is one by hand. */
  for (size_t i = 0; i < size; i++)
    now.data[(at + i + scenario->ring) % (2 * scenario->ring)] = raw[i];
  return fl_ring_publish_raw(&p->end, raw, size);
}

static void produce(producer_t *p) {
  uint8_t records = records_of(p->published);
  size_t size = (size_t) records * FL_RECORD_HEADER;
  int64_t space = fl_ring_space(&p->end, size);

  if (space < 0) fl_machine_fail("the producer found the ring corrupt");
  if ((size_t) space < size) {
    if (p->told)
      fl_machine_fail("the producer was told of room that is not there");
    if (fl_ring_await_space(&p->end, size))
      p->waiting = 1;
    else
      p->told = 1;
    return;
  }
  p->told = 0;
  check_room(p, records);
  if (publish(p, records)) fl_machine_signal(CONSUMER);
  p->sequence = (uint8_t) (p->sequence + records);
  p->published++;
}

/* --- Consumer ----------------------------------------------------------------
 */

static void check_record(const consumer_t *c, const fl_record_t *r) {
  view_t *view = fl_machine_view();

  if (view->written <= c->sequence)
    fl_machine_fail("read before it was written");
  if (r->flags != FL_RECORD_IMMEDIATE || r->kind != 1 || r->word != c->sequence)
    fl_machine_fail("a record is lost, doubled or broken");
  view->read = (uint8_t) (c->sequence + 1);
}

static void release(consumer_t *c) {
  c->unreleased = 0;
  if (fl_ring_release(&c->end)) fl_machine_signal(PRODUCER);
}

/* To read a record and to release it are two rounds: once it is released it may
 * be another one, and could not be read again. */
static void consume(consumer_t *c) {
  fl_record_t r;
  int rc;

  if (c->unreleased == scenario->batch) {
    release(c);
    return;
  }
  rc = fl_ring_next(&c->end, &r);
  if (rc < 0) fl_machine_fail("the consumer found the ring corrupt");
  if (rc == 1) {
    c->told = 0;
    check_record(c, &r);
    c->sequence++;
    fl_ring_drop(&c->end, &r);
    c->unreleased++;
    return;
  }
  if (c->told)
    fl_machine_fail("the consumer was told of a record that is not there");
  if (c->unreleased != 0) release(c);
  if (fl_ring_sleep(&c->end))
    c->waiting = 1;
  else
    c->told = 1;
}

/* --- Exploring --------------------------------------------------------------
 */

/* Works on a copy until the round has come to its end. */
static void do_round(int thread) {
  producer_t p = now.producer;
  consumer_t c = now.consumer;

  if (thread == PRODUCER) {
    if (p.waiting) {
      fl_machine_wait();
      p.waiting = 0;
    } else {
      produce(&p);
    }
    now.producer = p;
  } else {
    if (c.waiting) {
      fl_machine_wait();
      if (scenario->says_awake) fl_ring_awake(&c.end);
      c.waiting = 0;
    } else {
      consume(&c);
    }
    now.consumer = c;
  }
}

static const machine_setup_t setup = {&now.machine,
                                      {{"head", &shared.head, -1},
                                       {"tail", &shared.tail, -1},
                                       {"asleep", &shared.asleep, CONSUMER},
                                       {"hungry", &shared.hungry, PRODUCER}},
                                      do_round};

static bool is_all_published(void) {
  return scenario->sizes[now.producer.published] == '\0';
}

static bool can_go_on(int thread) {
  bool waits = thread == PRODUCER ? now.producer.waiting : now.consumer.waiting;

  if (fl_machine_is_in_round(thread)) return true;
  if (thread == PRODUCER && is_all_published()) return false;
  return !waits || fl_machine_can_wake(thread);
}

static const char *failure;
static size_t depth;

static const char *failure_at_end(void) {
  if (!is_all_published()) return "nobody wakes the producer";
  if (now.consumer.sequence != now.producer.sequence)
    return "nobody wakes the consumer";
  return NULL;
}

/* Everything that can follow, up to the first failure: then `failure` says
 * what, and the first `depth` steps are the way there. */
static bool explore(void) {
  state_t before = now;
  bool ends = true;

  for (int thread = 0; thread < THREADS; thread++) {
    uint32_t outcomes = 1;

    if (!can_go_on(thread)) continue;
    ends = false;
    for (uint32_t choice = 0; choice < outcomes; choice++) {
      outcomes = fl_machine_step(thread, choice, depth++);
      failure = fl_machine_failure();
      if (failure != NULL) return false;
      if (fl_seen_add(&now, sizeof(now)) && !explore()) return false;
      depth--;
      now = before;
    }
  }
  if (ends) failure = failure_at_end();
  return failure == NULL;
}

static bool holds(const scenario_t *s) {
  scenario = s;
  memset(&now, 0, sizeof(now));
  fl_machine_begin(&setup);
  now.machine.strays = s->stray;
  /* As fl_ring_format() and the two init functions leave it, before there is a
   * second thread. */
  now.machine.memory.history[ASLEEP][0].value = 1;
  now.machine.announced[CONSUMER] = 1;
  now.producer.end = (fl_ring_producer_t){&shared, now.data, s->ring, 0, 0};
  now.consumer.end = (fl_ring_consumer_t){&shared, now.data, s->ring, 0, 0};
  depth = 0;
  fl_seen_clear();
  return explore();
}

/* --- Tests ------------------------------------------------------------------
 */

static void test_nothing_goes_wrong_in_any_schedule(void **state) {
  (void) state;
  fl_machine_change(0, NONE);
  for (size_t i = 0; i < SCENARIOS; i++) {
    bool ok = holds(&scenarios[i]);

    print_message("# %s: %zu states\n", scenarios[i].title, fl_seen_count());
    if (ok) continue;
    fl_machine_print_trace(depth);
    fail_msg("%s", failure);
  }
}

/* Changes that do no harm, and why. */
static const struct {
  const char *site;
  change_t change;
} harmless[] = {
    /* A wake that nobody needs. */
    {"fl_ring_awake store asleep relaxed", SKIPPED},
    {"fl_ring_await_space store hungry relaxed", SKIPPED},
    /* An older head, but not older than the records that were read: at worst
     * the wake comes before half of the ring is free. */
    {"fl_ring_release load head relaxed", SKIPPED},
};

enum { HARMLESS = sizeof(harmless) / sizeof(harmless[0]) };

static bool is_harmless(const char *site, change_t change) {
  for (size_t i = 0; i < HARMLESS; i++)
    if (strcmp(harmless[i].site, site) == 0 && harmless[i].change == change)
      return true;
  return false;
}

/* Returns whether all scenarios hold all the same. */
static bool try_change(size_t i, change_t change) {
  static const char *const names[] = {"as it is", "weaker", "skipped"};
  const char *site = fl_machine_describe(fl_machine_site(i));
  size_t n = 0;

  fl_machine_change(i, change);
  while (n < SCENARIOS && holds(&scenarios[n])) n++;
  print_message("# %s %s: %s\n", site, names[change],
                n == SCENARIOS ? "no harm" : failure);
  assert_int_equal(n == SCENARIOS, is_harmless(site, change));
  return n == SCENARIOS;
}

/* After the test above, which came across them all. */
static void test_any_change_to_an_operation_is_found(void **state) {
  size_t survived = 0;

  (void) state;
  for (size_t i = 0; i < fl_machine_sites(); i++) {
    if (fl_machine_site(i)->order != memory_order_relaxed)
      survived += try_change(i, WEAKER);
    survived += try_change(i, SKIPPED);
  }
  /* Not fewer: each of those was there, and tried. */
  assert_int_equal(survived, HARMLESS);
  fl_seen_clear();
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      TEST(test_nothing_goes_wrong_in_any_schedule),
      TEST(test_any_change_to_an_operation_is_found),
  };

  return RUN(tests);
}
