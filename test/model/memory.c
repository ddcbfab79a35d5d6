/* SPDX-License-Identifier: MIT
 * Histories and views.
 */
#include "memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

void fl_memory_init(memory_t *m) {
  for (int v = 0; v < VARIABLES; v++) m->count[v] = 1;
}

static void join(view_t *to, const view_t *from) {
  for (int v = 0; v < VARIABLES; v++)
    if (to->at[v] < from->at[v]) to->at[v] = from->at[v];
  if (to->written < from->written) to->written = from->written;
  if (to->read < from->read) to->read = from->read;
}

static bool acquires(memory_order order) {
  return order == memory_order_acquire || order == memory_order_acq_rel ||
         order == memory_order_seq_cst;
}

static bool releases(memory_order order) {
  return order == memory_order_release || order == memory_order_acq_rel ||
         order == memory_order_seq_cst;
}

/* The oldest message that an operation of this order may still see. */
static uint8_t oldest(const memory_t *m, int thread, int variable,
                      memory_order order) {
  uint8_t seen = m->views[thread].at[variable];
  uint8_t last = m->seq_cst[variable];

  return order == memory_order_seq_cst && last > seen ? last : seen;
}

/* Calls `change` for every view that there is. */
static void change_views(memory_t *m, int variable, uint8_t n,
                         void (*change)(uint8_t *at, uint8_t n)) {
  for (int t = 0; t < THREADS; t++) {
    change(&m->views[t].at[variable], n);
    change(&m->signals[t].at[variable], n);
  }
  for (int v = 0; v < VARIABLES; v++)
    for (uint8_t i = 0; i < m->count[v]; i++)
      change(&m->history[v][i].view.at[variable], n);
  change(&m->seq_cst[variable], n);
}

static void raise_from(uint8_t *at, uint8_t n) {
  if (*at >= n) ++*at;
}

static void lower_by(uint8_t *at, uint8_t n) {
  *at = (uint8_t) (*at > n ? *at - n : 0);
}

/* Makes room for a message at index `at`. */
static message_t *insert(memory_t *m, int variable, uint8_t at) {
  message_t *history = m->history[variable];

  if (m->count[variable] == HISTORY_MAX) {
    fprintf(stderr, "a history is longer than %d\n", HISTORY_MAX);
    abort();
  }
  for (uint8_t i = m->count[variable]; i > at; i--) history[i] = history[i - 1];
  m->count[variable]++;
  history[at] = (message_t){0};
  change_views(m, variable, at, raise_from);
  return &history[at];
}

static void see(memory_t *m, int thread, int variable, uint8_t at,
                memory_order order) {
  view_t *view = &m->views[thread];

  view->at[variable] = at;
  if (acquires(order)) join(view, &m->history[variable][at].view);
}

static message_t *put(memory_t *m, int thread, int variable, uint8_t at,
                      memory_order order, uint32_t value) {
  message_t *message = insert(m, variable, at);

  message->value = value;
  m->views[thread].at[variable] = at;
  if (releases(order)) message->view = m->views[thread];
  if (order == memory_order_seq_cst) m->seq_cst[variable] = at;
  return message;
}

/* The indices from `from` on at which a message can be inserted. */
static uint32_t gaps(const memory_t *m, int variable, uint8_t from,
                     uint8_t found[HISTORY_MAX + 1]) {
  uint32_t count = 0;

  for (uint8_t at = from; at <= m->count[variable]; at++)
    if (at == m->count[variable] || !m->history[variable][at].glued)
      found[count++] = at;
  return count;
}

uint32_t fl_memory_load(memory_t *m, int thread, int variable,
                        memory_order order, uint32_t choice, uint32_t *value) {
  uint8_t from = oldest(m, thread, variable, order);
  uint8_t at = (uint8_t) (from + choice);

  *value = m->history[variable][at].value;
  see(m, thread, variable, at, order);
  return m->count[variable] - from;
}

uint32_t fl_memory_store(memory_t *m, int thread, int variable,
                         memory_order order, uint32_t choice, uint32_t value) {
  uint8_t from = (uint8_t) (oldest(m, thread, variable, order) + 1);
  uint8_t found[HISTORY_MAX + 1] = {0};
  uint32_t count = gaps(m, variable, from, found);

  put(m, thread, variable, found[choice], order, value);
  return count;
}

uint32_t fl_memory_exchange(memory_t *m, int thread, int variable,
                            memory_order order, uint32_t choice,
                            uint32_t *value, uint32_t next) {
  uint8_t from = (uint8_t) (oldest(m, thread, variable, order) + 1);
  uint8_t found[HISTORY_MAX + 1] = {0};
  uint32_t count = gaps(m, variable, from, found);
  uint8_t at = found[choice];
  message_t *read = &m->history[variable][at - 1];
  message_t *message;

  *value = read->value;
  see(m, thread, variable, (uint8_t) (at - 1), order);
  message = put(m, thread, variable, at, order, next);
  message->glued = 1;
  /* An exchange goes on with the release of what it has read. */
  join(&message->view, &read->view);
  return count;
}

uint32_t fl_memory_known(const memory_t *m, int thread, int variable) {
  return m->history[variable][m->views[thread].at[variable]].value;
}

void fl_memory_send_signal(memory_t *m, int from, int to) {
  join(&m->signals[to], &m->views[from]);
}

void fl_memory_take_signal(memory_t *m, int thread) {
  join(&m->views[thread], &m->signals[thread]);
  m->signals[thread] = (view_t){0};
}

void fl_memory_trim(memory_t *m) {
  for (int v = 0; v < VARIABLES; v++) {
    message_t *history = m->history[v];
    uint8_t by = m->views[0].at[v];

    if (m->views[1].at[v] < by) by = m->views[1].at[v];
    if (by == 0) continue;
    for (uint8_t i = by; i < m->count[v]; i++) history[i - by] = history[i];
    for (uint8_t i = 1; i <= by; i++) history[m->count[v] - i] = (message_t){0};
    m->count[v] = (uint8_t) (m->count[v] - by);
    history[0].glued = 0;
    change_views(m, v, by, lower_by);
  }
}
