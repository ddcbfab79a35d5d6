/* SPDX-License-Identifier: MIT
 * What happens after a failed Node-API call.
 */
#include "check.h"

#include <stdbool.h>

void fl_check_failed(napi_env env, napi_status status) {
  const napi_extended_error_info *info = NULL;
  const char *message = NULL;
  bool pending = false;

  /* Where JavaScript cannot run any more the calls below fail as well, and
   * nothing is thrown. */
  if (status == napi_pending_exception) return;
  /* The next call clears what `info` points to; the text itself is static. */
  if (napi_get_last_error_info(env, &info) == napi_ok)
    message = info->error_message;
  if (napi_is_exception_pending(env, &pending) != napi_ok || pending) return;
  (void) napi_throw_error(env, "ERR_FORKLANE_BINDING",
                          message != NULL ? message : "Node-API call failed");
}
