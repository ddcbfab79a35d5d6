/* SPDX-License-Identifier: MIT
 *
 * Two threads that go on step by step, one atomic operation each, in any order.
 *
 * A thread is a function that does one round on private data. To go one step
 * on, the round is run again from its start: the operations that it has done
 * already get the result that they got then, one more is done, and at the next
 * one the round is left. So what a round does besides must do no harm when it
 * is done again, and the state between two steps is plain data.
 *
 * The atomic operations are those of code that was compiled with
 * stepped/stdatomic.h; their outcomes are those of memory.h. An exploration can
 * change one of them, to show that somebody would see the fault.
 */
#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

enum {
  LOG_MAX = 12,    /* operations of one round */
  DEPTH_MAX = 500, /* steps of one schedule */
  SITES_MAX = 64
};

typedef enum operation_e { LOAD, STORE, EXCHANGE, SIGNAL, WAIT } operation_t;

/* An operation in the code, as far as one can be told from another. */
typedef struct site_s {
  const char *function;
  operation_t operation;
  int variable;
  memory_order order;
} site_t;

typedef enum change_e {
  NONE,
  WEAKER, /* the order, by one level: what is next to it may go first */
  SKIPPED /* nothing is stored; a load gives what its thread knew already */
} change_t;

/* The state of the machine; as memory_t, without padding. */
typedef struct machine_s {
  memory_t memory;
  uint32_t log[THREADS][LOG_MAX]; /* what this round's operations gave */
  uint8_t log_count[THREADS];
  uint8_t signalled[THREADS];
  uint8_t announced[THREADS]; /* how often a thread said that it will wait, less
                                 the signals that it got */
  uint8_t strays;             /* waits that may still end without a signal */
  uint8_t unused[1];
} machine_t;

/* What is the same for all states. */
typedef struct machine_setup_s {
  machine_t *machine;
  struct {
    const char *name;
    const volatile void *address;
    int waiter; /* the thread that announces by storing something but 0, or -1
                 */
  } variables[VARIABLES];
  void (*round)(int thread);
} machine_setup_t;

/* The machine as it is before anything happened. */
void fl_machine_begin(const machine_setup_t *setup);

/* Whether a thread in the middle of a round, or one that waits, has a next
 * step. */
bool fl_machine_is_in_round(int thread);
bool fl_machine_can_wake(int thread);

/* One step of `thread` with its outcome number `choice`; returns how many
 * outcomes there are. The machine is `depth` steps from its beginning. */
uint32_t fl_machine_step(int thread, uint32_t choice, size_t depth);

/* What went wrong in the last step, or NULL. */
const char *fl_machine_failure(void);

/* The first `depth` steps. */
void fl_machine_print_trace(size_t depth);

/* --- In a round --- */

/* Ends the step: this must not happen. */
void fl_machine_fail(const char *what);

/* Wakes `thread`; at most once for each time that it has announced. */
void fl_machine_signal(int thread);

/* The wait of the thread itself ends. */
void fl_machine_wait(void);

/* What the thread knows of. */
view_t *fl_machine_view(void);

/* --- Changes --- */

/* From now on, `site` is changed. */
void fl_machine_change(size_t site, change_t change);

/* The operations that were come across so far, in any exploration. */
size_t fl_machine_sites(void);
const site_t *fl_machine_site(size_t i);

/* As "fl_ring_next load head acquire". */
const char *fl_machine_describe(const site_t *site);

#endif
