/* SPDX-License-Identifier: MIT
 *
 * One side of a channel in shared memory: a ring to write, a ring to read, the
 * two wakes, and the event loop that they run in. What does not fit into the
 * ring waits here, in order; what comes in parts is put together here.
 *
 * Everything runs on the thread of the loop.
 */
#ifndef FL_LANE_H
#define FL_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "../core/bytes.h"
#include "../core/outbox.h"
#include "../core/record.h"
#include "../core/ring.h"
#include "segment.h"

/* Bytes that a frame for fl_lane_push() keeps free before its payload: room for
 * the header of one record, or for a whole BEGIN. */
enum { FL_LANE_RESERVE = FL_RECORD_HEADER + sizeof(fl_begin_t) };

typedef struct fl_lane_s fl_lane_t;

/* One message, as fl_lane_next() gives it. */
typedef struct fl_message_s {
  fl_kind_t kind;      /* LATIN1 to CONSTANT, or HELLO */
  uint32_t word;       /* the value of INT32, CONSTANT, HELLO */
  const uint8_t *data; /* in shared memory, unless `owned` */
  size_t len;
  bool owned; /* it came in parts: `lane->assembly` holds it, in private memory
                 that may be taken over */
} fl_message_t;

struct fl_lane_s {
  fl_segment_t segment;
  fl_ring_producer_t producer;
  fl_ring_consumer_t consumer;
  int poll_fd;   /* ours to poll; -1 once closed */
  int signal_fd; /* wakes the other side */
  int lock_fd;   /* a child's segment, which holds its lock; else -1 */
  int socket_fd; /* the channel's; only to see that the other side is gone */
  uv_poll_t poll;
  uv_idle_t idle; /* runs while there is more to read than one turn may */
  int open_handles;
  bool closing;
  int status; /* FL_OK, or why nothing can be read or written any more */

  /* Out */
  size_t record_max;  /* largest payload of one record */
  fl_outbox_t outbox; /* records; behind a BEGIN, the bytes of its parts */
  uint64_t raw_left;  /* how many of those bytes still wait */
  uint64_t sent;      /* messages taken by send */
  uint64_t published; /* of these, the ones that are in the ring as a whole */
  size_t flushed;     /* bytes of the message that is being sent in parts */
  size_t turn_bytes;  /* sent in the turn of the loop that began at turn_ms */
  uint64_t turn_ms;
  bool has_published;  /* messages that waited: on_published() is due */
  bool reserved;       /* a record is being made in the ring */
  bool stalled;        /* the other side has made no room for a while: */
  uint64_t stalled_at; /* its tail then */
  bool hungry;         /* the other side was asked to tell when there is room */

  /* In */
  size_t message_max; /* bytes */
  uint32_t kinds;     /* bit (1 << kind) for each kind of value that may come */
  fl_bytes_t assembly;
  uint64_t assembly_total;
  fl_kind_t assembly_kind;
  bool assembling;
  bool joined; /* nothing but parts was read, at an end that another had before
                */
  bool has_record; /* `record` has to be dropped */
  fl_record_t record;
  bool paused;            /* at a SWITCH */
  uint32_t switch_wanted; /* the number of that one */
  uint32_t switch_seen;   /* the highest number seen on the socket */
  size_t budget_bytes;    /* what this turn may still read */
  size_t budget_messages;
  size_t unreleased; /* bytes dropped since the ring was released */
  bool asleep;       /* as this side has announced it */
  bool comes_back;   /* in the next turn of the loop, whatever happens */

  /* Spinning */
  bool may_spin;
  bool asked;          /* something was sent since the last message came */
  uint32_t spin_skip;  /* so many waits go without */
  uint32_t spin_price; /* what the next failure costs in waits */

  /* Called in the loop when there may be something to read: reads with
   * fl_lane_next() until that gives nothing. May close the lane. */
  void (*on_readable)(fl_lane_t *lane);
  /* Called in the loop when messages that waited were published. */
  void (*on_published)(fl_lane_t *lane);
  /* Called once, after fl_lane_close(): the lane's memory may go. */
  void (*on_closed)(fl_lane_t *lane);
  void *data;
};

typedef struct fl_lane_options_s {
  fl_side_t side;
  int segment_fd; /* a child's lane has it from a successful return on; else it
                     stays the caller's */
  int poll_fd;    /* the lane's, from a successful return on */
  int signal_fd;  /* likewise */
  int socket_fd;  /* stays the caller's, or -1 */
  size_t message_max; /* of a message that is received, in bytes */
  uint32_t kinds;     /* bit (1 << kind) for each kind of value that may come */
  bool may_spin;
} fl_lane_options_t;

/* Starts a lane; `lane` is zeroed memory that stays where it is until
 * on_closed(), with the three callbacks set. Its handles do not keep the loop
 * alive. FL_OK, FL_ECORRUPT, or a negative code of the system, with nothing
 * started and nothing taken. */
int fl_lane_open(fl_lane_t *lane, uv_loop_t *loop,
                 const fl_lane_options_t *options);

/* Ends it. Harmless when it is closing already. Nothing of what waits is sent:
 * see fl_lane_flush_at_exit(). */
void fl_lane_close(fl_lane_t *lane);

/* --- Sending --- */

/* Where a message of `len` bytes can be written at once, or NULL if it has to
 * be made in private memory. To be followed by fl_lane_commit() or
 * fl_lane_cancel(); what is sent in between goes first. */
uint8_t *fl_lane_reserve(fl_lane_t *lane, size_t len);

/* The room behind fl_lane_reserve(lane, 0), in bytes. */
size_t fl_lane_reserved(const fl_lane_t *lane);

/* Sends the `len` bytes that were written where fl_lane_reserve() said. FL_OK
 * or FL_ENOMEM (nothing is sent then). */
int fl_lane_commit(fl_lane_t *lane, fl_kind_t kind, size_t len);

void fl_lane_cancel(fl_lane_t *lane);

/* Sends a value that is in its record's header. FL_OK or FL_ENOMEM. */
int fl_lane_send_immediate(fl_lane_t *lane, fl_kind_t kind, uint32_t word);

/* Sends what stands in `frame` behind FL_LANE_RESERVE bytes of any content. The
 * frame's memory may be taken over: it is a valid empty value then. FL_OK or
 * FL_ENOMEM (nothing is sent then). */
int fl_lane_push(fl_lane_t *lane, fl_kind_t kind, fl_bytes_t *frame);

/* Begins a message of `len` bytes, more than a record can have, if it can go
 * into the ring right away: its bytes are written with fl_lane_part() in turn,
 * and what has no place is left to fl_lane_push_rest(). No JavaScript may run
 * in between. */
bool fl_lane_begin(fl_lane_t *lane, fl_kind_t kind, size_t len);

/* Where the next bytes are to be written, and how many of them, at most `left`;
 * NULL if there is no room, after a while. To be followed by
 * fl_lane_end_part() with that number. */
uint8_t *fl_lane_part(fl_lane_t *lane, size_t left, size_t *len);
void fl_lane_end_part(fl_lane_t *lane, size_t len, bool is_last);

/* Sends the rest of a message that was begun. The memory of `rest` may be taken
 * over. FL_OK; FL_ENOMEM, and nothing can be sent any more. */
int fl_lane_push_rest(fl_lane_t *lane, fl_bytes_t *rest);

/* Publishes what waits, as far as there is room. While much of it waits and the
 * other side reads, it is waited for, a while. */
void fl_lane_flush(fl_lane_t *lane);

/* Has on_published() called once more, in the next turn. */
void fl_lane_retell(fl_lane_t *lane);

/* Whether a sender should let its loop run, though nothing waits: true once for
 * each so many bytes, more than the ring and what may wait behind it, that were
 * sent in one turn. A receiver that keeps up would never make it stop else. */
bool fl_lane_should_pause(fl_lane_t *lane);

/* Bytes that wait. */
size_t fl_lane_waiting(const fl_lane_t *lane);

/* For the end of the process, outside of the loop: publishes what there is room
 * for. Whether more waits, and the other side is there; `*moved` is set if it
 * has read anything since the last call. */
bool fl_lane_flush_at_exit(fl_lane_t *lane, bool *moved);

/* Signals the other side, whether or not it has said that it sleeps: the
 * program before this one may have died before it could. */
void fl_lane_signal(fl_lane_t *lane);

/* A number that changes whenever one of the sides moves. */
uint64_t fl_lane_progress(fl_lane_t *lane);

/* Gives up a message that was begun, for want of memory: nothing can be sent
 * any more. FL_ENOMEM. */
int fl_lane_abandon(fl_lane_t *lane);

/* --- Receiving --- */

/* 1: `m` is the next message, valid until the next call. 0: nothing more for
 * now. Negative: FL_ECORRUPT, FL_ETOOLONG or FL_ENOMEM: the ring cannot be read
 * any more, and every later call returns the same. */
int fl_lane_next(fl_lane_t *lane, fl_message_t *m);

/* Makes fl_lane_next() give all that was published before this call, and no
 * more, whatever the share of one turn is. */
void fl_lane_read_all(fl_lane_t *lane);

/* The socket has brought the SWITCH of this number: reads on, in the next turn.
 */
void fl_lane_switched(fl_lane_t *lane, uint32_t number);

/* Whether there is anything that could be read now. */
bool fl_lane_is_readable(const fl_lane_t *lane);

#endif
