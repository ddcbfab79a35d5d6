/* SPDX-License-Identifier: MIT
 * Names and texts of the status codes.
 */
#include "status.h"

bool fl_status_is_own(int status) {
  switch (status) {
#define X(name, value, text) case name:
    FL_STATUS_MAP(X)
#undef X
    return true;
    default:
      return false;
  }
}

const char *fl_status_name(int status) {
  switch (status) {
    case FL_OK:
      return "FL_OK";
#define X(name, value, text)                                                   \
  case name:                                                                   \
    return #name;
      FL_STATUS_MAP(X)
#undef X
    default:
      return "FL_EUNKNOWN";
  }
}

const char *fl_status_text(int status) {
  switch (status) {
    case FL_OK:
      return "success";
#define X(name, value, text)                                                   \
  case name:                                                                   \
    return text;
      FL_STATUS_MAP(X)
#undef X
    default:
      return "unknown status";
  }
}
