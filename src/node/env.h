/* SPDX-License-Identifier: MIT
 *
 * State of the binding in one environment (the main thread, or one worker).
 */
#ifndef FL_ENV_H
#define FL_ENV_H

#include <node_api.h>

#include "../v8/codec.h"

typedef struct fl_env_s {
  fl_codec_t *codec; /* NULL until lib/codec.js has called setHelpers() */
} fl_env_t;

/* The state of `env`; NULL with an exception pending. */
fl_env_t *fl_env_get(napi_env env);

/* Throws the error that lib expects for a status of the core: its `code` is
 * the name of the constant. */
void fl_env_throw(napi_env env, int status);

/* The classes Reader and Writer; NULL with an exception pending. */
napi_value fl_js_define_reader(napi_env env);
napi_value fl_js_define_writer(napi_env env);

#endif
