/* SPDX-License-Identifier: MIT
 * Records to JavaScript values.
 */
#include <string.h>

#include "../core/status.h"
#include "../v8/codec.h"
#include "../v8/text.h"
#include "lane_wrap.h"

static int read_bytes(fl_lane_wrap_t *w, const fl_message_t *m,
                      napi_value *value) {
  napi_env env = w->env;
  fl_bytes_t *assembly = &w->lane.assembly;
  fl_env_t *state;
  int rc;

  switch (m->kind) {
    case FL_KIND_LATIN1:
    case FL_KIND_UTF16:
      return m->owned
                 ? fl_text_adopt(env, assembly, m->kind == FL_KIND_UTF16, value)
                 : fl_text_read(env, m->data, m->len, m->kind == FL_KIND_UTF16,
                                value);
    case FL_KIND_JSON_LATIN1:
    case FL_KIND_JSON_UTF16:
      return m->owned ? fl_text_adopt_json(env, assembly,
                                           m->kind == FL_KIND_JSON_UTF16, value)
                      : fl_text_read_json(env, m->data, m->len,
                                          m->kind == FL_KIND_JSON_UTF16, value);
    default:
      state = fl_env_get(env);
      if (state == NULL) return FL_ECODEC_EXCEPTION;
      if (m->owned)
        return fl_codec_read_advanced(state->codec, env, m->data, m->len,
                                      value);
      /* V8 does not expect its input to change while it reads. */
      fl_bytes_clear(&w->scratch, FL_LANE_KEEP);
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

int fl__lane_read(fl_lane_wrap_t *w, napi_value faults) {
  fl_message_t m;
  napi_value value;
  int more;
  int rc = FL_OK;

  if (w->told) return FL_OK;
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
  if (rc != FL_ECODEC_EXCEPTION && more < 0) {
    w->told = true;
    if (fl_batch_end(w->env, &w->batch, faults, more) == NULL)
      rc = FL_ECODEC_EXCEPTION;
  }
  if (rc != FL_ECODEC_EXCEPTION) return FL_OK;
  w->batch.count = 0;
  return rc;
}
