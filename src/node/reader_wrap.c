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
#include "../v8/text.h"
#include "batch.h"
#include "check.h"
#include "env.h"

typedef struct fl_reader_s {
  fl_frame_t frame;
  fl_batch_t batch;
} fl_reader_t;

static void reader_free(fl_reader_t *r) {
  fl_frame_destroy(&r->frame);
  fl_batch_destroy(&r->batch);
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
             : fl_text_read_json_utf8(env, view.data, view.len, &value);
    if (rc == FL_OK)
      rc = fl_batch_push(&r->batch, value);
    else if (rc == FL_ECODEC_VALUE)
      rc = fl_batch_push_fault(env, &r->batch, argv[3], value);
    if (rc == FL_ECODEC_EXCEPTION) {
      r->batch.count = 0;
      return NULL;
    }
    if (rc != FL_OK) {
      more = rc;
      break;
    }
  }
  if (more < 0 && fl_batch_end(env, &r->batch, argv[3], more) == NULL) {
    r->batch.count = 0;
    return NULL;
  }
  return fl_batch_take(env, &r->batch);
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
