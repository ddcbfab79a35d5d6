/* SPDX-License-Identifier: MIT
 * The life of a lane, and its turns in the event loop.
 */
#include "lane.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../core/status.h"
#include "lane_inner.h"
#include "wake.h"

/* The share of one turn of the loop, so that timers and sockets have theirs. */
enum { TURN_BYTES = 512 * 1024, TURN_MESSAGES = 256 };
static const uint64_t TURN_NS = 200 * 1000;

/* Waking a core that sleeps takes tens of microseconds on a virtual machine. A
 * receiver that has asked something, and had its last answers within the
 * window, looks for the next one so long before it sleeps. Each failure costs
 * twice as many waits without, so that what does not pay costs nothing. */
static const uint64_t SPIN_NS = 50 * 1000;
enum { SPIN_PRICE_MAX = 1023 };

bool fl__lane_spin(const fl_lane_t *lane, uint64_t window) {
  uint64_t deadline = uv_hrtime() + window;

  do {
    for (int i = 0; i < 32; i++) {
      if (fl_ring_has_records(&lane->consumer)) return true;
      fl__lane_relax();
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
  if (fl__lane_spin(lane, SPIN_NS)) {
    lane->spin_price = 0;
    return true;
  }
  if (lane->spin_price < SPIN_PRICE_MAX)
    lane->spin_price = 2 * lane->spin_price + 1;
  lane->spin_skip = lane->spin_price;
  return false;
}

static void process(fl_lane_t *lane) {
  uint64_t deadline = uv_hrtime() + TURN_NS;

  lane->comes_back = false;
  if (lane->asleep) {
    fl_ring_awake(&lane->consumer);
    lane->asleep = false;
  }
  fl_lane_flush(lane);
  if (lane->has_published) {
    lane->has_published = false;
    lane->on_published(lane);
  }

  lane->budget_bytes = TURN_BYTES;
  lane->budget_messages = TURN_MESSAGES;
  do {
    if (lane->closing) return;
    lane->on_readable(lane);
    if (lane->closing) return;
    if (fl_lane_is_readable(lane)) {
      fl__lane_stay_awake(lane);
      return;
    }
  } while (spin_for_answer(lane) && uv_hrtime() < deadline);

  if (lane->status == FL_OK && !lane->paused) {
    lane->asleep = fl_ring_sleep(&lane->consumer);
    if (!lane->asleep) fl__lane_stay_awake(lane);
  }
  /* What was called above may have found a reason to come back. */
  if (!lane->comes_back) (void) uv_idle_stop(&lane->idle);
  if (lane->outbox.size == 0 && !lane->has_published)
    uv_unref((uv_handle_t *) &lane->poll);
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

void fl__lane_stay_awake(fl_lane_t *lane) {
  lane->comes_back = true;
  if (!lane->closing) (void) uv_idle_start(&lane->idle, on_idle);
}

static void on_handle_closed(uv_handle_t *handle) {
  fl_lane_t *lane = handle->data;

  if (--lane->open_handles > 0) return;
  (void) close(lane->poll_fd);
  (void) close(lane->signal_fd);
  if (lane->lock_fd >= 0) (void) close(lane->lock_fd);
  fl_segment_unmap(&lane->segment);
  fl_outbox_destroy(&lane->outbox);
  fl_bytes_destroy(&lane->assembly);
  lane->on_closed(lane);
}

/* Two programs may live with one channel, but a ring has one end each. The lock
 * goes with the process. */
static int lock_end(int segment_fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

  return fcntl(segment_fd, F_SETLK, &lock) == 0 ? FL_OK : -errno;
}

/* A child has them from its parent, and leaves them to nobody. */
static void keep_to_ourselves(const fl_lane_options_t *options) {
  (void) fcntl(options->segment_fd, F_SETFD, FD_CLOEXEC);
  (void) fcntl(options->poll_fd, F_SETFD, FD_CLOEXEC);
  (void) fcntl(options->signal_fd, F_SETFD, FD_CLOEXEC);
}

int fl_lane_open(fl_lane_t *lane, uv_loop_t *loop,
                 const fl_lane_options_t *options) {
  int rc = fl_segment_map(&lane->segment, options->segment_fd, options->side);

  keep_to_ourselves(options);
  if (rc != FL_OK) return rc;
  if (options->side == FL_SIDE_CHILD) rc = lock_end(options->segment_fd);
  if (rc != FL_OK) {
    fl_segment_unmap(&lane->segment);
    return rc;
  }
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
  lane->lock_fd = options->side == FL_SIDE_CHILD ? options->segment_fd : -1;
  lane->record_max = lane->segment.ring_size / 4 - FL_RECORD_HEADER;
  lane->joined = lane->consumer.tail != 0;
  lane->poll.data = lane;
  lane->idle.data = lane;
  lane->open_handles = 2;
  (void) uv_idle_init(loop, &lane->idle);
  (void) uv_poll_start(&lane->poll, UV_READABLE, on_poll);
  uv_unref((uv_handle_t *) &lane->poll);
  uv_unref((uv_handle_t *) &lane->idle);
  /* Another program may have had this end and slept, or not: look first. */
  fl__lane_stay_awake(lane);
  return FL_OK;
}

void fl_lane_close(fl_lane_t *lane) {
  if (lane->closing) return;
  lane->closing = true;
  uv_close((uv_handle_t *) &lane->poll, on_handle_closed);
  uv_close((uv_handle_t *) &lane->idle, on_handle_closed);
}

int fl__lane_fail(fl_lane_t *lane, int status) {
  lane->status = status;
  /* Whoever reads has to be told, also when a sender has found it. */
  fl__lane_stay_awake(lane);
  fl_bytes_destroy(&lane->assembly);
  return status;
}
