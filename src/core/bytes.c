/* SPDX-License-Identifier: MIT
 * A growable run of bytes.
 */
#include "bytes.h"

#include <string.h>

#include "alloc.h"
#include "status.h"

enum { FL_BYTES_MIN_CAP = 256 };

int fl_bytes_reserve(fl_bytes_t *b, size_t more, size_t limit) {
  size_t want;
  size_t cap;
  uint8_t *base;

  if (more <= b->cap - b->len) return FL_OK;
  if (more > SIZE_MAX - b->len) return FL_ENOMEM;
  want = b->len + more;

  cap = b->cap <= SIZE_MAX / 2 ? b->cap * 2 : SIZE_MAX;
  if (cap < FL_BYTES_MIN_CAP) cap = FL_BYTES_MIN_CAP;
  if (cap > limit) cap = limit;
  if (cap < want) cap = want;

  base = fl_realloc(b->base, cap);
  if (base == NULL) return FL_ENOMEM;
  b->base = base;
  b->cap = cap;
  return FL_OK;
}

int fl_bytes_append(fl_bytes_t *b, const void *data, size_t n, size_t limit) {
  int rc;

  if (n == 0) return FL_OK;
  rc = fl_bytes_reserve(b, n, limit);
  if (rc != FL_OK) return rc;
  memcpy(b->base + b->len, data, n);
  b->len += n;
  return FL_OK;
}

void fl_bytes_clear(fl_bytes_t *b, size_t keep) {
  b->len = 0;
  if (b->cap > keep) fl_bytes_destroy(b);
}

void fl_bytes_destroy(fl_bytes_t *b) {
  fl_free(b->base);
  b->base = NULL;
  b->len = 0;
  b->cap = 0;
}
