/* SPDX-License-Identifier: MIT
 *
 * Class Lane: a lane of the transport as an object of JavaScript. The event
 * loop calls in here; whatever there is to read goes to JavaScript in one call.
 */
#include "lane_wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../core/status.h"
#include "../transport/segment.h"
#include "../transport/wake.h"
#include "../v8/codec.h"
#include "../v8/host.h"
#include "check.h"

/* A peer that does not read for so long does not hold up the end. */
enum { STALL_MS = 2000 };

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
  fl_env_t *state = fl_env_get(w->env);

  (void) handle;
  if (state != NULL) fl_lanes_flush_at_exit(state);
  close_lane(w);
}

/* All at once, so that one that stands still does not hold up the others. */
void fl_lanes_flush_at_exit(fl_env_t *state) {
  int left = STALL_MS;
  bool waiting = true;

  while (waiting && left > 0) {
    bool moved = false;
    waiting = false;
    for (fl_lane_wrap_t *w = state->lanes; w != NULL; w = w->next)
      if (fl_lane_flush_at_exit(&w->lane, &moved)) waiting = true;
    if (moved) {
      left = STALL_MS;
    } else if (waiting) {
      uv_sleep(1);
      left -= 1;
    }
  }
}

/* --- Calls from the loop --- */

/* Calls a function of JavaScript with the lane's object as `this`. NULL if it
 * throws. */
static napi_value call(fl_lane_wrap_t *w, napi_ref function_ref, size_t argc,
                       napi_value *argv) {
  napi_value self;
  napi_value function;

  if (napi_get_reference_value(w->env, w->self, &self) != napi_ok ||
      napi_get_reference_value(w->env, function_ref, &function) != napi_ok ||
      self == NULL || function == NULL)
    return NULL;
  return fl_host_call(w->env, self, function, argc, argv);
}

static void on_readable(fl_lane_t *lane) {
  fl_lane_wrap_t *w = lane->data;
  uint32_t hellos = w->hellos;
  uint32_t faults;
  napi_handle_scope scope;
  napi_value argv[2];

  /* Often there is nothing: the other side made room, no more. */
  if (lane->status == FL_OK && !fl_lane_is_readable(lane)) return;
  if (napi_open_handle_scope(w->env, &scope) != napi_ok) return;
  if (napi_create_array(w->env, &argv[1]) == napi_ok &&
      fl__lane_read(w, argv[1]) == FL_OK &&
      napi_get_array_length(w->env, argv[1], &faults) == napi_ok &&
      (w->batch.count > 0 || faults > 0 || hellos != w->hellos)) {
    argv[0] = fl_batch_take(w->env, &w->batch);
    if (argv[0] != NULL) (void) call(w, w->on_messages, 2, argv);
  }
  (void) napi_close_handle_scope(w->env, scope);
}

/* One callback of a message after the other, each a call of its own, so that
 * its ticks and microtasks come before the next, as under Node. */
static void on_published(fl_lane_t *lane) {
  fl_lane_wrap_t *w = lane->data;
  napi_handle_scope scope;
  napi_value result;
  bool more = true;

  while (more && !lane->closing) {
    if (napi_open_handle_scope(w->env, &scope) != napi_ok) return;
    result = call(w, w->on_published, 0, NULL);
    if (result == NULL) {
      /* It has thrown: the rest has its turn, if there is to be another. */
      fl_lane_retell(lane);
      more = false;
    } else if (napi_get_value_bool(w->env, result, &more) != napi_ok) {
      more = false;
    }
    (void) napi_close_handle_scope(w->env, scope);
  }
}

/* --- Methods --- */

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
  if (!w->lane.closing) {
    fl_lane_read_all(&w->lane);
    if (fl__lane_read(w, argv[0]) != FL_OK) return NULL;
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

/* The bytes that wait, or what went wrong. */
static napi_value sent(fl_lane_wrap_t *w, int rc) {
  napi_value result;

  switch (rc) {
    case FL_OK:
      if (fl_lane_should_pause(&w->lane) && fl_lane_waiting(&w->lane) == 0)
        return number(w->env, -1);
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
 * Sends a message; the number of bytes that wait for room in the ring, or -1 if
 * none do but the sender should let its loop run. Undefined, with nothing done,
 * for an object in json mode: its text is what to send. */
static napi_value fl_js_lane_send(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  fl_lane_wrap_t *w = unwrap(env, info, 1, argv);

  return w == NULL ? NULL : sent(w, fl__lane_send(w, argv[0]));
}

/* text(json) -> number: sends the value of a JSON text. Result as of send(). */
static napi_value fl_js_lane_text(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  fl_lane_wrap_t *w = unwrap(env, info, 1, argv);

  return w == NULL ? NULL : sent(w, fl__lane_send_json(w, argv[0]));
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
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);
  napi_value result = send_control(env, info, FL_KIND_HELLO);

  if (w != NULL) fl_lane_signal(&w->lane);
  return result;
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

/* progress() -> a number that changes whenever one of the sides moves. */
static napi_value fl_js_lane_progress(napi_env env, napi_callback_info info) {
  fl_lane_wrap_t *w = unwrap(env, info, 0, NULL);

  if (w == NULL) return NULL;
  return number(env, w->lane.closing ? 0 : (double) fl_lane_progress(&w->lane));
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
 * descriptors, poll and signal are the lane's from then on, and a child's
 * segment. onMessages(values, faults) gets what comes, as of Reader.feed();
 * onPublished() is called when messages that waited have left, again for as
 * long as it returns true. Throws if the segment cannot be used. */
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
    fl_env_disown(state, options.poll_fd);
    fl_env_disown(state, options.signal_fd);
    if (options.side == FL_SIDE_CHILD) fl_env_disown(state, options.segment_fd);
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

/* Whether so many more descriptors can be had. */
static int check_spare(int fd, uint32_t spare) {
  int fds[64];
  uint32_t n = 0;
  int rc = FL_OK;

  if (spare > 64) spare = 64;
  while (n < spare && rc == FL_OK) {
    fds[n] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fds[n] < 0)
      rc = -errno;
    else
      n++;
  }
  while (n > 0) (void) close(fds[--n]);
  return rc;
}

/* createRing(ringSize[, spare]) -> [segment, poll, signal, childPoll,
 * childSignal]
 *
 * The descriptors of a new channel, all the caller's, until a Lane takes them
 * or closeDescriptors(). Throws an error with the system's code if one cannot
 * be had, or if there are not `spare` more for whoever needs them next. */
static napi_value fl_js_create_ring(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value argv[2];
  napi_value result;
  napi_value value;
  double size;
  uint32_t spare = 0;
  int fds[5] = {-1, -1, -1, -1, -1};
  fl_env_t *state = fl_env_get(env);
  int rc;

  if (state == NULL) return NULL;
  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  FL_TRY(env, napi_get_value_double(env, argv[0], &size));
  if (argc > 1) FL_TRY(env, napi_get_value_uint32(env, argv[1], &spare));
  rc = size >= 0 && size <= (double) FL_SEGMENT_RING_MAX
           ? fl_segment_create((size_t) size, &fds[0])
           : FL_ECORRUPT;
  if (rc == FL_OK) rc = fl_wake_create(&fds[1], &fds[4]);
  if (rc == FL_OK) rc = fl_wake_create(&fds[3], &fds[2]);
  if (rc == FL_OK) rc = check_spare(fds[0], spare);
  for (int i = 0; i < 5 && rc == FL_OK; i++) rc = fl_env_own(state, fds[i]);
  if (rc != FL_OK) {
    for (int i = 0; i < 5; i++) {
      fl_env_disown(state, fds[i]);
      if (fds[i] >= 0) (void) close(fds[i]);
    }
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
  fl_env_t *state = fl_env_get(env);

  if (state == NULL) return NULL;
  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  FL_TRY(env, napi_get_array_length(env, argv[0], &length));
  for (uint32_t i = 0; i < length; i++) {
    FL_TRY(env, napi_get_element(env, argv[0], i, &value));
    FL_TRY(env, napi_get_value_int32(env, value, &fd));
    fl_env_disown(state, fd);
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
      METHOD("progress", fl_js_lane_progress),
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
