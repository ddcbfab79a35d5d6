/* SPDX-License-Identifier: MIT
 * Scanners. memchr() is left to libc, which has vector versions of it; the
 * other loops are written so that the compiler makes vector code of a block.
 */
#include "scan.h"

#include <string.h>

/* Large enough to pay for a vector loop, small enough to leave early. */
enum { BLOCK = 64 };

const uint8_t *fl_scan_newline(const uint8_t *data, size_t n) {
  return n == 0 ? NULL : memchr(data, '\n', n);
}

bool fl_scan_is_ascii(const uint8_t *data, size_t n) {
  uint8_t seen = 0;

  while (n >= BLOCK) {
    for (size_t i = 0; i < BLOCK; i++) seen |= data[i];
    if (seen & 0x80) return false;
    data += BLOCK;
    n -= BLOCK;
  }
  for (size_t i = 0; i < n; i++) seen |= data[i];
  return (seen & 0x80) == 0;
}

static inline uint8_t is_special(uint8_t c) {
  return (uint8_t) ((c < 0x20) | (c == '"') | (c == '\\') | (c >= 0x80));
}

bool fl_scan_is_plain(const uint8_t *data, size_t n) {
  uint8_t seen = 0;

  while (n >= BLOCK) {
    for (size_t i = 0; i < BLOCK; i++) seen |= is_special(data[i]);
    if (seen) return false;
    data += BLOCK;
    n -= BLOCK;
  }
  for (size_t i = 0; i < n; i++) seen |= is_special(data[i]);
  return seen == 0;
}
