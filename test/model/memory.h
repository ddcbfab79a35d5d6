/* SPDX-License-Identifier: MIT
 *
 * What C11 lets two threads see of a few atomic variables. Each variable has a
 * history: all values that were stored, in modification order. A thread has a
 * view: for each variable, how far in the history it is known to be; it can
 * never read anything older, but need not read anything newer. That is how a
 * delayed store looks from outside.
 *
 *   relaxed   the reader learns of this value alone
 *   release   the value carries the writer's view; who reads it with acquire
 *             joins that to its own
 *   seq_cst   also: a read sees at least the last seq_cst store before it
 *
 * A store need not go to the end of the history: only behind what its thread
 * has seen (and, if both are seq_cst, behind the last such store).
 *
 * Reads and writes of plain memory are counted in views too: `written` by
 * thread 0 and `read` by thread 1, in units of the user's, to tell whether one
 * happens before the other.
 *
 * A model is plain data without padding: copies are made with `=`, and equal
 * ones have equal bytes.
 */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

enum { THREADS = 2, VARIABLES = 4, HISTORY_MAX = 12 };

typedef struct view_s {
  uint8_t at[VARIABLES];
  uint8_t written;
  uint8_t read;
} view_t;

typedef struct message_s {
  uint32_t value;
  view_t view;   /* what an acquiring reader learns */
  uint8_t glued; /* stored by an exchange: nothing goes between it and the
                    message in front of it, which it has read */
  uint8_t unused;
} message_t;

typedef struct memory_s {
  message_t history[VARIABLES][HISTORY_MAX];
  uint8_t count[VARIABLES];
  uint8_t seq_cst[VARIABLES]; /* the last seq_cst store */
  view_t views[THREADS];
  view_t signals[THREADS]; /* what the thread learns from its signal */
} memory_t;

/* Each variable holds 0, known to both threads; `m` is zeroed memory. */
void fl_memory_init(memory_t *m);

/* The operations can have several outcomes: number `choice` is taken, and how
 * many there are is returned. `*value` is what was read. */
uint32_t fl_memory_load(memory_t *m, int thread, int variable,
                        memory_order order, uint32_t choice, uint32_t *value);
uint32_t fl_memory_store(memory_t *m, int thread, int variable,
                         memory_order order, uint32_t choice, uint32_t value);
uint32_t fl_memory_exchange(memory_t *m, int thread, int variable,
                            memory_order order, uint32_t choice,
                            uint32_t *value, uint32_t next);

/* The newest value that `thread` knows of. */
uint32_t fl_memory_known(const memory_t *m, int thread, int variable);

/* The system hands a signal on with all that its sender knows. */
void fl_memory_send_signal(memory_t *m, int from, int to);
void fl_memory_take_signal(memory_t *m, int thread);

/* Forgets values that nobody can read any more, so that memories that cannot be
 * told apart are equal. */
void fl_memory_trim(memory_t *m);

#endif
