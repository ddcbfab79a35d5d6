/* SPDX-License-Identifier: MIT
 *
 * State of the binding in one environment (the main thread, or one worker).
 */
#ifndef FL_ENV_H
#define FL_ENV_H

#include <node_api.h>

#include "../v8/codec.h"

typedef struct fl_lane_wrap_s fl_lane_wrap_t;

typedef struct fl_env_s {
  fl_codec_t *codec;     /* NULL until lib/codec.js has called setHelpers() */
  fl_lane_wrap_t *lanes; /* the open ones */
  int *descriptors;      /* those that createRing() made and nobody has taken:
                            a worker may be terminated at any moment */
  size_t descriptor_count;
  struct fl_env_s **exit; /* points back here; outlives it if need be */
} fl_env_t;

/* The state of `env`; NULL with an exception pending. */
fl_env_t *fl_env_get(napi_env env);

/* Has `fd` closed with the environment; FL_OK or FL_ENOMEM. And not any more.
 */
int fl_env_own(fl_env_t *state, int fd);
void fl_env_disown(fl_env_t *state, int fd);

/* Throws an error for a status of the core, or a code of the system: its `code`
 * is ERR_FORKLANE_ with the constant's name, or the system's name. */
void fl_env_throw(napi_env env, int status);

/* The classes Reader and Writer; NULL with an exception pending. */
napi_value fl_js_define_reader(napi_env env);
napi_value fl_js_define_writer(napi_env env);

/* Adds the class Lane and what belongs to it; NULL with an exception pending.
 */
napi_value fl_js_define_lane(napi_env env, napi_value exports);

/* Sends what waits in the lanes of this environment, which ends. */
void fl_lanes_flush_at_exit(fl_env_t *state);

#endif
