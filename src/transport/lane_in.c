/* SPDX-License-Identifier: MIT
 * What a lane receives: records to messages. The records are the other side's;
 * each is checked before it is used.
 */
#include <string.h>

#include "../core/status.h"
#include "lane_inner.h"
#include "wake.h"

/* Room is given back in steps: each costs a cache line that the producer reads.
 */
enum { RELEASE_SHARE = 16 };

bool fl_lane_is_readable(const fl_lane_t *lane) {
  return lane->status == FL_OK && !lane->paused &&
         fl_ring_has_records(&lane->consumer);
}

static void clear_assembly(fl_lane_t *lane) {
  fl_bytes_clear(&lane->assembly, 0);
  lane->assembling = false;
}

static void release(fl_lane_t *lane) {
  if (lane->unreleased == 0) return;
  lane->unreleased = 0;
  if (fl_ring_release(&lane->consumer)) fl_wake_signal(lane->signal_fd);
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

  /* The rest of what the program before this one had begun to read. */
  if (lane->joined && r->kind == FL_KIND_PART && r->payload != NULL)
    return FL_OK;
  lane->joined = false;

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
      if (fl__lane_spin(lane, FL__LANE_PART_NS)) continue;
    }
    if (rc == 0) break;
    if (rc > 0) {
      lane->has_record = true;
      rc = take_record(lane, m);
    }
    if (rc < 0) return fl__lane_fail(lane, rc);
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
    fl__lane_stay_awake(lane);
  }
}
