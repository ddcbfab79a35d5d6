/* SPDX-License-Identifier: MIT
 * A memchr() that counts the bytes it looks at.
 */
#include "memchr_count.h"

#include <string.h>

size_t fl_test_memchr_bytes;

void *fl_test_memchr(const void *data, int c, size_t n) {
  char *found = memchr(data, c, n);
  fl_test_memchr_bytes +=
      found == NULL ? n : (size_t) (found - (const char *) data) + 1;
  return found;
}
