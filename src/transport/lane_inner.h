/* SPDX-License-Identifier: MIT
 *
 * What the files of a lane share: lane.c has its life and the loop, lane_in.c
 * what is received, lane_out.c what is sent.
 */
#ifndef FL_LANE_INNER_H
#define FL_LANE_INNER_H

#include "lane.h"

/* A message that comes or goes in parts goes on within so many nanoseconds, or
 * not for a while. */
#define FL__LANE_PART_NS ((uint64_t) 20 * 1000)

/* A moment of doing nothing, for loops that look at shared memory. */
static inline void fl__lane_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Looks for something to read, `window` nanoseconds at most. */
bool fl__lane_spin(const fl_lane_t *lane, uint64_t window);

/* Has the loop come back in its next turn, without a system call. */
void fl__lane_stay_awake(fl_lane_t *lane);

/* Ends reading and writing; returns `status`. */
int fl__lane_fail(fl_lane_t *lane, int status);

#endif
