/* SPDX-License-Identifier: MIT
 * JavaScript values to records: straight into the ring where there is room,
 * else by way of private memory.
 */
#include <math.h>
#include <string.h>

#include "../core/status.h"
#include "../v8/codec.h"
#include "../v8/text.h"
#include "lane_wrap.h"

/* What an object should find in the ring to be serialized there. */
enum { ROOM_FOR_OBJECT = 4 * 1024 };

/* A frame in private memory, with room for `len` bytes. Serialization may come
 * back here: whoever comes then finds no scratch memory and gets its own. To be
 * followed by end_frame(). */
static int begin_frame(fl_lane_wrap_t *w, fl_bytes_t *frame, size_t len) {
  int rc;

  *frame = w->scratch;
  w->scratch = (fl_bytes_t) FL_BYTES_INIT;
  rc = fl_bytes_reserve(frame, FL_LANE_RESERVE + len + FL_RECORD_ALIGN,
                        SIZE_MAX);
  if (rc == FL_OK) frame->len = FL_LANE_RESERVE;
  return rc;
}

static void end_frame(fl_lane_wrap_t *w, fl_bytes_t *frame) {
  fl_bytes_destroy(&w->scratch);
  fl_bytes_clear(frame, FL_LANE_KEEP);
  w->scratch = *frame;
}

/* Straight from the string into the ring, part by part, and only what has no
 * room there into private memory. */
static int send_string_in_parts(fl_lane_wrap_t *w, napi_value text, size_t len,
                                bool utf16) {
  fl_bytes_t rest;
  size_t from = 0;
  size_t n;
  uint8_t *at;
  int rc;

  while (from < len && (at = fl_lane_part(&w->lane, len - from, &n)) != NULL) {
    fl_text_copy(w->env, text, utf16, from, n, at);
    from += n;
    fl_lane_end_part(&w->lane, n, from == len);
  }
  if (from == len) return FL_OK;

  rc = begin_frame(w, &rest, len - from);
  if (rc != FL_OK) {
    rc = fl_lane_abandon(&w->lane);
  } else {
    fl_text_copy(w->env, text, utf16, from, len - from, rest.base);
    rest.len = len - from;
    rc = fl_lane_push_rest(&w->lane, &rest);
  }
  end_frame(w, &rest);
  return rc;
}

/* `kind` is that of one-byte text, and one below that of two-byte text. */
static int send_string(fl_lane_wrap_t *w, fl_kind_t kind, napi_value text) {
  fl_bytes_t frame;
  uint8_t *at;
  size_t len;
  bool utf16;
  int rc = fl_text_measure(w->env, text, &len, &utf16);

  if (rc != FL_OK) return rc;
  if (utf16) kind = (fl_kind_t) (kind + 1);
  at = fl_lane_reserve(&w->lane, len);
  if (at != NULL) {
    fl_text_copy(w->env, text, utf16, 0, len, at);
    return fl_lane_commit(&w->lane, kind, len);
  }
  if (len > w->lane.record_max && fl_lane_begin(&w->lane, kind, len))
    return send_string_in_parts(w, text, len, utf16);
  rc = begin_frame(w, &frame, len);
  if (rc == FL_OK) {
    fl_text_copy(w->env, text, utf16, 0, len, frame.base + frame.len);
    frame.len += len;
    rc = fl_lane_push(&w->lane, kind, &frame);
  }
  end_frame(w, &frame);
  return rc;
}

static int send_double(fl_lane_wrap_t *w, double value) {
  fl_bytes_t frame;
  uint8_t *at = fl_lane_reserve(&w->lane, sizeof(value));
  int rc;

  if (at != NULL) {
    memcpy(at, &value, sizeof(value));
    return fl_lane_commit(&w->lane, FL_KIND_DOUBLE, sizeof(value));
  }
  rc = begin_frame(w, &frame, sizeof(value));
  if (rc == FL_OK)
    rc = fl_bytes_append(&frame, &value, sizeof(value), SIZE_MAX);
  if (rc == FL_OK) rc = fl_lane_push(&w->lane, FL_KIND_DOUBLE, &frame);
  end_frame(w, &frame);
  return rc;
}

static int send_constant(fl_lane_wrap_t *w, fl_constant_t constant) {
  return fl_lane_send_immediate(&w->lane, FL_KIND_CONSTANT, constant);
}

/* JSON has no -0, and null for what is not finite (ECMA-262, SerializeJSON-
 * Property). */
static int send_number(fl_lane_wrap_t *w, napi_value value) {
  double n;

  if (napi_get_value_double(w->env, value, &n) != napi_ok)
    return FL_ECODEC_EXCEPTION;
  if (!w->advanced && !isfinite(n)) return send_constant(w, FL_CONSTANT_NULL);
  if (n >= INT32_MIN && n <= INT32_MAX && n == (double) (int32_t) n &&
      (!w->advanced || n != 0 || !signbit(n)))
    return fl_lane_send_immediate(&w->lane, FL_KIND_INT32,
                                  (uint32_t) (int32_t) n);
  return send_double(w, n);
}

/* Into the ring if there is room; what turns out to be too much for it goes on
 * in the frame. */
static int send_advanced(fl_lane_wrap_t *w, napi_value value) {
  fl_env_t *state = fl_env_get(w->env);
  fl_bytes_t frame;
  size_t used = 0;
  uint8_t *at;
  int rc;

  if (state == NULL) return FL_ECODEC_EXCEPTION;
  rc = begin_frame(w, &frame, 0);
  if (rc == FL_OK) {
    at = fl_lane_reserve(&w->lane, ROOM_FOR_OBJECT);
    rc = fl_codec_write_advanced_at(state->codec, w->env, value, at,
                                    at == NULL ? 0 : fl_lane_reserved(&w->lane),
                                    &used, &frame);
    if (used > 0)
      rc = fl_lane_commit(&w->lane, FL_KIND_V8, used);
    else if (at != NULL)
      fl_lane_cancel(&w->lane);
    if (rc == FL_OK && used == 0)
      rc = fl_lane_push(&w->lane, FL_KIND_V8, &frame);
  }
  end_frame(w, &frame);
  return rc;
}

int fl__lane_send(fl_lane_wrap_t *w, napi_value value) {
  napi_valuetype type;
  bool truth;

  if (napi_typeof(w->env, value, &type) != napi_ok) return FL_ECODEC_EXCEPTION;
  switch (type) {
    case napi_string:
      return send_string(w, FL_KIND_LATIN1, value);
    case napi_number:
      return send_number(w, value);
    case napi_boolean:
      if (napi_get_value_bool(w->env, value, &truth) != napi_ok)
        return FL_ECODEC_EXCEPTION;
      return send_constant(w, truth ? FL_CONSTANT_TRUE : FL_CONSTANT_FALSE);
    case napi_null:
      return send_constant(w, FL_CONSTANT_NULL);
    default:
      return w->advanced ? send_advanced(w, value) : FL_ECODEC_ESCAPE;
  }
}

int fl__lane_send_json(fl_lane_wrap_t *w, napi_value text) {
  return send_string(w, FL_KIND_JSON_LATIN1, text);
}
