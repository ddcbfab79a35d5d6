/* SPDX-License-Identifier: MIT
 *
 * What the addon exports: Reader, Writer, Lane, createRing(),
 * closeDescriptors(), ringVersion, setHelpers(), fatalException() and v8Abi.
 * All state is per environment and is freed with it; nothing here outlives a
 * worker.
 */
#include <node_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "../core/status.h"
#include "../v8/host.h"
#include "check.h"
#include "env.h"

fl_env_t *fl_env_get(napi_env env) {
  void *state = NULL;
  FL_TRY(env, napi_get_instance_data(env, &state));
  return state;
}

void fl_env_throw(napi_env env, int status) {
  char code[64];
  char text[128];

  if (fl_status_is_own(status)) {
    /* FL_ETOOLONG is ERR_FORKLANE_TOOLONG for programs. */
    (void) snprintf(code, sizeof(code), "ERR_FORKLANE_%s",
                    fl_status_name(status) + strlen("FL_E"));
    (void) napi_throw_error(env, code, fl_status_text(status));
  } else {
    (void) napi_throw_error(env, uv_err_name_r(status, code, sizeof(code)),
                            uv_strerror_r(status, text, sizeof(text)));
  }
}

int fl_env_own(fl_env_t *state, int fd) {
  size_t count = state->descriptor_count + 1;
  int *descriptors = realloc(state->descriptors, count * sizeof(int));

  if (descriptors == NULL) return FL_ENOMEM;
  descriptors[count - 1] = fd;
  state->descriptors = descriptors;
  state->descriptor_count = count;
  return FL_OK;
}

void fl_env_disown(fl_env_t *state, int fd) {
  for (size_t i = 0; i < state->descriptor_count; i++) {
    if (state->descriptors[i] != fd) continue;
    state->descriptors[i] = state->descriptors[--state->descriptor_count];
    return;
  }
}

static void env_destroy(napi_env env, void *data, void *hint) {
  fl_env_t *state = data;
  (void) env;
  (void) hint;
  if (state->exit != NULL) *state->exit = NULL;
  for (size_t i = 0; i < state->descriptor_count; i++)
    (void) close(state->descriptors[i]);
  free(state->descriptors);
  fl_codec_destroy(state->codec);
  free(state);
}

/* Node may call this before or after the environment's data is gone. */
static void at_exit(void *data) {
  fl_env_t **exit = data;
  if (*exit != NULL) {
    (*exit)->exit = NULL;
    fl_lanes_flush_at_exit(*exit);
  }
  free(exit);
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
  state->exit = malloc(sizeof(*state->exit));
  if (state->exit != NULL) {
    *state->exit = state;
    fl_host_at_exit(env, at_exit, state->exit);
  }
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

  FL_TRY(env, napi_create_int32(env, fl_host_abi(), &value));
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
  return fl_js_define_lane(env, exports);
}

NAPI_MODULE(NODE_GYP_MODULE_NAME, init)
