/* SPDX-License-Identifier: MIT
 * A channel in shared memory. What is sent is at the end of the file, what is
 * received in the middle, the loop at the beginning.
 */
#include "lane.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../core/status.h"
#include "wake.h"

/* The share of one turn of the loop, so that timers and sockets have theirs. */
enum { TURN_BYTES = 1024 * 1024, TURN_MESSAGES = 1024 };
static const uint64_t TURN_NS = 200 * 1000;

/* Room is given back in steps: each costs a cache line that the producer reads.
 */
enum { RELEASE_SHARE = 16 };

/* A part is small enough for both sides to work at once on one message. */
enum { PART_MAX = 64 * 1024 };

/* While more than PATIENT_ABOVE bytes wait and the other side is reading, a
 * turn stays with them for up to FLUSH_MAX bytes: coming back for each bit of
 * room would cost a turn each, however long a turn is. */
enum { PATIENT_ABOVE = 256 * 1024, FLUSH_MAX = 16 * 1024 * 1024 };
enum { PATIENCE_MS = 1 };

/* Waking a core that sleeps takes tens of microseconds on a virtual machine. A
 * receiver that has asked something, and had its last answers within the
 * window, looks for the next one so long before it sleeps. Each failure costs
 * twice as many waits without, so that what does not pay costs nothing. */
static const uint64_t SPIN_NS = 50 * 1000;
enum { SPIN_PRICE_MAX = 1023 };

/* Within a message that comes in parts the next one is surely under way. */
static const uint64_t SPIN_PART_NS = 20 * 1000;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void clear_assembly(fl_lane_t *lane) {
  fl_bytes_clear(&lane->assembly, 0);
  lane->assembling = false;
}

/* --- The loop --- */

static void stay_awake(fl_lane_t *lane);

static void wake_peer(fl_lane_t *lane) {
  fl_wake_signal(lane->signal_fd);
}

bool fl_lane_is_readable(const fl_lane_t *lane) {
  return lane->status == FL_OK && !lane->paused &&
         fl_ring_has_records(&lane->consumer);
}

static bool spin(const fl_lane_t *lane, uint64_t window) {
  uint64_t deadline = uv_hrtime() + window;

  do {
    for (int i = 0; i < 32; i++) {
      if (fl_ring_has_records(&lane->consumer)) return true;
      relax();
    }
  } while (uv_hrtime() < deadline);
  return false;
}

/* Looks for an answer, if that pays. */
static bool spin_for_answer(fl_lane_t *lane) {
  if (!lane->may_spin || !lane->asked || lane->paused) return false;
  if (lane->spin_skip > 0) {
    lane->spin_skip--;
    return false;
  }
  if (spin(lane, SPIN_NS)) {
    lane->spin_price = 0;
    return true;
  }
  if (lane->spin_price < SPIN_PRICE_MAX)
    lane->spin_price = 2 * lane->spin_price + 1;
  lane->spin_skip = lane->spin_price;
  return false;
}

static void process(fl_lane_t *lane) {
  uint64_t published = lane->published;
  uint64_t deadline = uv_hrtime() + TURN_NS;

  if (lane->asleep) {
    fl_ring_awake(&lane->consumer);
    lane->asleep = false;
  }
  fl_lane_flush(lane);
  if (lane->published != published) lane->on_published(lane);

  lane->budget_bytes = TURN_BYTES;
  lane->budget_messages = TURN_MESSAGES;
  do {
    if (lane->closing) return;
    lane->on_readable(lane);
    if (lane->closing) return;
    if (fl_lane_is_readable(lane)) {
      stay_awake(lane);
      return;
    }
  } while (spin_for_answer(lane) && uv_hrtime() < deadline);

  if (lane->status != FL_OK || lane->paused) {
    (void) uv_idle_stop(&lane->idle);
  } else if (fl_ring_sleep(&lane->consumer)) {
    lane->asleep = true;
    (void) uv_idle_stop(&lane->idle);
  } else {
    stay_awake(lane);
  }
}

static void on_poll(uv_poll_t *handle, int status, int events) {
  fl_lane_t *lane = handle->data;

  (void) events;
  if (status < 0) return;
  fl_wake_clear(lane->poll_fd);
  lane->hungry = false;
  process(lane);
}

static void on_idle(uv_idle_t *handle) {
  process(handle->data);
}

/* Comes back in the next turn of the loop, without a system call. */
static void stay_awake(fl_lane_t *lane) {
  if (!lane->closing) (void) uv_idle_start(&lane->idle, on_idle);
}

static void on_handle_closed(uv_handle_t *handle) {
  fl_lane_t *lane = handle->data;

  if (--lane->open_handles > 0) return;
  (void) close(lane->poll_fd);
  (void) close(lane->signal_fd);
  fl_segment_unmap(&lane->segment);
  fl_outbox_destroy(&lane->outbox);
  fl_bytes_destroy(&lane->assembly);
  lane->on_closed(lane);
}

int fl_lane_open(fl_lane_t *lane, uv_loop_t *loop,
                 const fl_lane_options_t *options) {
  int rc = fl_segment_map(&lane->segment, options->segment_fd, options->side);

  if (rc != FL_OK) return rc;
  rc = fl_ring_producer_init(&lane->producer, lane->segment.out_shared,
                             lane->segment.out, lane->segment.ring_size);
  if (rc == FL_OK)
    rc = fl_ring_consumer_init(&lane->consumer, lane->segment.in_shared,
                               lane->segment.in, lane->segment.ring_size);
  if (rc == FL_OK) rc = uv_poll_init(loop, &lane->poll, options->poll_fd);
  if (rc != FL_OK) {
    fl_segment_unmap(&lane->segment);
    return rc;
  }

  lane->poll_fd = options->poll_fd;
  lane->signal_fd = options->signal_fd;
  lane->socket_fd = options->socket_fd;
  lane->message_max = options->message_max;
  lane->kinds = options->kinds;
  lane->may_spin = options->may_spin;
  /* A child has them from its parent, and leaves them to nobody. */
  (void) fcntl(lane->poll_fd, F_SETFD, FD_CLOEXEC);
  (void) fcntl(lane->signal_fd, F_SETFD, FD_CLOEXEC);
  lane->record_max = lane->segment.ring_size / 4 - FL_RECORD_HEADER;
  lane->poll.data = lane;
  lane->idle.data = lane;
  lane->open_handles = 2;
  (void) uv_idle_init(loop, &lane->idle);
  (void) uv_poll_start(&lane->poll, UV_READABLE, on_poll);
  uv_unref((uv_handle_t *) &lane->poll);
  uv_unref((uv_handle_t *) &lane->idle);
  /* Another program may have had this end and slept, or not: look first. */
  stay_awake(lane);
  return FL_OK;
}

void fl_lane_close(fl_lane_t *lane) {
  if (lane->closing) return;
  lane->closing = true;
  uv_close((uv_handle_t *) &lane->poll, on_handle_closed);
  uv_close((uv_handle_t *) &lane->idle, on_handle_closed);
}

/* --- Receiving --- */

static void release(fl_lane_t *lane) {
  if (lane->unreleased == 0) return;
  lane->unreleased = 0;
  if (fl_ring_release(&lane->consumer)) wake_peer(lane);
}

static void drop_record(fl_lane_t *lane) {
  size_t size = lane->record.size;

  fl_ring_drop(&lane->consumer, &lane->record);
  lane->has_record = false;
  lane->unreleased += size;
  lane->budget_bytes -= size < lane->budget_bytes ? size : lane->budget_bytes;
  if (lane->unreleased >= lane->segment.ring_size / RELEASE_SHARE)
    release(lane);
}

static bool is_value(uint8_t kind) {
  return kind >= FL_KIND_LATIN1 && kind <= FL_KIND_CONSTANT;
}

/* The kinds whose values may be too large for one record. */
static bool is_bytes(uint8_t kind) {
  return kind >= FL_KIND_LATIN1 && kind <= FL_KIND_V8;
}

static bool is_utf16(uint8_t kind) {
  return kind == FL_KIND_UTF16 || kind == FL_KIND_JSON_UTF16;
}

static bool may_come(const fl_lane_t *lane, uint8_t kind) {
  return is_value(kind) && (lane->kinds & (1u << kind)) != 0;
}

static int check_length(const fl_lane_t *lane, uint8_t kind, uint64_t len) {
  if (is_utf16(kind) && len % 2 != 0) return FL_ECORRUPT;
  return len <= lane->message_max ? FL_OK : FL_ETOOLONG;
}

static int begin_assembly(fl_lane_t *lane, const fl_record_t *r) {
  fl_begin_t begin;
  int rc;

  if (lane->assembling || r->len != sizeof(begin)) return FL_ECORRUPT;
  memcpy(&begin, r->payload, sizeof(begin));
  if (!may_come(lane, begin.kind) || !is_bytes(begin.kind) || begin.total == 0)
    return FL_ECORRUPT;
  rc = check_length(lane, begin.kind, begin.total);
  if (rc != FL_OK) return rc;
  lane->assembling = true;
  lane->assembly_kind = (fl_kind_t) begin.kind;
  lane->assembly_total = begin.total;
  return FL_OK;
}

/* 1 if that was the last part. Memory grows with what comes, not with what was
 * announced. */
static int add_part(fl_lane_t *lane, const fl_record_t *r) {
  fl_bytes_t *b = &lane->assembly;

  if (!lane->assembling || r->len == 0 ||
      r->len > lane->assembly_total - b->len)
    return FL_ECORRUPT;
  if (fl_bytes_append(b, r->payload, r->len, (size_t) lane->assembly_total) !=
      FL_OK)
    return FL_ENOMEM;
  return b->len == lane->assembly_total;
}

/* 1 if the record is a value. */
static int take_value(fl_lane_t *lane, const fl_record_t *r, fl_message_t *m) {
  bool has_payload = r->kind != FL_KIND_INT32 && r->kind != FL_KIND_CONSTANT;
  int rc;

  if (lane->assembling || !may_come(lane, r->kind) ||
      has_payload != (r->payload != NULL))
    return FL_ECORRUPT;
  if (r->kind == FL_KIND_DOUBLE && r->len != sizeof(double)) return FL_ECORRUPT;
  if (r->kind == FL_KIND_CONSTANT && r->word > FL_CONSTANT_TRUE)
    return FL_ECORRUPT;
  rc = check_length(lane, r->kind, r->len);
  if (rc != FL_OK) return rc;
  *m = (fl_message_t){(fl_kind_t) r->kind, r->word, r->payload, r->len, false};
  return 1;
}

static int take_record(fl_lane_t *lane, fl_message_t *m) {
  const fl_record_t *r = &lane->record;
  int rc;

  switch (r->kind) {
    case FL_KIND_BEGIN:
      return r->payload == NULL ? FL_ECORRUPT : begin_assembly(lane, r);
    case FL_KIND_PART:
      rc = r->payload == NULL ? FL_ECORRUPT : add_part(lane, r);
      if (rc == 1) {
        lane->assembling = false;
        *m = (fl_message_t){lane->assembly_kind, 0, lane->assembly.base,
                            lane->assembly.len, true};
      }
      return rc;
    case FL_KIND_HELLO:
      if (r->payload != NULL) return FL_ECORRUPT;
      clear_assembly(lane);
      *m = (fl_message_t){FL_KIND_HELLO, r->word, NULL, 0, false};
      return 1;
    case FL_KIND_SWITCH:
      if (r->payload != NULL || lane->assembling) return FL_ECORRUPT;
      lane->switch_wanted = r->word;
      lane->paused = r->word > lane->switch_seen;
      return FL_OK;
    default:
      return take_value(lane, r, m);
  }
}

static int fail(fl_lane_t *lane, int status) {
  lane->status = status;
  fl_bytes_destroy(&lane->assembly);
  return status;
}

int fl_lane_next(fl_lane_t *lane, fl_message_t *m) {
  int rc;

  if (lane->has_record) drop_record(lane);
  /* What was put together has been taken over, or is not needed any more. */
  if (!lane->assembling) clear_assembly(lane);
  if (lane->status != FL_OK) return lane->status;

  while (!lane->paused && lane->budget_bytes > 0 && lane->budget_messages > 0) {
    rc = fl_ring_next(&lane->consumer, &lane->record);
    if (rc == 0 && lane->assembling && lane->may_spin) {
      release(lane);
      if (spin(lane, SPIN_PART_NS)) continue;
    }
    if (rc == 0) break;
    if (rc > 0) {
      lane->has_record = true;
      rc = take_record(lane, m);
    }
    if (rc < 0) return fail(lane, rc);
    if (rc == 1) {
      lane->asked = false;
      lane->budget_messages--;
      return 1;
    }
    drop_record(lane);
  }
  release(lane);
  return 0;
}

void fl_lane_read_all(fl_lane_t *lane) {
  lane->budget_bytes = fl_ring_unread(&lane->consumer);
  lane->budget_messages = SIZE_MAX;
}

void fl_lane_switched(fl_lane_t *lane, uint32_t number) {
  if (number > lane->switch_seen) lane->switch_seen = number;
  if (lane->paused && lane->switch_wanted <= lane->switch_seen) {
    lane->paused = false;
    stay_awake(lane);
  }
}

/* --- Sending --- */

static bool can_send(const fl_lane_t *lane) {
  return lane->status == FL_OK && !lane->closing;
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
  if (space < 0) (void) fail(lane, (int) space);
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

static void put_record_header(uint8_t *to, fl_kind_t kind, uint8_t flags,
                              uint32_t word) {
  memcpy(to, &word, sizeof(word));
  to[4] = (uint8_t) kind;
  to[5] = flags;
  to[6] = 0;
  to[7] = 0;
}

/* Puts records into the outbox. */
static int queue(fl_lane_t *lane, fl_bytes_t *frame, size_t from) {
  int rc = fl_outbox_push(&lane->outbox, frame, from);

  if (rc == FL_OK) {
    lane->sent++;
    lane->asked = true;
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

static void published(fl_lane_t *lane) {
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
    wake_peer(lane);
  published(lane);
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
      wake_peer(lane);
    published(lane);
    return FL_OK;
  }
  put_record_header(record, kind, FL_RECORD_IMMEDIATE, word);
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
    put_record_header(frame->base, FL_KIND_BEGIN, 0, sizeof(begin));
    memcpy(frame->base + FL_RECORD_HEADER, &begin, sizeof(begin));
    from = 0;
  } else {
    static const uint8_t ZERO[FL_RECORD_ALIGN];
    rc = fl_bytes_append(frame, ZERO, padding, SIZE_MAX);
    if (rc != FL_OK) return rc;
    from = FL_LANE_RESERVE - FL_RECORD_HEADER;
    put_record_header(frame->base + from, kind, 0, (uint32_t) len);
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

/* Publishes the front of the outbox if there is room. Bytes of it that left. */
static size_t publish_front(fl_lane_t *lane) {
  size_t len;
  const uint8_t *front = fl_outbox_front(&lane->outbox, &len);
  size_t size = next_size(lane);
  int64_t space = fl_ring_space(&lane->producer, size);
  bool wake;

  if (space < 0) (void) fail(lane, (int) space);
  if (space < (int64_t) size) return 0;

  if (lane->raw_left > 0) {
    size = next_raw(lane, len);
    memcpy(fl_ring_payload(&lane->producer), front, size);
    wake = fl_ring_publish(&lane->producer, FL_KIND_PART, (uint32_t) size);
    lane->raw_left -= size;
    if (lane->raw_left == 0) lane->published++;
  } else {
    wake = fl_ring_publish_raw(&lane->producer, front, size);
    if (front[4] == FL_KIND_BEGIN) {
      fl_begin_t begin;
      memcpy(&begin, front + FL_RECORD_HEADER, sizeof(begin));
      lane->raw_left = begin.total;
    } else {
      lane->published++;
    }
  }
  if (wake) wake_peer(lane);
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
  uint64_t deadline = uv_hrtime() + SPIN_PART_NS;

  if (fl_lane_is_readable(lane)) return false;

  do {
    int64_t space = fl_ring_space(&lane->producer, size);
    if (space < 0 || space >= (int64_t) size) return space > 0;
    for (int i = 0; i < 32; i++) relax();
  } while (lane->may_spin && uv_hrtime() < deadline);

  /* What was asked before is asked anew: whether it was answered does not show.
   */
  lane->hungry = false;
  if (!fl_ring_await_space(&lane->producer, size)) return true;
  (void) fl_wake_wait(lane->poll_fd, -1, PATIENCE_MS);
  fl_wake_clear(lane->poll_fd);
  /* That may have been the signal for something to read. */
  stay_awake(lane);
  return fl_ring_space(&lane->producer, size) >= (int64_t) size;
}

bool fl_lane_begin(fl_lane_t *lane, fl_kind_t kind, size_t len) {
  fl_begin_t begin = {.total = len, .kind = (uint8_t) kind};
  uint8_t *at = fl_lane_reserve(lane, sizeof(begin));

  if (at == NULL) return false;
  memcpy(at, &begin, sizeof(begin));
  lane->reserved = false;
  if (fl_ring_publish(&lane->producer, FL_KIND_BEGIN, sizeof(begin)))
    wake_peer(lane);
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
    wake_peer(lane);
  lane->flushed += len;
  if (is_last) published(lane);
}

int fl_lane_push_rest(fl_lane_t *lane, fl_bytes_t *rest) {
  size_t len = rest->len;
  int rc = queue(lane, rest, 0);

  if (rc != FL_OK) return fail(lane, rc);
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
  if (!lane->hungry) stay_awake(lane);
}

void fl_lane_flush_at_exit(fl_lane_t *lane, int stall_ms) {
  enum { SLICE_MS = 100 };
  uint64_t tail = lane->producer.tail;
  int left = stall_ms;

  lane->reserved = false; /* whoever was making it does not go on */
  while (can_send(lane) && lane->outbox.size > 0) {
    (void) publish_some(lane, SIZE_MAX);
    if (lane->outbox.size == 0 || !can_send(lane)) return;
    if (lane->producer.tail != tail) {
      tail = lane->producer.tail;
      left = stall_ms;
    }
    if (!fl_ring_await_space(&lane->producer, next_size(lane))) continue;
    if (left <= 0) return;
    if (!fl_wake_wait(lane->poll_fd, lane->socket_fd, SLICE_MS)) return;
    fl_wake_clear(lane->poll_fd);
    left -= SLICE_MS;
  }
}
