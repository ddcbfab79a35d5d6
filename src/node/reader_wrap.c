/* SPDX-License-Identifier: MIT
 *
 * Reader: chunks of the channel's socket in, JavaScript values out. One call
 * for a chunk, whatever the number of messages in it.
 */
#include <node_api.h>
#include <stdlib.h>

#include "../core/frame.h"
#include "../core/status.h"
#include "../v8/codec.h"
#include "check.h"
#include "env.h"

typedef struct fl_reader_s {
  fl_frame_t frame;
  napi_value *values; /* room for the values of one chunk */
  size_t cap;
} fl_reader_t;

enum { KEEP_VALUES = 1024 };

static void reader_free(fl_reader_t *r) {
  fl_frame_destroy(&r->frame);
  free(r->values);
  free(r);
}

static void reader_finalize(napi_env env, void *data, void *hint) {
  (void) env;
  (void) hint;
  reader_free(data);
}

/* new Reader(format, maxMessageSize): format is fl_frame_format_t, the size a
 * number of bytes. */
static napi_value fl_js_reader_new(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value argv[2];
  napi_value self;
  uint32_t format;
  double max;
  fl_reader_t *r;

  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, &self, NULL));
  FL_TRY(env, napi_get_value_uint32(env, argv[0], &format));
  FL_TRY(env, napi_get_value_double(env, argv[1], &max));

  r = calloc(1, sizeof(*r));
  if (r == NULL) {
    fl_env_throw(env, FL_ENOMEM);
    return NULL;
  }
  fl_frame_init(&r->frame,
                format == FL_FRAME_LENGTH ? FL_FRAME_LENGTH : FL_FRAME_LINES,
                max >= 0 && max < (double) SIZE_MAX ? (size_t) max : SIZE_MAX);
  if (napi_wrap(env, self, r, reader_finalize, NULL, NULL) != napi_ok) {
    reader_free(r);
    fl_env_throw(env, FL_ENOMEM);
    return NULL;
  }
  return self;
}

static int push_value(fl_reader_t *r, size_t count, napi_value value) {
  if (count == r->cap) {
    size_t cap = r->cap == 0 ? 16 : r->cap * 2;
    napi_value *values = realloc(r->values, cap * sizeof(*values));
    if (values == NULL) return FL_ENOMEM;
    r->values = values;
    r->cap = cap;
  }
  r->values[count] = value;
  return FL_OK;
}

/* Appends [index, reason] to the array `faults`, flat. */
static napi_value add_fault(napi_env env, napi_value faults, size_t index,
                            napi_value reason) {
  uint32_t length;
  napi_value at;

  FL_TRY(env, napi_get_array_length(env, faults, &length));
  FL_TRY(env, napi_create_uint32(env, (uint32_t) index, &at));
  FL_TRY(env, napi_set_element(env, faults, length, at));
  FL_TRY(env, napi_set_element(env, faults, length + 1, reason));
  return faults;
}

static napi_value status_error(napi_env env, int status) {
  napi_value code;
  napi_value text;
  napi_value error;

  FL_TRY(env, napi_create_string_utf8(env, fl_status_name(status),
                                      NAPI_AUTO_LENGTH, &code));
  FL_TRY(env, napi_create_string_utf8(env, fl_status_text(status),
                                      NAPI_AUTO_LENGTH, &text));
  FL_TRY(env, napi_create_error(env, code, text, &error));
  return error;
}

/* feed(arrayBuffer, offset, length, faults) -> values
 *
 * The values of all frames that end in these bytes, in order. A frame with bad
 * content has undefined in its place (no message is undefined), and its index
 * and the reason are appended to the array `faults`. If the boundaries are
 * lost, the last fault has the index of the array's end. */
static napi_value fl_js_reader_feed(napi_env env, napi_callback_info info) {
  size_t argc = 4;
  napi_value argv[4];
  napi_value self;
  napi_value value;
  void *memory;
  size_t memory_len;
  uint32_t offset;
  uint32_t length;
  fl_reader_t *r = NULL;
  fl_frame_view_t view;
  size_t count = 0;
  int more;
  int rc;
  fl_env_t *state = fl_env_get(env);

  if (state == NULL) return NULL;
  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, &self, NULL));
  FL_TRY(env, napi_unwrap(env, self, (void **) &r));
  FL_TRY(env, napi_get_arraybuffer_info(env, argv[0], &memory, &memory_len));
  FL_TRY(env, napi_get_value_uint32(env, argv[1], &offset));
  FL_TRY(env, napi_get_value_uint32(env, argv[2], &length));
  if (offset > memory_len || length > memory_len - offset) {
    (void) napi_throw_range_error(env, "ERR_OUT_OF_RANGE",
                                  "Bytes outside the buffer");
    return NULL;
  }

  if (length > 0)
    fl_frame_feed(&r->frame, (const uint8_t *) memory + offset, length);
  while ((more = fl_frame_next(&r->frame, &view)) == 1) {
    rc = r->frame.format == FL_FRAME_LENGTH
             ? fl_codec_read_advanced(state->codec, env, view.data, view.len,
                                      &value)
             : fl_codec_read_json(env, view.data, view.len, &value);
    if (rc == FL_ECODEC_EXCEPTION) return NULL;
    if (rc == FL_ECODEC_VALUE) {
      if (add_fault(env, argv[3], count, value) == NULL) return NULL;
      FL_TRY(env, napi_get_undefined(env, &value));
    }
    if (push_value(r, count, value) != FL_OK) {
      more = FL_ENOMEM;
      break;
    }
    count++;
  }
  if (more < 0) {
    value = status_error(env, more);
    if (value == NULL || add_fault(env, argv[3], count, value) == NULL)
      return NULL;
  }

  value = fl_codec_array(env, r->values, count);
  if (r->cap > KEEP_VALUES) {
    free(r->values);
    r->values = NULL;
    r->cap = 0;
  }
  return value;
}

/* pending() -> bytes of a frame that is not complete yet. */
static napi_value fl_js_reader_pending(napi_env env, napi_callback_info info) {
  size_t argc = 0;
  napi_value self;
  napi_value result;
  fl_reader_t *r = NULL;

  FL_TRY(env, napi_get_cb_info(env, info, &argc, NULL, &self, NULL));
  FL_TRY(env, napi_unwrap(env, self, (void **) &r));
  FL_TRY(env, napi_create_double(env, (double) fl_frame_pending(&r->frame),
                                 &result));
  return result;
}

napi_value fl_js_define_reader(napi_env env) {
  napi_property_descriptor properties[] = {
      {"feed", NULL, fl_js_reader_feed, NULL, NULL, NULL, napi_default, NULL},
      {"pending", NULL, fl_js_reader_pending, NULL, NULL, NULL, napi_default,
       NULL},
  };
  napi_value constructor;

  FL_TRY(env,
         napi_define_class(env, "Reader", NAPI_AUTO_LENGTH, fl_js_reader_new,
                           NULL, sizeof(properties) / sizeof(properties[0]),
                           properties, &constructor));
  return constructor;
}
