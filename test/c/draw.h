/* SPDX-License-Identifier: MIT
 * Random numbers that are the same in each run, for the tests and the fuzzers.
 */
#ifndef DRAW_H
#define DRAW_H

#include <stdint.h>

/* The next number of the sequence (Marsaglia's xorshift, 32 bits wide).
 * `*seed` is not 0. */
static inline uint32_t draw(uint32_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  *seed ^= *seed << 5;
  return *seed;
}

#endif
