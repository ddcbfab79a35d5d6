/* SPDX-License-Identifier: MIT
 * What a lane sends: messages to records, and those that wait for room.
 */
#include <string.h>

#include "../core/status.h"
#include "lane_inner.h"
#include "wake.h"

/* A part is small enough for both sides to work at once on one message. */
enum { PART_MAX = 64 * 1024 };

/* While more than PATIENT_ABOVE bytes wait and the other side is reading, a
 * turn stays with them for up to FLUSH_MAX bytes: coming back for each bit of
 * room would cost a turn each, however long a turn is. */
enum { PATIENT_ABOVE = 256 * 1024, FLUSH_MAX = 16 * 1024 * 1024 };
enum { PATIENCE_MS = 1 };

static bool can_send(const fl_lane_t *lane) {
  return lane->status == FL_OK && !lane->closing;
}

void fl_lane_retell(fl_lane_t *lane) {
  lane->has_published = true;
  fl__lane_stay_awake(lane);
}

bool fl_lane_should_pause(fl_lane_t *lane) {
  if (lane->turn_bytes < 2 * lane->segment.ring_size) return false;
  lane->turn_bytes = 0;
  return true;
}

size_t fl_lane_waiting(const fl_lane_t *lane) {
  return lane->outbox.size;
}

uint8_t *fl_lane_reserve(fl_lane_t *lane, size_t len) {
  int64_t space;

  if (lane->outbox.size > 0) fl_lane_flush(lane);
  if (lane->outbox.size > 0 || lane->reserved || len > lane->record_max ||
      !can_send(lane))
    return NULL;
  space = fl_ring_space(&lane->producer, fl_record_size(len));
  if (space < 0) (void) fl__lane_fail(lane, (int) space);
  if (space < (int64_t) fl_record_size(len)) return NULL;
  lane->reserved = true;
  return fl_ring_payload(&lane->producer);
}

size_t fl_lane_reserved(const fl_lane_t *lane) {
  const fl_ring_producer_t *p = &lane->producer;
  size_t room = p->size - (size_t) (p->head - p->tail) - FL_RECORD_HEADER;

  return room < lane->record_max ? room : lane->record_max;
}

void fl_lane_cancel(fl_lane_t *lane) {
  lane->reserved = false;
  if (lane->outbox.size > 0) fl_lane_flush(lane);
}

/* Puts records into the outbox. */
static int queue(fl_lane_t *lane, fl_bytes_t *frame, size_t from) {
  int rc = fl_outbox_push(&lane->outbox, frame, from);

  if (rc == FL_OK) {
    lane->sent++;
    lane->asked = true;
    /* Until it has left, as a write does under Node. */
    uv_ref((uv_handle_t *) &lane->poll);
  }
  return rc;
}

static int queue_copy(fl_lane_t *lane, fl_kind_t kind, const uint8_t *data,
                      size_t len) {
  fl_bytes_t frame = FL_BYTES_INIT;
  int rc = fl_bytes_reserve(&frame, FL_LANE_RESERVE + len, SIZE_MAX);

  if (rc != FL_OK) return rc;
  frame.len = FL_LANE_RESERVE;
  rc = fl_bytes_append(&frame, data, len, SIZE_MAX);
  if (rc == FL_OK) rc = fl_lane_push(lane, kind, &frame);
  fl_bytes_destroy(&frame);
  return rc;
}

static void published(fl_lane_t *lane, size_t size) {
  uint64_t now = uv_now(lane->poll.loop);

  if (now != lane->turn_ms) {
    lane->turn_ms = now;
    lane->turn_bytes = 0;
  }
  lane->turn_bytes += size;
  lane->sent++;
  lane->published++;
  lane->asked = true;
}

int fl_lane_commit(fl_lane_t *lane, fl_kind_t kind, size_t len) {
  lane->reserved = false;
  if (!can_send(lane)) return FL_OK;
  /* What was sent while this one was made waits, and is first. */
  if (lane->outbox.size > 0)
    return queue_copy(lane, kind, fl_ring_payload(&lane->producer), len);
  if (fl_ring_publish(&lane->producer, (uint8_t) kind, (uint32_t) len))
    fl_wake_signal(lane->signal_fd);
  published(lane, fl_record_size(len));
  return FL_OK;
}

int fl_lane_send_immediate(fl_lane_t *lane, fl_kind_t kind, uint32_t word) {
  fl_bytes_t frame = FL_BYTES_INIT;
  uint8_t record[FL_RECORD_HEADER];
  int rc;

  if (!can_send(lane)) return FL_OK;
  if (fl_lane_reserve(lane, 0) != NULL) {
    lane->reserved = false;
    if (fl_ring_publish_immediate(&lane->producer, (uint8_t) kind, word))
      fl_wake_signal(lane->signal_fd);
    published(lane, FL_RECORD_HEADER);
    return FL_OK;
  }
  fl_record_put_header(record, word, (uint8_t) kind, FL_RECORD_IMMEDIATE);
  rc = fl_bytes_append(&frame, record, sizeof(record), SIZE_MAX);
  if (rc == FL_OK) rc = queue(lane, &frame, 0);
  fl_bytes_destroy(&frame);
  return rc;
}

int fl_lane_push(fl_lane_t *lane, fl_kind_t kind, fl_bytes_t *frame) {
  size_t len = frame->len - FL_LANE_RESERVE;
  size_t padding = fl_record_size(len) - FL_RECORD_HEADER - len;
  size_t from;
  int rc;

  if (!can_send(lane)) return FL_OK;
  if (len > lane->record_max) {
    fl_begin_t begin = {.total = len, .kind = (uint8_t) kind};
    fl_record_put_header(frame->base, sizeof(begin), FL_KIND_BEGIN, 0);
    memcpy(frame->base + FL_RECORD_HEADER, &begin, sizeof(begin));
    from = 0;
  } else {
    static const uint8_t ZERO[FL_RECORD_ALIGN];
    rc = fl_bytes_append(frame, ZERO, padding, SIZE_MAX);
    if (rc != FL_OK) return rc;
    from = FL_LANE_RESERVE - FL_RECORD_HEADER;
    fl_record_put_header(frame->base + from, (uint32_t) len, (uint8_t) kind, 0);
  }
  rc = queue(lane, frame, from);
  if (rc == FL_OK) fl_lane_flush(lane);
  return rc;
}

/* The size of the record that begins with these bytes of the outbox. */
static size_t record_size_at(const uint8_t *record) {
  uint32_t word;

  if (record[5] & FL_RECORD_IMMEDIATE) return FL_RECORD_HEADER;
  memcpy(&word, record, sizeof(word));
  return fl_record_size(word);
}

/* The length of the next part of `left` bytes. */
static size_t next_part(const fl_lane_t *lane, size_t left) {
  size_t part = PART_MAX < lane->record_max ? PART_MAX : lane->record_max;

  return left < part ? left : part;
}

/* The same, of the `len` bytes at the front of the outbox. */
static size_t next_raw(const fl_lane_t *lane, size_t len) {
  return next_part(lane, lane->raw_left < len ? (size_t) lane->raw_left : len);
}

/* What has to fit into the ring next. */
static size_t next_size(const fl_lane_t *lane) {
  size_t len;
  const uint8_t *front = fl_outbox_front(&lane->outbox, &len);

  return lane->raw_left == 0 ? record_size_at(front)
                             : fl_record_size(next_raw(lane, len));
}

/* A message that waited is in the ring. Who waits for that is told in the loop,
 * wherever this happens. */
static void published_waiting(fl_lane_t *lane) {
  lane->published++;
  fl_lane_retell(lane);
}

/* Publishes the front of the outbox if there is room. Bytes of it that left. */
static size_t publish_front(fl_lane_t *lane) {
  size_t len;
  const uint8_t *front = fl_outbox_front(&lane->outbox, &len);
  size_t size = next_size(lane);
  int64_t space = fl_ring_space(&lane->producer, size);
  bool wake;

  if (space < 0) (void) fl__lane_fail(lane, (int) space);
  if (space < (int64_t) size) return 0;

  if (lane->raw_left > 0) {
    size = next_raw(lane, len);
    memcpy(fl_ring_payload(&lane->producer), front, size);
    wake = fl_ring_publish(&lane->producer, FL_KIND_PART, (uint32_t) size);
    lane->raw_left -= size;
    if (lane->raw_left == 0) published_waiting(lane);
  } else {
    wake = fl_ring_publish_raw(&lane->producer, front, size);
    if (front[4] == FL_KIND_BEGIN) {
      fl_begin_t begin;
      memcpy(&begin, front + FL_RECORD_HEADER, sizeof(begin));
      lane->raw_left = begin.total;
    } else {
      published_waiting(lane);
    }
  }
  if (wake) fl_wake_signal(lane->signal_fd);
  fl_outbox_drop(&lane->outbox, size);
  return size;
}

static size_t publish_some(fl_lane_t *lane, size_t max) {
  size_t written = 0;

  while (lane->outbox.size > 0 && written < max && can_send(lane)) {
    size_t n = publish_front(lane);
    if (n == 0) break;
    written += n;
  }
  return written;
}

/* Waits until there is room, unless the other side does not read right now, or
 * waits for us to read. */
static bool wait_for_room(fl_lane_t *lane, size_t size) {
  uint64_t deadline = uv_hrtime() + FL__LANE_PART_NS;

  if (fl_lane_is_readable(lane)) return false;
  /* One that made no room last time is not waited for again until it does. */
  if (lane->stalled && fl_ring_space(&lane->producer, size) < (int64_t) size &&
      lane->producer.tail == lane->stalled_at)
    return false;
  lane->stalled = false;

  do {
    int64_t space = fl_ring_space(&lane->producer, size);
    if (space < 0 || space >= (int64_t) size) return space > 0;
    for (int i = 0; i < 32; i++) fl__lane_relax();
  } while (lane->may_spin && uv_hrtime() < deadline);

  /* What was asked before is asked anew: whether it was answered does not show.
   */
  lane->hungry = false;
  if (!fl_ring_await_space(&lane->producer, size)) return true;
  (void) fl_wake_wait(lane->poll_fd, -1, PATIENCE_MS);
  fl_wake_clear(lane->poll_fd);
  /* That may have been the signal for something to read. */
  fl__lane_stay_awake(lane);
  if (fl_ring_space(&lane->producer, size) >= (int64_t) size) return true;
  lane->stalled = true;
  lane->stalled_at = lane->producer.tail;
  return false;
}

bool fl_lane_begin(fl_lane_t *lane, fl_kind_t kind, size_t len) {
  fl_begin_t begin = {.total = len, .kind = (uint8_t) kind};
  uint8_t *at = fl_lane_reserve(lane, sizeof(begin));

  if (at == NULL) return false;
  memcpy(at, &begin, sizeof(begin));
  lane->reserved = false;
  if (fl_ring_publish(&lane->producer, FL_KIND_BEGIN, sizeof(begin)))
    fl_wake_signal(lane->signal_fd);
  lane->flushed = 0;
  return true;
}

uint8_t *fl_lane_part(fl_lane_t *lane, size_t left, size_t *len) {
  size_t size;

  *len = next_part(lane, left);
  size = fl_record_size(*len);
  if (lane->flushed >= FLUSH_MAX || !can_send(lane)) return NULL;
  if (fl_ring_space(&lane->producer, size) < (int64_t) size &&
      (left < PATIENT_ABOVE || !wait_for_room(lane, size)))
    return NULL;
  return fl_ring_payload(&lane->producer);
}

void fl_lane_end_part(fl_lane_t *lane, size_t len, bool is_last) {
  if (fl_ring_publish(&lane->producer, FL_KIND_PART, (uint32_t) len))
    fl_wake_signal(lane->signal_fd);
  lane->flushed += len;
  if (is_last) published(lane, lane->flushed);
}

int fl_lane_push_rest(fl_lane_t *lane, fl_bytes_t *rest) {
  size_t len = rest->len;
  int rc = queue(lane, rest, 0);

  if (rc != FL_OK) return fl__lane_fail(lane, rc);
  lane->raw_left = len;
  fl_lane_flush(lane);
  return FL_OK;
}

void fl_lane_flush(fl_lane_t *lane) {
  size_t written = 0;

  if (lane->reserved) return;
  while (lane->outbox.size > 0 && can_send(lane)) {
    written += publish_some(lane, FLUSH_MAX - written);
    if (lane->outbox.size == 0) return;
    if (lane->outbox.size < PATIENT_ABOVE || written >= FLUSH_MAX ||
        !wait_for_room(lane, next_size(lane)))
      break;
  }
  if (lane->outbox.size == 0 || lane->hungry || !can_send(lane)) return;
  lane->hungry = fl_ring_await_space(&lane->producer, next_size(lane));
  /* Room has come meanwhile: it is used in the next turn. */
  if (!lane->hungry) fl__lane_stay_awake(lane);
}

bool fl_lane_flush_at_exit(fl_lane_t *lane, bool *moved) {
  uint64_t tail = lane->producer.tail;

  lane->reserved = false; /* whoever was making it does not go on */
  if (!can_send(lane) || lane->outbox.size == 0) return false;
  (void) publish_some(lane, SIZE_MAX);
  if (lane->producer.tail != tail) *moved = true;
  if (lane->outbox.size == 0 || !can_send(lane)) return false;
  return fl_wake_wait(lane->poll_fd, lane->socket_fd, 0);
}

void fl_lane_signal(fl_lane_t *lane) {
  fl_wake_signal(lane->signal_fd);
}

uint64_t fl_lane_progress(fl_lane_t *lane) {
  (void) fl_ring_space(&lane->producer, lane->segment.ring_size);
  return lane->producer.head + lane->producer.tail + lane->consumer.tail;
}

int fl_lane_abandon(fl_lane_t *lane) {
  return fl__lane_fail(lane, FL_ENOMEM);
}
