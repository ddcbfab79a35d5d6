/* SPDX-License-Identifier: MIT
 * Steps, and the atomic operations that they are made of.
 */
#include "machine.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct event_s {
  int thread;
  site_t site;
  uint32_t value;
} event_t;

static const machine_setup_t *setup;
static machine_t *machine;

/* The step that is under way. */
static struct {
  int thread;
  uint32_t choice;
  uint32_t outcomes;
  uint8_t cursor; /* in the log */
  bool done;      /* the one operation */
  event_t *event;
  const char *failure;
  jmp_buf leave;
} step;

static event_t trace[DEPTH_MAX];

static site_t sites[SITES_MAX];
static size_t site_count;

static struct {
  size_t site;
  change_t change;
} changed;

/* --- Steps ------------------------------------------------------------------
 */

void fl_machine_begin(const machine_setup_t *with) {
  setup = with;
  machine = with->machine;
  memset(machine, 0, sizeof(*machine));
  fl_memory_init(&machine->memory);
  step.failure = NULL;
}

bool fl_machine_is_in_round(int thread) {
  return machine->log_count[thread] != 0;
}

bool fl_machine_can_wake(int thread) {
  return machine->signalled[thread] || machine->strays != 0;
}

uint32_t fl_machine_step(int thread, uint32_t choice, size_t depth) {
  if (depth == DEPTH_MAX) abort();
  step.thread = thread;
  step.choice = choice;
  step.outcomes = 1;
  step.cursor = 0;
  step.done = false;
  step.event = &trace[depth];
  step.event->site.function = NULL;
  step.event->thread = thread;
  if (setjmp(step.leave) == 0) {
    setup->round(thread);
    /* It came to its end. */
    memset(machine->log[thread], 0, sizeof(machine->log[thread]));
    machine->log_count[thread] = 0;
  }
  fl_memory_trim(&machine->memory);
  return step.outcomes;
}

void fl_machine_fail(const char *what) {
  step.failure = what;
  longjmp(step.leave, 1);
}

const char *fl_machine_failure(void) {
  return step.failure;
}

view_t *fl_machine_view(void) {
  return &machine->memory.views[step.thread];
}

/* True, with the result, if the operation was done in an earlier step. */
static bool was_done(uint32_t *result) {
  int t = step.thread;

  if (step.cursor < machine->log_count[t]) {
    *result = machine->log[t][step.cursor++];
    return true;
  }
  if (step.done) longjmp(step.leave, 1);
  step.done = true;
  return false;
}

static void remember(const site_t *site, uint32_t result, uint32_t shown) {
  int t = step.thread;

  if (machine->log_count[t] == LOG_MAX) abort();
  machine->log[t][machine->log_count[t]++] = result;
  step.cursor++;
  step.event->site = *site;
  step.event->value = shown;
}

void fl_machine_print_trace(size_t depth) {
  for (size_t i = 0; i < depth && i < DEPTH_MAX; i++) {
    const event_t *e = &trace[i];

    if (e->site.function == NULL) continue;
    fprintf(stderr, "  %*sthread %d: %s: %u\n", 4 * e->thread, "", e->thread,
            fl_machine_describe(&e->site), (unsigned int) e->value);
  }
}

/* --- Sites ------------------------------------------------------------------
 */

static int variable_of(const volatile void *address) {
  for (int v = 0; v < VARIABLES; v++)
    if (setup->variables[v].address == address) return v;
  abort();
}

static bool is_same_site(const site_t *a, const site_t *b) {
  return strcmp(a->function, b->function) == 0 &&
         a->operation == b->operation && a->variable == b->variable &&
         a->order == b->order;
}

static size_t number_of(const site_t *site) {
  for (size_t i = 0; i < site_count; i++)
    if (is_same_site(&sites[i], site)) return i;
  if (site_count == SITES_MAX) abort();
  sites[site_count] = *site;
  return site_count++;
}

/* What is to be done to the operation; a weaker order is put into `*order`. */
static change_t change_of(const site_t *site, memory_order *order) {
  size_t number = number_of(site);

  if (changed.change == NONE || changed.site != number) return NONE;
  if (changed.change == WEAKER) {
    if (*order != memory_order_seq_cst)
      *order = memory_order_relaxed;
    else
      *order =
          site->operation == LOAD ? memory_order_acquire : memory_order_release;
  }
  return changed.change;
}

void fl_machine_change(size_t site, change_t change) {
  changed.site = site;
  changed.change = change;
}

size_t fl_machine_sites(void) {
  return site_count;
}

const site_t *fl_machine_site(size_t i) {
  return &sites[i];
}

const char *fl_machine_describe(const site_t *site) {
  static const char *const operations[] = {"load", "store", "exchange",
                                           "signals", "wakes"};
  static const char *const orders[] = {"relaxed", "consume", "acquire",
                                       "release", "acq_rel", "seq_cst"};
  static char text[128];

  if (site->operation == SIGNAL || site->operation == WAIT)
    return operations[site->operation];
  snprintf(text, sizeof(text), "%s %s %s %s", site->function,
           operations[site->operation], setup->variables[site->variable].name,
           orders[site->order]);
  return text;
}

/* --- Operations -------------------------------------------------------------
 */

uint64_t fl_model_load(const char *function, const volatile void *at,
                       memory_order order) {
  site_t site = {function, LOAD, variable_of(at), order};
  uint32_t value;

  if (was_done(&value)) return value;
  if (change_of(&site, &order) == SKIPPED)
    value = fl_memory_known(&machine->memory, step.thread, site.variable);
  else
    step.outcomes = fl_memory_load(&machine->memory, step.thread, site.variable,
                                   order, step.choice, &value);
  remember(&site, value, value);
  return value;
}

void fl_model_store(const char *function, const volatile void *at,
                    uint64_t value, memory_order order) {
  site_t site = {function, STORE, variable_of(at), order};
  int waiter = setup->variables[site.variable].waiter;
  uint32_t ignored;

  if (was_done(&ignored)) return;
  if (waiter >= 0 && value != 0) machine->announced[waiter]++;
  if (change_of(&site, &order) != SKIPPED)
    step.outcomes =
        fl_memory_store(&machine->memory, step.thread, site.variable, order,
                        step.choice, (uint32_t) value);
  remember(&site, 0, (uint32_t) value);
}

uint64_t fl_model_exchange(const char *function, const volatile void *at,
                           uint64_t next, memory_order order) {
  site_t site = {function, EXCHANGE, variable_of(at), order};
  uint32_t value;

  if (was_done(&value)) return value;
  if (change_of(&site, &order) == SKIPPED)
    step.outcomes = fl_memory_load(&machine->memory, step.thread, site.variable,
                                   order, step.choice, &value);
  else
    step.outcomes =
        fl_memory_exchange(&machine->memory, step.thread, site.variable, order,
                           step.choice, &value, (uint32_t) next);
  remember(&site, value, value);
  return value;
}

void fl_machine_signal(int thread) {
  static const site_t site = {"", SIGNAL, 0, memory_order_relaxed};
  uint32_t ignored;

  if (was_done(&ignored)) return;
  if (machine->announced[thread] == 0)
    fl_machine_fail("woken more often than announced");
  machine->announced[thread]--;
  machine->signalled[thread] = 1;
  fl_memory_send_signal(&machine->memory, step.thread, thread);
  remember(&site, 0, (uint32_t) thread);
}

void fl_machine_wait(void) {
  static const site_t site = {"", WAIT, 0, memory_order_relaxed};
  uint8_t *signalled = &machine->signalled[step.thread];
  uint32_t ignored;

  if (was_done(&ignored)) return;
  if (*signalled)
    fl_memory_take_signal(&machine->memory, step.thread);
  else
    machine->strays--;
  remember(&site, 0, *signalled);
  *signalled = 0;
}
