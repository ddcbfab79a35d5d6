/* SPDX-License-Identifier: MIT
 *
 * Writer: JavaScript values to frames, and frames to the socket. A frame that
 * the socket takes at once is made and written in one call, in memory that is
 * used again; what it does not take waits in the outbox.
 */
#include <node_api.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../core/frame.h"
#include "../core/outbox.h"
#include "../core/status.h"
#include "../transport/socket.h"
#include "../v8/codec.h"
#include "../v8/text.h"
#include "check.h"
#include "env.h"

typedef struct fl_writer_s {
  fl_outbox_t outbox;
  fl_bytes_t scratch; /* the next frame is made here */
  uint32_t calls;     /* to see that serialization came back here */
} fl_writer_t;

/* Memory that an idle writer may hold on to. */
enum { KEEP = 64 * 1024 };

/* A message that is larger than the socket's buffer needs the peer to read in
 * between. A peer that is reading right now is done with a buffer in less than
 * a tenth of a millisecond, while coming back for each buffer costs a turn of
 * the event loop, however long that is: so much is waited for it, and that much
 * written in one turn, while more than that waits. */
enum {
  FLUSH_WAIT_MS = 1,
  FLUSH_MAX = 2 * 1024 * 1024,
  FLUSH_PATIENT_ABOVE = 256 * 1024
};

static void writer_free(fl_writer_t *w) {
  fl_outbox_destroy(&w->outbox);
  fl_bytes_destroy(&w->scratch);
  free(w);
}

static void writer_finalize(napi_env env, void *data, void *hint) {
  (void) env;
  (void) hint;
  writer_free(data);
}

/* new Writer() */
static napi_value fl_js_writer_new(napi_env env, napi_callback_info info) {
  size_t argc = 0;
  napi_value self;
  fl_writer_t *w;
  fl_env_t *state = fl_env_get(env);

  if (state == NULL) return NULL;
  FL_TRY(env, napi_get_cb_info(env, info, &argc, NULL, &self, NULL));
  if (state->codec == NULL) {
    (void) napi_throw_error(env, "ERR_FORKLANE_BINDING",
                            "setHelpers() comes first");
    return NULL;
  }
  w = calloc(1, sizeof(*w));
  if (w == NULL) {
    fl_env_throw(env, FL_ENOMEM);
    return NULL;
  }
  if (napi_wrap(env, self, w, writer_finalize, NULL, NULL) != napi_ok) {
    writer_free(w);
    fl_env_throw(env, FL_ENOMEM);
    return NULL;
  }
  return self;
}

typedef enum { TEXT, STRING, ADVANCED } fl_content_t;

static int make_frame(napi_env env, fl_content_t content, napi_value value,
                      fl_bytes_t *out) {
  fl_frame_format_t format =
      content == ADVANCED ? FL_FRAME_LENGTH : FL_FRAME_LINES;
  fl_env_t *state;
  size_t start = out->len;
  int rc = fl_frame_begin(format, out);

  if (rc != FL_OK) return rc;
  switch (content) {
    case TEXT:
      rc = fl_text_write(env, value, out);
      break;
    case STRING:
      rc = fl_text_write_json_string(env, value, out);
      break;
    case ADVANCED:
      state = fl_env_get(env);
      if (state == NULL) return FL_ECODEC_EXCEPTION;
      rc = fl_codec_write_advanced(state->codec, env, value, out);
      break;
  }
  if (rc == FL_OK) rc = fl_frame_end(format, out, start);
  return rc;
}

/* Writes the frame to the socket if nothing is before it (`fd` >= 0), and the
 * rest of it to the outbox. FL_OK, FL_ENOMEM or a negative errno; with an error
 * nothing of the frame is kept. */
static int post_frame(fl_writer_t *w, int fd, fl_bytes_t *frame) {
  int64_t n = 0;

  if (fd >= 0 && w->outbox.size == 0) {
    n = fl_socket_write(fd, frame->base, frame->len);
    if (n < 0) return (int) n;
  }
  if ((size_t) n == frame->len) return FL_OK;
  return fl_outbox_push(&w->outbox, frame, (size_t) n);
}

static napi_value send_value(napi_env env, napi_callback_info info,
                             fl_content_t content) {
  size_t argc = 2;
  napi_value argv[2];
  napi_value self;
  napi_value result;
  fl_writer_t *w = NULL;
  fl_bytes_t frame;
  uint32_t call;
  int32_t fd;
  int rc;

  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, &self, NULL));
  FL_TRY(env, napi_unwrap(env, self, (void **) &w));
  FL_TRY(env, napi_get_value_int32(env, argv[0], &fd));

  /* A getter of the value may send another message: that one finds no scratch
   * memory and makes its own, and is written first, as it is under Node. The
   * caller's `fd` speaks of the time before, so it does not count then. */
  frame = w->scratch;
  w->scratch = (fl_bytes_t) FL_BYTES_INIT;
  call = ++w->calls;
  rc = make_frame(env, content, argv[1], &frame);
  if (rc == FL_OK) rc = post_frame(w, call == w->calls ? fd : -1, &frame);
  if (w->scratch.base == NULL) {
    fl_bytes_clear(&frame, KEEP);
    w->scratch = frame;
  } else {
    fl_bytes_destroy(&frame);
  }

  switch (rc) {
    case FL_ECODEC_EXCEPTION:
      return NULL;
    case FL_ECODEC_ESCAPE:
      FL_TRY(env, napi_get_undefined(env, &result));
      return result;
    case FL_ENOMEM:
    case FL_ETOOLONG:
      fl_env_throw(env, rc);
      return NULL;
    default:
      FL_TRY(env, napi_create_double(env, rc < 0 ? rc : (double) w->outbox.size,
                                     &result));
      return result;
  }
}

/* text(fd, json), string(fd, string), advanced(fd, value) -> number
 *
 * Makes the frame of a JSON text, of a string message, or of any value in V8's
 * format, and writes it to the socket `fd`; or to the outbox alone if `fd` is
 * negative. Returns the number of bytes in the outbox, or a negative errno if
 * the socket refused the frame. string() returns undefined, having done
 * nothing, for a string that needs JSON.stringify(). */
static napi_value fl_js_writer_text(napi_env env, napi_callback_info info) {
  return send_value(env, info, TEXT);
}

static napi_value fl_js_writer_string(napi_env env, napi_callback_info info) {
  return send_value(env, info, STRING);
}

static napi_value fl_js_writer_advanced(napi_env env, napi_callback_info info) {
  return send_value(env, info, ADVANCED);
}

/* flush(fd) -> number
 *
 * Writes what waits, until the socket is full or the share of one turn is used
 * up. Results as of text(); after an error of the socket what waits is gone. */
static napi_value fl_js_writer_flush(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  napi_value self;
  napi_value result;
  fl_writer_t *w = NULL;
  const uint8_t *data;
  size_t len;
  size_t written = 0;
  int32_t fd;
  int64_t n = 0;

  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, &self, NULL));
  FL_TRY(env, napi_unwrap(env, self, (void **) &w));
  FL_TRY(env, napi_get_value_int32(env, argv[0], &fd));

  while (written < FLUSH_MAX) {
    data = fl_outbox_front(&w->outbox, &len);
    if (data == NULL) break;
    n = fl_socket_write(fd, data, len);
    if (n < 0) {
      fl_outbox_destroy(&w->outbox);
      break;
    }
    fl_outbox_drop(&w->outbox, (size_t) n);
    written += (size_t) n;
    if ((size_t) n < len && (w->outbox.size < FLUSH_PATIENT_ABOVE ||
                             !fl_socket_wait(fd, FLUSH_WAIT_MS)))
      break;
  }

  FL_TRY(env, napi_create_double(
                  env, n < 0 ? (double) n : (double) w->outbox.size, &result));
  return result;
}

static void bytes_finalize(napi_env env, void *data, void *hint) {
  (void) env;
  (void) hint;
  free(data);
}

/* A Uint8Array with a copy of `len` bytes. */
static napi_value copy_out(napi_env env, const uint8_t *data, size_t len) {
  napi_value buffer;
  napi_value result;
  void *copy;

  FL_TRY(env, napi_create_arraybuffer(env, len, &copy, &buffer));
  memcpy(copy, data, len);
  FL_TRY(env, napi_create_typedarray(env, napi_uint8_array, len, buffer, 0,
                                     &result));
  return result;
}

/* take(max) -> Uint8Array or undefined: the next piece of what waits, or the
 * first `max` bytes of a larger one, for Node to write. */
static napi_value fl_js_writer_take(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  napi_value self;
  napi_value buffer;
  napi_value result;
  fl_writer_t *w = NULL;
  const uint8_t *data;
  fl_bytes_t bytes;
  size_t head;
  size_t len;
  double max;

  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, &self, NULL));
  FL_TRY(env, napi_unwrap(env, self, (void **) &w));
  FL_TRY(env, napi_get_value_double(env, argv[0], &max));
  /* Node writes next: a frame that is being made must not pass it. */
  w->calls++;
  data = fl_outbox_front(&w->outbox, &len);
  if (data == NULL) {
    FL_TRY(env, napi_get_undefined(env, &result));
    return result;
  }
  if ((double) len > max) {
    result = copy_out(env, data, (size_t) max);
    if (result != NULL) fl_outbox_drop(&w->outbox, (size_t) max);
    return result;
  }

  fl_outbox_take(&w->outbox, &bytes, &head);
  if (napi_create_external_arraybuffer(env, bytes.base, bytes.len,
                                       bytes_finalize, NULL,
                                       &buffer) == napi_ok) {
    FL_TRY(env, napi_create_typedarray(env, napi_uint8_array, len, buffer, head,
                                       &result));
    return result;
  }
  /* A runtime may refuse memory that is not its own. */
  result = copy_out(env, data, len);
  fl_bytes_destroy(&bytes);
  return result;
}

napi_value fl_js_define_writer(napi_env env) {
  napi_property_descriptor properties[] = {
      {"text", NULL, fl_js_writer_text, NULL, NULL, NULL, napi_default, NULL},
      {"string", NULL, fl_js_writer_string, NULL, NULL, NULL, napi_default,
       NULL},
      {"advanced", NULL, fl_js_writer_advanced, NULL, NULL, NULL, napi_default,
       NULL},
      {"flush", NULL, fl_js_writer_flush, NULL, NULL, NULL, napi_default, NULL},
      {"take", NULL, fl_js_writer_take, NULL, NULL, NULL, napi_default, NULL},
  };
  napi_value constructor;

  FL_TRY(env,
         napi_define_class(env, "Writer", NAPI_AUTO_LENGTH, fl_js_writer_new,
                           NULL, sizeof(properties) / sizeof(properties[0]),
                           properties, &constructor));
  return constructor;
}
