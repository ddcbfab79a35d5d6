/* SPDX-License-Identifier: MIT
 * The states that an exploration has come across, by their hash. One program
 * has one such set.
 */
#ifndef MODEL_SEEN_H
#define MODEL_SEEN_H

#include <stdbool.h>
#include <stddef.h>

/* Adds a state of `size` bytes, a multiple of 8. True if it is new. That two
 * states of some millions have one hash of 64 bits is not to be expected. */
bool fl_seen_add(const void *state, size_t size);

size_t fl_seen_count(void);

/* Empties it; the memory goes too. */
void fl_seen_clear(void);

#endif
