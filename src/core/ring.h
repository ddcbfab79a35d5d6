/* SPDX-License-Identifier: MIT
 *
 * A single-producer, single-consumer ring of records over memory that two
 * processes share (PROTOCOL.md, "The ring"). One thread produces, one consumes,
 * nobody locks.
 *
 * The two sides share a control block and a run of bytes of a power of two,
 * which is mapped twice in a row: a record that begins near the end of the ring
 * goes on in the second copy, so no record is ever split. `head` and `tail`
 * count the bytes that were ever written and read; both only grow.
 *
 *   fl_ring_shared_t        written by     offset
 *   +-------------------+
 *   | head      64 bits |   producer         0
 *   +-------------------+
 *   | tail      64 bits |   consumer        64
 *   +-------------------+
 *   | asleep    32 bits |   both           128   consumer wants to be woken
 *   +-------------------+
 *   | hungry    32 bits |   both           192   producer wants to be woken
 *   +-------------------+
 *
 * A record is padded to 8 bytes:
 *
 *   +----------------+------+-------+----------+---- ... ----+- ... -+
 *   |  word, 32 bits | kind | flags | reserved | payload     | 0..7  |
 *   +----------------+------+-------+----------+---- ... ----+- ... -+
 *     native endian    8 bits 8 bits  16 bits
 *
 * `word` is the length of the payload in bytes; a record of a kind that has
 * none keeps its value there instead (FL_RECORD_IMMEDIATE in `flags`).
 *
 * The other side's memory is input. A side keeps its own position privately and
 * never reads it back; it reads the other's once, checks it, and uses the copy.
 * After FL_ECORRUPT a side is of no use any more.
 */
#ifndef FL_RING_H
#define FL_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  FL_RING_LINE = 64,    /* bytes; no two fields share a cache line */
  FL_RECORD_HEADER = 8, /* bytes before the payload */
  FL_RECORD_ALIGN = 8
};

/* Flags of a record. */
enum { FL_RECORD_IMMEDIATE = 1 /* `word` is a value, there is no payload */ };

typedef struct fl_ring_shared_s {
  _Alignas(FL_RING_LINE) _Atomic uint64_t head;
  _Alignas(FL_RING_LINE) _Atomic uint64_t tail;
  _Alignas(FL_RING_LINE) _Atomic uint32_t asleep;
  _Alignas(FL_RING_LINE) _Atomic uint32_t hungry;
} fl_ring_shared_t;

typedef struct fl_ring_producer_s {
  fl_ring_shared_t *shared;
  uint8_t *data; /* `size` bytes, and the same again behind them */
  size_t size;   /* a power of two */
  uint64_t head; /* ours */
  uint64_t tail; /* theirs, as far as it has been looked at */
} fl_ring_producer_t;

typedef struct fl_ring_consumer_s {
  fl_ring_shared_t *shared;
  const uint8_t *data;
  size_t size;
  uint64_t tail; /* ours */
  uint64_t head; /* theirs, as far as it has been looked at */
} fl_ring_consumer_t;

/* What a consumer reads; `payload` is in the shared memory, and whatever the
 * other side makes of it until fl_ring_drop(). */
typedef struct fl_record_s {
  uint8_t kind;
  uint8_t flags;
  uint32_t word;          /* the value of an immediate record */
  const uint8_t *payload; /* NULL for an immediate record */
  size_t len;             /* bytes of the payload */
  size_t size;            /* bytes of the whole record in the ring */
} fl_record_t;

/* Bytes that a record with `len` bytes of payload takes in the ring. */
static inline size_t fl_record_size(size_t len) {
  return FL_RECORD_HEADER +
         ((len + FL_RECORD_ALIGN - 1) & ~(size_t) (FL_RECORD_ALIGN - 1));
}

/* Writes the FL_RECORD_HEADER bytes of a record's header. */
static inline void fl_record_put_header(uint8_t *to, uint32_t word,
                                        uint8_t kind, uint8_t flags) {
  memcpy(to, &word, sizeof(word));
  to[4] = kind;
  to[5] = flags;
  to[6] = 0;
  to[7] = 0;
}

/* The control block of a ring that nobody uses yet. The consumer counts as
 * asleep from the start, so that the first record wakes it. */
void fl_ring_format(fl_ring_shared_t *shared);

/* Takes one end of a ring, going on where the last user of that end left off.
 * The memory stays the caller's. FL_OK, or FL_ECORRUPT if the indices make no
 * sense. */
int fl_ring_producer_init(fl_ring_producer_t *p, fl_ring_shared_t *shared,
                          uint8_t *data, size_t size);
int fl_ring_consumer_init(fl_ring_consumer_t *c, fl_ring_shared_t *shared,
                          const uint8_t *data, size_t size);

/* --- Producer --- */

/* How many bytes of records fit, at least `wanted` if that is possible: looks
 * at the consumer's position only if fewer are known to fit. FL_ECORRUPT as a
 * negative result. */
int64_t fl_ring_space(fl_ring_producer_t *p, size_t wanted);

/* Where the payload of the next record goes. Writing more than fl_ring_space()
 * minus FL_RECORD_HEADER bytes there overwrites unread records. */
uint8_t *fl_ring_payload(const fl_ring_producer_t *p);

/* Publishes the record whose `len` bytes of payload stand at fl_ring_payload(),
 * as a whole: the consumer sees all of it or nothing. It must fit. True if the
 * consumer sleeps and is this call's to wake. */
bool fl_ring_publish(fl_ring_producer_t *p, uint8_t kind, uint32_t len);

/* Publishes a record without a payload. It must fit. Result as above. */
bool fl_ring_publish_immediate(fl_ring_producer_t *p, uint8_t kind,
                               uint32_t word);

/* Publishes `size` bytes of records in the form that they have in the ring.
 * They must fit. Result as above. */
bool fl_ring_publish_raw(fl_ring_producer_t *p, const uint8_t *records,
                         size_t size);

/* Asks to be woken when there is room again. False if there is enough for
 * `wanted` bytes already, or the ring is corrupt: then nobody will wake us. */
bool fl_ring_await_space(fl_ring_producer_t *p, size_t wanted);

/* --- Consumer --- */

/* 1: `r` is the next record, which stays until fl_ring_drop(). 0: there is
 * none. FL_ECORRUPT. */
int fl_ring_next(fl_ring_consumer_t *c, fl_record_t *r);

/* Goes past the record that fl_ring_next() gave. The producer does not see it
 * before fl_ring_release(). */
void fl_ring_drop(fl_ring_consumer_t *c, const fl_record_t *r);

/* Gives the memory of dropped records back. True if the producer waits for room
 * and is this call's to wake: there is half a ring of it, or all. */
bool fl_ring_release(fl_ring_consumer_t *c);

/* Whether there is something to read; a look at shared memory and no more. */
bool fl_ring_has_records(const fl_ring_consumer_t *c);

/* How many bytes of records there are to read, as far as that can be true. */
size_t fl_ring_unread(const fl_ring_consumer_t *c);

/* Announces that this side will not look until it is woken. False if there is a
 * record already: then it is awake. */
bool fl_ring_sleep(fl_ring_consumer_t *c);

/* Takes the announcement back. */
void fl_ring_awake(fl_ring_consumer_t *c);

#endif
