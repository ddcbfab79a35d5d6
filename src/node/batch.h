/* SPDX-License-Identifier: MIT
 *
 * The messages of one read, on their way to lib/channel.js: an array of values,
 * and what is wrong with those that are none.
 */
#ifndef FL_BATCH_H
#define FL_BATCH_H

#include <node_api.h>
#include <stddef.h>

/* All zero is a valid empty batch. The values live in the caller's handle
 * scope; the memory that holds them is used again for the next batch. */
typedef struct fl_batch_s {
  napi_value *values;
  size_t count;
  size_t cap;
} fl_batch_t;

/* FL_OK or FL_ENOMEM. */
int fl_batch_push(fl_batch_t *batch, napi_value value);

/* Puts undefined (which no message is) in the place of the next value, and
 * appends its index and the reason to the array `faults`, flat. FL_OK;
 * FL_ENOMEM; FL_ECODEC_EXCEPTION. */
int fl_batch_push_fault(napi_env env, fl_batch_t *batch, napi_value faults,
                        napi_value reason);

/* Says that nothing can be read any more: appends the index of the array's end
 * and an error for `status` to `faults`. NULL with an exception pending. */
napi_value fl_batch_end(napi_env env, const fl_batch_t *batch,
                        napi_value faults, int status);

/* The values as an array, and an empty batch again. NULL with an exception
 * pending. */
napi_value fl_batch_take(napi_env env, fl_batch_t *batch);

/* Frees the memory. The batch is empty afterwards. */
void fl_batch_destroy(fl_batch_t *batch);

#endif
