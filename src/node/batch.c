/* SPDX-License-Identifier: MIT
 * The messages of one read.
 */
#include "batch.h"

#include <stdlib.h>

#include "../core/status.h"
#include "../v8/codec.h"
#include "../v8/host.h"
#include "check.h"

/* Room for so many values is kept between reads. */
enum { KEEP_VALUES = 1024 };

int fl_batch_push(fl_batch_t *batch, napi_value value) {
  if (batch->count == batch->cap) {
    size_t cap = batch->cap == 0 ? 16 : batch->cap * 2;
    napi_value *values = realloc(batch->values, cap * sizeof(*values));
    if (values == NULL) return FL_ENOMEM;
    batch->values = values;
    batch->cap = cap;
  }
  batch->values[batch->count++] = value;
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

int fl_batch_push_fault(napi_env env, fl_batch_t *batch, napi_value faults,
                        napi_value reason) {
  napi_value nothing;

  if (add_fault(env, faults, batch->count, reason) == NULL ||
      napi_get_undefined(env, &nothing) != napi_ok)
    return FL_ECODEC_EXCEPTION;
  return fl_batch_push(batch, nothing);
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

napi_value fl_batch_end(napi_env env, const fl_batch_t *batch,
                        napi_value faults, int status) {
  napi_value error = status_error(env, status);

  return error == NULL ? NULL : add_fault(env, faults, batch->count, error);
}

napi_value fl_batch_take(napi_env env, fl_batch_t *batch) {
  napi_value array = fl_host_array(env, batch->values, batch->count);

  batch->count = 0;
  if (batch->cap > KEEP_VALUES) fl_batch_destroy(batch);
  return array;
}

void fl_batch_destroy(fl_batch_t *batch) {
  free(batch->values);
  *batch = (fl_batch_t){NULL, 0, 0};
}
