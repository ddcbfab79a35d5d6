/* SPDX-License-Identifier: MIT
 * Latin-1 to UTF-8.
 */
#include "latin1.h"

#include <stdint.h>

#include "scan.h"
#include "status.h"

int fl_latin1_to_utf8(fl_bytes_t *b, size_t start) {
  size_t len = b->len - start;
  size_t wide = 0;
  uint8_t *from;
  uint8_t *to;
  int rc;

  if (len == 0 || fl_scan_is_ascii(b->base + start, len)) return FL_OK;

  for (size_t i = 0; i < len; i++) wide += b->base[start + i] >> 7;
  rc = fl_bytes_reserve(b, wide, SIZE_MAX);
  if (rc != FL_OK) return rc;

  /* From the end, so that nothing is overwritten before it is read. */
  from = b->base + b->len;
  b->len += wide;
  to = b->base + b->len;
  while (from != to) {
    uint8_t c = *--from;
    if (c < 0x80) {
      *--to = c;
    } else {
      *--to = (uint8_t) (0x80 | (c & 0x3f));
      *--to = (uint8_t) (0xc0 | c >> 6);
    }
  }
  return FL_OK;
}
