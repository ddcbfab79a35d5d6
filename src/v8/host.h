/* SPDX-License-Identifier: MIT
 *
 * Node's own C++ interface, seen from C.
 */
#ifndef FL_HOST_H
#define FL_HOST_H

#include <node_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The NODE_MODULE_VERSION that the bridge was compiled for. */
int fl_host_abi(void);

/* Calls a JavaScript function from the event loop, as Node calls its own: ticks
 * and microtasks run afterwards, and what it throws is an uncaught exception.
 * NULL then, else what it returns.
 */
napi_value fl_host_call(napi_env env, napi_value self, napi_value function,
                        size_t argc, napi_value *argv);

/* Has `callback` called when the process or the worker ends of itself, after
 * everything of JavaScript. */
void fl_host_at_exit(napi_env env, void (*callback)(void *), void *arg);

/* Makes an array of `n` values; NULL with an exception pending. */
napi_value fl_host_array(napi_env env, napi_value *values, size_t n);

#ifdef __cplusplus
}
#endif

#endif
