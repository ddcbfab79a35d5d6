/* SPDX-License-Identifier: MIT
 * A set of hashes: open addressing, never more than half full.
 */
#include "seen.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MIN = 1 << 12 };

static uint64_t *places; /* 0 is a free one */
static size_t size;      /* a power of two */
static size_t count;

static uint64_t hash(const uint8_t *bytes, size_t n) {
  uint64_t sum = 1;

  for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
    uint64_t word;

    memcpy(&word, bytes + i, sizeof(word));
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    sum ^= sum >> 29;
  }
  return sum == 0 ? 1 : sum;
}

static bool add(uint64_t sum) {
  size_t at = (size_t) (sum >> 20) & (size - 1);

  while (places[at] != 0) {
    if (places[at] == sum) return false;
    at = (at + 1) & (size - 1);
  }
  places[at] = sum;
  count++;
  return true;
}

static void grow(void) {
  uint64_t *old = places;
  size_t n = size;

  size = n == 0 ? SIZE_MIN : 2 * n;
  places = calloc(size, sizeof(*places));
  if (places == NULL) abort();
  count = 0;
  for (size_t i = 0; i < n; i++)
    if (old[i] != 0) add(old[i]);
  free(old);
}

bool fl_seen_add(const void *state, size_t n) {
  if (2 * count >= size) grow();
  return add(hash(state, n));
}

size_t fl_seen_count(void) {
  return count;
}

void fl_seen_clear(void) {
  free(places);
  places = NULL;
  size = 0;
  count = 0;
}
