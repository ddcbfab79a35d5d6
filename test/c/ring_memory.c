/* SPDX-License-Identifier: MIT
 * Memory for the rings of the tests.
 */
#include "ring_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void need(int condition, const char *what) {
  if (condition) return;
  perror(what);
  abort();
}

size_t fl_test_ring_page(void) {
  return (size_t) sysconf(_SC_PAGESIZE);
}

static int nameless_file(size_t size) {
  const char *directory = getenv("TMPDIR");
  char path[256];
  int n = snprintf(path, sizeof(path), "%s/forklane-ring-XXXXXX",
                   directory == NULL ? "/tmp" : directory);
  int fd;

  need(n > 0 && (size_t) n < sizeof(path), "TMPDIR");
  fd = mkstemp(path);
  need(fd >= 0, "mkstemp");
  need(unlink(path) == 0, "unlink");
  need(ftruncate(fd, (off_t) size) == 0, "ftruncate");
  return fd;
}

static void map_at(uint8_t *at, size_t size, int fd) {
  need(mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
           at,
       "mmap");
}

static void map_twice(fl_test_ring_t *r) {
  size_t page = fl_test_ring_page();
  int fd = nameless_file(r->size);

  r->mapping =
      mmap(NULL, 2 * r->size + 2 * page, PROT_NONE, MAP_PRIVATE, fd, 0);
  need(r->mapping != MAP_FAILED, "mmap");
  r->data = (uint8_t *) r->mapping + page;
  map_at(r->data, r->size, fd);
  map_at(r->data + r->size, r->size, fd);
  close(fd);
}

void fl_test_ring_open(fl_test_ring_t *r, size_t size) {
  r->size = size;
  r->shared = aligned_alloc(FL_RING_LINE, sizeof(*r->shared));
  need(r->shared != NULL, "aligned_alloc");
  fl_ring_format(r->shared);
  if (size % fl_test_ring_page() == 0) {
    map_twice(r);
  } else {
    r->mapping = NULL;
    r->data = calloc(2, size);
    need(r->data != NULL, "calloc");
  }
}

void fl_test_ring_move(fl_test_ring_t *r, uint64_t position) {
  fl_ring_format(r->shared);
  atomic_store(&r->shared->head, position);
  atomic_store(&r->shared->tail, position);
}

void fl_test_ring_close(fl_test_ring_t *r) {
  if (r->mapping == NULL)
    free(r->data);
  else
    munmap(r->mapping, 2 * r->size + 2 * fl_test_ring_page());
  free(r->shared);
}

void fl_test_ring_header(uint8_t *at, uint32_t word, uint8_t kind,
                         uint8_t flags, uint16_t reserved) {
  memcpy(at, &word, sizeof(word));
  at[4] = kind;
  at[5] = flags;
  memcpy(at + 6, &reserved, sizeof(reserved));
}
