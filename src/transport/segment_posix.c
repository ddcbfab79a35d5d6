/* SPDX-License-Identifier: MIT
 * Shared memory on POSIX systems: a sealed memfd on Linux, elsewhere (and with
 * FL_GENERIC_POSIX) a shared-memory object whose name is gone at once.
 */
#if defined(__linux__) && !defined(FL_GENERIC_POSIX)
#define FL_MEMFD 1
#else
#define FL_MEMFD 0
#endif

#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/status.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

static const char MAGIC[8] = {'f', 'o', 'r', 'k', 'l', 'a', 'n', 'e'};

typedef struct header_s {
  char magic[8];
  uint32_t version;
  uint32_t header_size;
  uint64_t ring_size;
  _Alignas(256) fl_ring_shared_t rings[2];
} header_t;

_Static_assert(offsetof(header_t, ring_size) == 16,
               "the header as it is drawn");
_Static_assert(offsetof(header_t, rings) == 256, "the header as it is drawn");
_Static_assert(sizeof(fl_ring_shared_t) == 256, "the rings as they are drawn");
_Static_assert(sizeof(header_t) <= 4096, "the header fits the smallest page");

static bool is_ring_size(uint64_t size, size_t page) {
  return size >= FL_SEGMENT_RING_MIN && size <= FL_SEGMENT_RING_MAX &&
         size >= page && (size & (size - 1)) == 0;
}

static size_t page_size(void) {
  return (size_t) sysconf(_SC_PAGESIZE);
}

#if FL_MEMFD

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static int make_object(size_t size) {
  int fd = memfd_create("forklane", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  if (fd < 0) return -errno;
  if (ftruncate(fd, (off_t) size) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
    return fd;
  int rc = -errno;
  (void) close(fd);
  return rc;
}

/* Memory that could shrink would be a SIGBUS for whoever reads it. */
static bool cannot_shrink(int fd) {
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & SEALS) == SEALS;
}

#else

static int make_object(size_t size) {
  static _Atomic unsigned counter;
  char name[64];
  int fd;
  int rc;

  /* The name lives for two system calls; whoever has it has to try the next. */
  do {
    (void) snprintf(name, sizeof(name), "/forklane-%ld-%u", (long) getpid(),
                    atomic_fetch_add(&counter, 1));
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0) return -errno;
  (void) shm_unlink(name);
  (void) fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (ftruncate(fd, (off_t) size) != 0) {
    rc = -errno;
  } else {
#if defined(__APPLE__)
    rc = 0;
#else
    /* A full file system would show as SIGBUS at the first use of a page. */
    do rc = -posix_fallocate(fd, 0, (off_t) size);
    while (rc == -EINTR);
#endif
  }
  if (rc == 0) return fd;
  (void) close(fd);
  return rc;
}

/* There is no such promise here: the other side is trusted not to shrink it. */
static bool cannot_shrink(int fd) {
  (void) fd;
  return true;
}

#endif

int fl_segment_create(size_t ring_size, int *fd) {
  size_t page = page_size();
  header_t *header;
  int rc;

  if (!is_ring_size(ring_size, page)) return FL_ECORRUPT;
  rc = make_object(page + 2 * ring_size);
  if (rc < 0) return rc;
  *fd = rc;
  header = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
  if (header == MAP_FAILED) {
    rc = -errno;
    (void) close(*fd);
    return rc;
  }
  memcpy(header->magic, MAGIC, sizeof(MAGIC));
  header->version = FL_SEGMENT_VERSION;
  header->header_size = (uint32_t) page;
  header->ring_size = ring_size;
  fl_ring_format(&header->rings[0]);
  fl_ring_format(&header->rings[1]);
  (void) munmap(header, page);
  return FL_OK;
}

static bool map_at(uint8_t *at, size_t size, int protection, int fd,
                   size_t offset) {
  return mmap(at, size, protection, MAP_SHARED | MAP_FIXED, fd,
              (off_t) offset) != MAP_FAILED;
}

int fl_segment_map(fl_segment_t *segment, int fd, fl_side_t side) {
  size_t page = page_size();
  struct stat st;
  header_t *header;
  uint64_t ring_size;
  uint8_t *base;
  size_t mapped;
  size_t size;
  int rc = FL_ECORRUPT;

  memset(segment, 0, sizeof(*segment));
  if (fstat(fd, &st) != 0) return -errno;
  if (!cannot_shrink(fd) || st.st_size < (off_t) page) return FL_ECORRUPT;
  header = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (header == MAP_FAILED) return -errno;
  ring_size = *(volatile uint64_t *) &header->ring_size;
  if (memcmp(header->magic, MAGIC, sizeof(MAGIC)) != 0 ||
      header->version != FL_SEGMENT_VERSION || header->header_size != page ||
      !is_ring_size(ring_size, page) ||
      (uint64_t) st.st_size < page + 2 * ring_size) {
    (void) munmap(header, page);
    return rc;
  }
  (void) munmap(header, page);

  /* One reservation holds it all: the header, then each ring twice. */
  size = (size_t) ring_size;
  mapped = page + 4 * size;
  base = mmap(NULL, mapped, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return -errno;
  for (int ring = 0; ring < 2; ring++) {
    bool is_ours = ring == (int) side;
    int protection = is_ours ? PROT_READ | PROT_WRITE : PROT_READ;
    uint8_t *at = base + page + (size_t) ring * 2 * size;
    size_t offset = page + (size_t) ring * size;
    if (!map_at(at, size, protection, fd, offset) ||
        !map_at(at + size, size, protection, fd, offset))
      goto failed;
  }
  if (!map_at(base, page, PROT_READ | PROT_WRITE, fd, 0)) goto failed;

  header = (header_t *) (void *) base;
  *segment = (fl_segment_t){
      .base = base,
      .mapped = mapped,
      .ring_size = size,
      .out_shared = &header->rings[side],
      .in_shared = &header->rings[1 - side],
      .out = base + page + (size_t) side * 2 * size,
      .in = base + page + (size_t) (1 - side) * 2 * size,
  };
  return FL_OK;

failed:
  rc = -errno;
  (void) munmap(base, mapped);
  return rc;
}

void fl_segment_unmap(fl_segment_t *segment) {
  if (segment->base != NULL) (void) munmap(segment->base, segment->mapped);
  memset(segment, 0, sizeof(*segment));
}
