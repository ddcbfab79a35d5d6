/* SPDX-License-Identifier: MIT
 *
 * What the addon exports: Reader, Writer, setHelpers(), fatalException() and
 * v8Abi. All state is per environment and is freed with it; nothing here
 * outlives a worker.
 */
#include <node_api.h>
#include <stdlib.h>

#include "../core/status.h"
#include "check.h"
#include "env.h"

fl_env_t *fl_env_get(napi_env env) {
  void *state = NULL;
  FL_TRY(env, napi_get_instance_data(env, &state));
  return state;
}

void fl_env_throw(napi_env env, int status) {
  (void) napi_throw_error(env, fl_status_name(status), fl_status_text(status));
}

static void env_destroy(napi_env env, void *data, void *hint) {
  fl_env_t *state = data;
  (void) env;
  (void) hint;
  fl_codec_destroy(state->codec);
  free(state);
}

/* setHelpers(helpers): what the codec needs of JavaScript. Once. */
static napi_value fl_js_set_helpers(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  fl_env_t *state = fl_env_get(env);

  if (state == NULL) return NULL;
  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  if (state->codec != NULL) return NULL;
  state->codec = fl_codec_create(env, argv[0]);
  if (state->codec == NULL) fl_env_throw(env, FL_ENOMEM);
  return NULL;
}

/* fatalException(error): what Node does with an exception that reaches the
 * event loop. Returns if the program has handled it. */
static napi_value fl_js_fatal_exception(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];

  FL_TRY(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  FL_TRY(env, napi_fatal_exception(env, argv[0]));
  return NULL;
}

static napi_value init(napi_env env, napi_value exports) {
  fl_env_t *state;
  napi_value value;

  state = calloc(1, sizeof(*state));
  if (state == NULL) {
    fl_env_throw(env, FL_ENOMEM);
    return NULL;
  }
  if (napi_set_instance_data(env, state, env_destroy, NULL) != napi_ok) {
    free(state);
    return NULL;
  }

  FL_TRY(env, napi_create_int32(env, fl_codec_abi(), &value));
  FL_TRY(env, napi_set_named_property(env, exports, "v8Abi", value));
  FL_TRY(env, napi_create_function(env, "setHelpers", NAPI_AUTO_LENGTH,
                                   fl_js_set_helpers, NULL, &value));
  FL_TRY(env, napi_set_named_property(env, exports, "setHelpers", value));
  FL_TRY(env, napi_create_function(env, "fatalException", NAPI_AUTO_LENGTH,
                                   fl_js_fatal_exception, NULL, &value));
  FL_TRY(env, napi_set_named_property(env, exports, "fatalException", value));
  value = fl_js_define_reader(env);
  if (value == NULL) return NULL;
  FL_TRY(env, napi_set_named_property(env, exports, "Reader", value));
  value = fl_js_define_writer(env);
  if (value == NULL) return NULL;
  FL_TRY(env, napi_set_named_property(env, exports, "Writer", value));
  return exports;
}

NAPI_MODULE(NODE_GYP_MODULE_NAME, init)
