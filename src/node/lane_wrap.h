/* SPDX-License-Identifier: MIT
 *
 * The parts of class Lane: lane_wrap.c has its life and its methods,
 * lane_read.c and lane_send.c the way between values and records.
 */
#ifndef FL_LANE_WRAP_H
#define FL_LANE_WRAP_H

#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "../transport/lane.h"
#include "batch.h"
#include "env.h"

/* Memory that an idle lane may hold on to, in bytes. */
enum { FL_LANE_KEEP = 64 * 1024 };

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
  bool told;      /* JavaScript knows that nothing can be read any more */
  bool collected; /* the JavaScript object is gone */
};

/* Reads into the batch what the lane gives; what is no message goes to the
 * array `faults`. FL_OK, or FL_ECODEC_EXCEPTION with an empty batch. */
int fl__lane_read(fl_lane_wrap_t *w, napi_value faults);

/* Sends a message. FL_OK; FL_ECODEC_ESCAPE, with nothing done, for an object of
 * the json mode; FL_ECODEC_EXCEPTION; FL_ENOMEM. */
int fl__lane_send(fl_lane_wrap_t *w, napi_value value);

/* Sends the value of a JSON text. Results as above, but for the second. */
int fl__lane_send_json(fl_lane_wrap_t *w, napi_value text);

#endif
