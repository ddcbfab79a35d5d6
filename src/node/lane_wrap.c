/* SPDX-License-Identifier: MIT
 *
 * Lane: JavaScript values to records of a ring, and records to values. The
 * event loop calls in here; whatever there is to read goes to JavaScript in one
 * call.
 */
#include <math.h>
#include <node_api.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/status.h"
#include "../transport/lane.h"
#include "../transport/segment.h"
#include "../transport/wake.h"
#include "../v8/codec.h"
#include "batch.h"
#include "check.h"
#include "env.h"

struct fl_lane_wrap_s {
  fl_lane_t lane;
  napi_env env;
  napi_ref self; /* strong while the lane is open */
  napi_ref on_messages;
  napi_ref on_published;
  napi_async_cleanup_hook_handle cleanup;
  fl_lane_wrap_t *next; /* of the open ones of this environment */
  fl_batch_t batch;
  fl_bytes_t scratch; /* private copies of V8's bytes; frames that are made */
  uint32_t hellos;    /* how often a program took the other end */
  bool advanced;
  bool collected; /* the JavaScript object is gone */
};

/* A peer that does not read for so long does not hold up the end. */
enum { STALL_MS = 2000 };

/* Memory that an idle lane may hold on to. */
enum { KEEP = 64 * 1024 };

/* What an object should find in the ring to be serialized there. */
enum { ROOM_FOR_OBJECT = 4 * 1024 };

/* The kinds of values in each mode. */
#define BIT(kind) (1u << FL_KIND_##kind)
#define PLAIN_KINDS                                                            \
  (BIT(LATIN1) | BIT(UTF16) | BIT(INT32) | BIT(DOUBLE) | BIT(CONSTANT))
#define JSON_KINDS (PLAIN_KINDS | BIT(JSON_LATIN1) | BIT(JSON_UTF16))
#define ADVANCED_KINDS (PLAIN_KINDS | BIT(V8))

/* --- Life --- */

static void wrap_free(fl_lane_wrap_t *w) {
  fl_batch_destroy(&w->batch);
  fl_bytes_destroy(&w->scratch);
  free(w);
}

static void wrap_finalize(napi_env env, void *data, void *hint) {
  fl_lane_wrap_t *w = data;

  (void) env;
  (void) hint;
  w->collected = true;
  /* An open one is still referenced; it gets here only with its environment,
   * after the cleanup hook. */
  if (w->lane.open_handles == 0) wrap_free(w);
}

static void unlist(fl_lane_wrap_t *w) {
  fl_env_t *state = fl_env_get(w->env);
  fl_lane_wrap_t **at;

  if (state == NULL) return;
  for (at = &state->lanes; *at != NULL; at = &(*at)->next) {
    if (*at != w) continue;
    *at = w->next;
    return;
  }
}

static void on_closed(fl_lane_t *lane) {
  fl_lane_wrap_t *w = lane->data;
  napi_async_cleanup_hook_handle cleanup = w->cleanup;
  napi_handle_scope scope;

  /* Fails where the environment is past such things, and does not matter. */
  if (napi_open_handle_scope(w->env, &scope) == napi_ok) {
    (void) napi_delete_reference(w->env, w->on_messages);
    (void) napi_delete_reference(w->env, w->on_published);
    (void) napi_delete_reference(w->env, w->self);
    (void) napi_close_handle_scope(w->env, scope);
  }
  if (w->collected) wrap_free(w);
  (void) napi_remove_async_cleanup_hook(cleanup);
}

static void close_lane(fl_lane_wrap_t *w) {
  if (w->lane.closing) return;
  unlist(w);
  fl_lane_close(&w->lane);
}

/* The environment ends. */
static void on_cleanup(napi_async_cleanup_hook_handle handle, void *data) {
  fl_lane_wrap_t *w = data;

  (void) handle;
  fl_lane_flush_at_exit(&w->lane, STALL_MS);
  close_lane(w);
}

void fl_lanes_flush_at_exit(fl_env_t *state) {
  for (fl_lane_wrap_t *w = state->lanes; w != NULL; w = w->next)
    fl_lane_flush_at_exit(&w->lane, STALL_MS);
}

/* --- Receiving --- */

static int read_bytes(fl_lane_wrap_t *w, const fl_message_t *m,
                      napi_value *value) {
  napi_env env = w->env;
  fl_bytes_t *assembly = &w->lane.assembly;
  fl_env_t *state;
  int rc;

  switch (m->kind) {
    case FL_KIND_LATIN1:
    case FL_KIND_UTF16:
      return m->owned ? fl_codec_adopt_string(env, assembly,
                                              m->kind == FL_KIND_UTF16, value)
                      : fl_codec_read_string(env, m->data, m->len,
                                             m->kind == FL_KIND_UTF16, value);
    case FL_KIND_JSON_LATIN1:
    case FL_KIND_JSON_UTF16:
      return m->owned ? fl_codec_adopt_json_string(
                            env, assembly, m->kind == FL_KIND_JSON_UTF16, value)
                      : fl_codec_read_json_string(env, m->data, m->len,
                                                  m->kind == FL_KIND_JSON_UTF16,
                                                  value);
    default:
      state = fl_env_get(env);
      if (state == NULL) return FL_ECODEC_EXCEPTION;
      if (m->owned)
        return fl_codec_read_advanced(state->codec, env, m->data, m->len,
                                      value);
      /* V8 does not expect its input to change while it reads. */
      fl_bytes_clear(&w->scratch, KEEP);
      rc = fl_bytes_append(&w->scratch, m->data, m->len, SIZE_MAX);
      if (rc != FL_OK) return rc;
      return fl_codec_read_advanced(state->codec, env, w->scratch.base, m->len,
                                    value);
  }
}

static int read_value(fl_lane_wrap_t *w, const fl_message_t *m,
                      napi_value *value) {
  napi_status status;
  double number;

  switch (m->kind) {
    case FL_KIND_INT32:
      status = napi_create_int32(w->env, (int32_t) m->word, value);
      break;
    case FL_KIND_DOUBLE:
      memcpy(&number, m->data, sizeof(number));
      status = napi_create_double(w->env, number, value);
      break;
    case FL_KIND_CONSTANT:
      status =
          m->word == FL_CONSTANT_NULL
              ? napi_get_null(w->env, value)
              : napi_get_boolean(w->env, m->word == FL_CONSTANT_TRUE, value);
      break;
    default:
      return read_bytes(w, m, value);
  }
  return status == napi_ok ? FL_OK : FL_ECODEC_EXCEPTION;
}

/* Reads into the batch what the lane gives. FL_OK, or FL_ECODEC_EXCEPTION. */
static int read_batch(fl_lane_wrap_t *w, napi_value faults) {
  fl_message_t m;
  napi_value value;
  int more;
  int rc = FL_OK;

  while ((more = fl_lane_next(&w->lane, &m)) == 1) {
    if (m.kind == FL_KIND_HELLO) {
      w->hellos++;
      continue;
    }
    rc = read_value(w, &m, &value);
    if (rc == FL_OK)
      rc = fl_batch_push(&w->batch, value);
    else if (rc == FL_ECODEC_VALUE)
      rc = fl_batch_push_fault(w->env, &w->batch, faults, value);
    if (rc == FL_ECODEC_EXCEPTION) break;
    if (rc != FL_OK) {
      w->lane.status = rc;
      more = rc;
      break;
    }
  }
  if (rc != FL_ECODEC_EXCEPTION && more < 0 &&
      fl_batch_end(w->env, &w->batch, faults, more) == NULL)
    rc = FL_ECODEC_EXCEPTION;
  if (rc != FL_ECODEC_EXCEPTION) return FL_OK;
  w->batch.count = 0;
  return rc;
}

/* Calls a function of JavaScript with the lane's object as `this`. */
static void call(fl_lane_wrap_t *w, napi_ref function_ref, size_t argc,
                 napi_value *argv) {
  napi_value self;
  napi_value function;

  if (napi_get_reference_value(w->env, w->self, &self) == napi_ok &&
      napi_get_reference_value(w->env, function_ref, &function) == napi_ok &&
      self != NULL && function != NULL)
    fl_codec_call(w->env, self, function, argc, argv);
}

static void on_readable(fl_lane_t *lane) {
  fl_lane_wrap_t *w = lane->data;
  uint32_t hellos = w->hellos;
  uint32_t faults;
  napi_handle_scope scope;
  napi_value argv[2];

  /* Most often there is nothing: the other side made room, no more. After an
   * error that was told there is nobody to tell. */
  if (!fl_lane_is_readable(lane)) return;
  if (napi_open_handle_scope(w->env, &scope) != napi_ok) return;
  if (napi_create_array(w->env, &argv[1]) == napi_ok &&
      read_batch(w, argv[1]) == FL_OK &&
      napi_get_array_length(w->env, argv[1], &faults) == napi_ok &&
      (w->batch.count > 0 || faults > 0 || hellos != w->hellos)) {
    argv[0] = fl_batch_take(w->env, &w->batch);
    if (argv[0] != NULL) call(w, w->on_messages, 2, argv);
  }
  (void) napi_close_handle_scope(w->env, scope);
}

static void on_published(fl_lane_t *lane) {
  fl_lane_wrap_t *w = lane->data;
  napi_handle_scope scope;

  if (napi_open_handle_scope(w->env, &scope) != napi_ok) return;
  call(w, w->on_published, 0, NULL);
  (void) napi_close_handle_scope(w->env, scope);
}

static fl_lane_wrap_t *unwrap(napi_env env, napi_callback_info info,
                              size_t argc, napi_value *argv) {
  napi_value self;
  fl_lane_wrap_t *w = NULL;

  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, &self, NULL));
  FL_TRY(env, napi_unwrap(env, self, (void **) &w));
  return w;
}

static napi_value number(napi_env env, double n) {
  napi_value result;

  FL_TRY(env, napi_create_double(env, n, &result));
  return result;
}

/* read(faults) -> values: all that was published before, faults as of
 * Reader.feed(). */
static napi_value fl_js_lane_read(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  fl_lane_wrap_t *w = unwrap(env, info, 1, argv);

  if (w == NULL) return NULL;
  if (!w->lane.closing && w->lane.status == FL_OK) {
    fl_lane_read_all(&w->lane);
    if (read_batch(w, argv[0]) != FL_OK) return NULL;
  }
  return fl_batch_take(env, &w->batch);
}

/* hellos() -> how many programs have taken the other end so far. */
static napi_value fl_js_lane_hellos(napi_env env, napi_callback_info info) {
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);

  return w == NULL ? NULL : number(env, w->hellos);
}

/* isAssembling() -> whether a message is there in part. */
static napi_value fl_js_lane_is_assembling(napi_env env,
                                           napi_callback_info info) {
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);
  napi_value result;

  if (w == NULL) return NULL;
  FL_TRY(env, napi_get_boolean(env, w->lane.assembling, &result));
  return result;
}

/* isReadable() -> whether read() would give something. */
static napi_value fl_js_lane_is_readable(napi_env env,
                                         napi_callback_info info) {
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);
  napi_value result;

  if (w == NULL) return NULL;
  FL_TRY(env,
         napi_get_boolean(
             env, !w->lane.closing && fl_lane_is_readable(&w->lane), &result));
  return result;
}

/* switched(number): the socket has brought the switch of that number. */
static napi_value fl_js_lane_switched(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  uint32_t count;
  fl_lane_wrap_t *w = unwrap(env, info, 1, argv);

  if (w == NULL) return NULL;
  FL_TRY(env, napi_get_value_uint32(env, argv[0], &count));
  fl_lane_switched(&w->lane, count);
  return NULL;
}

/* --- Sending --- */

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
  fl_bytes_clear(frame, KEEP);
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
    fl_codec_copy_string(w->env, text, utf16, from, n, at);
    from += n;
    fl_lane_end_part(&w->lane, n, from == len);
  }
  if (from == len) return FL_OK;

  rc = begin_frame(w, &rest, len - from);
  if (rc == FL_OK) {
    fl_codec_copy_string(w->env, text, utf16, from, len - from, rest.base);
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
  int rc = fl_codec_measure_string(w->env, text, &len, &utf16);

  if (rc != FL_OK) return rc;
  if (utf16) kind = (fl_kind_t) (kind + 1);
  at = fl_lane_reserve(&w->lane, len);
  if (at != NULL) {
    fl_codec_copy_string(w->env, text, utf16, 0, len, at);
    return fl_lane_commit(&w->lane, kind, len);
  }
  if (len > w->lane.record_max && fl_lane_begin(&w->lane, kind, len))
    return send_string_in_parts(w, text, len, utf16);
  rc = begin_frame(w, &frame, len);
  if (rc == FL_OK) {
    fl_codec_copy_string(w->env, text, utf16, 0, len, frame.base + frame.len);
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

static int send_value(fl_lane_wrap_t *w, napi_value value) {
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

/* The bytes that wait, or what went wrong. */
static napi_value sent(fl_lane_wrap_t *w, int rc) {
  napi_value result;

  switch (rc) {
    case FL_OK:
      return number(w->env, (double) fl_lane_waiting(&w->lane));
    case FL_ECODEC_ESCAPE:
      FL_TRY(w->env, napi_get_undefined(w->env, &result));
      return result;
    case FL_ECODEC_EXCEPTION:
      return NULL;
    default:
      fl_env_throw(w->env, rc);
      return NULL;
  }
}

/* send(value) -> number or undefined
 *
 * Sends a message; the number of bytes that wait for room in the ring.
 * Undefined, with nothing done, for an object in json mode: its text is what to
 * send. */
static napi_value fl_js_lane_send(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  fl_lane_wrap_t *w = unwrap(env, info, 1, argv);

  return w == NULL ? NULL : sent(w, send_value(w, argv[0]));
}

/* text(json) -> number: sends the value of a JSON text. Result as of send(). */
static napi_value fl_js_lane_text(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  fl_lane_wrap_t *w = unwrap(env, info, 1, argv);

  return w == NULL ? NULL
                   : sent(w, send_string(w, FL_KIND_JSON_LATIN1, argv[0]));
}

static napi_value send_control(napi_env env, napi_callback_info info,
                               fl_kind_t kind) {
  napi_value argv[1];
  uint32_t word;
  fl_lane_wrap_t *w = unwrap(env, info, 1, argv);

  if (w == NULL) return NULL;
  FL_TRY(env, napi_get_value_uint32(env, argv[0], &word));
  return sent(w, fl_lane_send_immediate(&w->lane, kind, word));
}

/* hello(version) -> number: tells that a program took this end. */
static napi_value fl_js_lane_hello(napi_env env, napi_callback_info info) {
  return send_control(env, info, FL_KIND_HELLO);
}

/* switch(number) -> number: what is sent from now on comes after the message of
 * this number on the socket. */
static napi_value fl_js_lane_switch(napi_env env, napi_callback_info info) {
  return send_control(env, info, FL_KIND_SWITCH);
}

/* waiting() -> bytes that wait for room. */
static napi_value fl_js_lane_waiting(napi_env env, napi_callback_info info) {
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);

  return w == NULL ? NULL : number(env, (double) fl_lane_waiting(&w->lane));
}

/* sent(), published() -> how many messages were sent, and how many of them are
 * in the ring. */
static napi_value fl_js_lane_sent(napi_env env, napi_callback_info info) {
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);

  return w == NULL ? NULL : number(env, (double) w->lane.sent);
}

static napi_value fl_js_lane_published(napi_env env, napi_callback_info info) {
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);

  return w == NULL ? NULL : number(env, (double) w->lane.published);
}

/* close(): ends the lane, with all that waits. */
static napi_value fl_js_lane_close(napi_env env, napi_callback_info info) {
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);

  if (w != NULL) close_lane(w);
  return NULL;
}

/* --- Making --- */

static bool get_int32(napi_env env, napi_value object, const char *name,
                      int32_t *result) {
  napi_value value;

  return napi_get_named_property(env, object, name, &value) == napi_ok &&
         napi_get_value_int32(env, value, result) == napi_ok;
}

static bool get_bool(napi_env env, napi_value object, const char *name,
                     bool *result) {
  napi_value value;

  return napi_get_named_property(env, object, name, &value) == napi_ok &&
         napi_get_value_bool(env, value, result) == napi_ok;
}

static bool get_options(napi_env env, napi_value object,
                        fl_lane_options_t *options, bool *advanced) {
  napi_value value;
  double max;
  int32_t side;

  if (!get_int32(env, object, "side", &side) ||
      !get_int32(env, object, "segment", &options->segment_fd) ||
      !get_int32(env, object, "poll", &options->poll_fd) ||
      !get_int32(env, object, "signal", &options->signal_fd) ||
      !get_int32(env, object, "socket", &options->socket_fd) ||
      !get_bool(env, object, "advanced", advanced) ||
      !get_bool(env, object, "spin", &options->may_spin) ||
      napi_get_named_property(env, object, "maxMessageSize", &value) !=
          napi_ok ||
      napi_get_value_double(env, value, &max) != napi_ok)
    return false;
  options->side = side == FL_SIDE_CHILD ? FL_SIDE_CHILD : FL_SIDE_PARENT;
  options->message_max =
      max >= 0 && max < (double) SIZE_MAX ? (size_t) max : SIZE_MAX;
  options->kinds = *advanced ? ADVANCED_KINDS : JSON_KINDS;
  options->may_spin = options->may_spin && uv_available_parallelism() > 1;
  return true;
}

/* new Lane(options, onMessages, onPublished)
 *
 * `options` has side (fl_side_t), the descriptors segment, poll, signal and
 * socket (-1 for none), advanced, spin, and maxMessageSize in bytes. Of the
 * descriptors, poll and signal are the lane's from then on. onMessages(values,
 * faults) gets what comes, as of Reader.feed(); onPublished() is called when
 * messages that waited have left. Throws if the segment cannot be used. */
static napi_value fl_js_lane_new(napi_env env, napi_callback_info info) {
  size_t argc = 3;
  napi_value argv[3];
  napi_value self;
  fl_lane_options_t options;
  fl_lane_wrap_t *w;
  uv_loop_t *loop;
  fl_env_t *state = fl_env_get(env);
  int rc;

  if (state == NULL) return NULL;
  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, &self, NULL));
  FL_TRY(env, napi_get_uv_event_loop(env, &loop));
  w = calloc(1, sizeof(*w));
  if (w == NULL) {
    fl_env_throw(env, FL_ENOMEM);
    return NULL;
  }
  w->env = env;
  w->lane.data = w;
  w->lane.on_readable = on_readable;
  w->lane.on_published = on_published;
  w->lane.on_closed = on_closed;
  if (!get_options(env, argv[0], &options, &w->advanced) ||
      napi_create_reference(env, argv[1], 1, &w->on_messages) != napi_ok ||
      napi_create_reference(env, argv[2], 1, &w->on_published) != napi_ok ||
      napi_wrap(env, self, w, wrap_finalize, NULL, NULL) != napi_ok) {
    wrap_free(w);
    fl_check_failed(env, napi_generic_failure);
    return NULL;
  }
  /* From here on the finalizer frees it. */
  FL_TRY(env, napi_create_reference(env, self, 1, &w->self));
  FL_TRY(env, napi_add_async_cleanup_hook(env, on_cleanup, w, &w->cleanup));
  rc = fl_lane_open(&w->lane, loop, &options);
  if (rc == FL_OK) {
    w->next = state->lanes;
    state->lanes = w;
    return self;
  }
  /* Without the strong reference the object can go. */
  FL_TRY(env, napi_remove_async_cleanup_hook(w->cleanup));
  FL_TRY(env, napi_delete_reference(env, w->self));
  fl_env_throw(env, rc);
  return NULL;
}

/* createRing(ringSize) -> [segment, poll, signal, childPoll, childSignal]
 *
 * The descriptors of a new channel, all the caller's. Throws an error with the
 * system's code if one cannot be had. */
static napi_value fl_js_create_ring(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  napi_value result;
  napi_value value;
  double size;
  int fds[5] = {-1, -1, -1, -1, -1};
  int rc;

  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  FL_TRY(env, napi_get_value_double(env, argv[0], &size));
  rc = size >= 0 && size <= (double) FL_SEGMENT_RING_MAX
           ? fl_segment_create((size_t) size, &fds[0])
           : FL_ECORRUPT;
  if (rc == FL_OK) rc = fl_wake_create(&fds[1], &fds[4]);
  if (rc == FL_OK) rc = fl_wake_create(&fds[3], &fds[2]);
  if (rc != FL_OK) {
    for (int i = 0; i < 5; i++)
      if (fds[i] >= 0) (void) close(fds[i]);
    fl_env_throw(env, rc);
    return NULL;
  }
  FL_TRY(env, napi_create_array_with_length(env, 5, &result));
  for (uint32_t i = 0; i < 5; i++) {
    FL_TRY(env, napi_create_int32(env, fds[i], &value));
    FL_TRY(env, napi_set_element(env, result, i, value));
  }
  return result;
}

/* closeDescriptors(array): what createRing() gave. Node's own close() would
 * warn of descriptors in a worker that it has not opened. */
static napi_value fl_js_close_descriptors(napi_env env,
                                          napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  napi_value value;
  uint32_t length;
  int32_t fd;

  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  FL_TRY(env, napi_get_array_length(env, argv[0], &length));
  for (uint32_t i = 0; i < length; i++) {
    FL_TRY(env, napi_get_element(env, argv[0], i, &value));
    FL_TRY(env, napi_get_value_int32(env, value, &fd));
    (void) close(fd);
  }
  return NULL;
}

#define METHOD(name, function)                                                 \
  { name, NULL, function, NULL, NULL, NULL, napi_default, NULL }

napi_value fl_js_define_lane(napi_env env, napi_value exports) {
  napi_property_descriptor methods[] = {
      METHOD("send", fl_js_lane_send),
      METHOD("text", fl_js_lane_text),
      METHOD("hello", fl_js_lane_hello),
      METHOD("switch", fl_js_lane_switch),
      METHOD("switched", fl_js_lane_switched),
      METHOD("read", fl_js_lane_read),
      METHOD("hellos", fl_js_lane_hellos),
      METHOD("isReadable", fl_js_lane_is_readable),
      METHOD("isAssembling", fl_js_lane_is_assembling),
      METHOD("waiting", fl_js_lane_waiting),
      METHOD("sent", fl_js_lane_sent),
      METHOD("published", fl_js_lane_published),
      METHOD("close", fl_js_lane_close),
  };
  napi_value value;

  FL_TRY(env, napi_define_class(env, "Lane", NAPI_AUTO_LENGTH, fl_js_lane_new,
                                NULL, sizeof(methods) / sizeof(methods[0]),
                                methods, &value));
  FL_TRY(env, napi_set_named_property(env, exports, "Lane", value));
  FL_TRY(env, napi_create_function(env, "createRing", NAPI_AUTO_LENGTH,
                                   fl_js_create_ring, NULL, &value));
  FL_TRY(env, napi_set_named_property(env, exports, "createRing", value));
  FL_TRY(env, napi_create_function(env, "closeDescriptors", NAPI_AUTO_LENGTH,
                                   fl_js_close_descriptors, NULL, &value));
  FL_TRY(env, napi_set_named_property(env, exports, "closeDescriptors", value));
  FL_TRY(env, napi_create_int32(env, FL_SEGMENT_VERSION, &value));
  FL_TRY(env, napi_set_named_property(env, exports, "ringVersion", value));
  return exports;
}
