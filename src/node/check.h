/* SPDX-License-Identifier: MIT
 *
 * Looks at the status of every Node-API call. A function of the binding
 * returns NULL to JavaScript after a failed call: an exception is pending then,
 * or the environment cannot run JavaScript any more, and both are told by
 * returning quietly.
 */
#ifndef FL_CHECK_H
#define FL_CHECK_H

#include <node_api.h>

/* Turns a failed status into an exception, unless one is pending already. */
void fl_check_failed(napi_env env, napi_status status);

#define FL_TRY(env, call)                                                      \
  do {                                                                         \
    napi_status fl_status_ = (call);                                           \
    if (fl_status_ != napi_ok) {                                               \
      fl_check_failed((env), fl_status_);                                      \
      return NULL;                                                             \
    }                                                                          \
  } while (0)

#endif
