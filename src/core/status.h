/* SPDX-License-Identifier: MIT
 *
 * Status codes of the core and the transport. Zero or a count means success;
 * failures are negative. One list makes the constants and their texts.
 */
#ifndef FL_STATUS_H
#define FL_STATUS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Far below libuv's and errno's range, so that both fit beside it in an int. */
#define FL_STATUS_MAP(X)                                                       \
  X(FL_ENOMEM, -10001, "out of memory")                                        \
  X(FL_ETOOLONG, -10002, "message longer than the maximum message size")       \
  X(FL_ECORRUPT, -10003, "shared memory that makes no sense")

enum fl_status {
  FL_OK = 0,
#define X(name, value, text) name = value,
  FL_STATUS_MAP(X)
#undef X
};

/* Whether it is one of these, and not a code of the system. */
bool fl_status_is_own(int status);

/* The constant's name ("FL_ETOOLONG"), or "FL_EUNKNOWN". Static storage. */
const char *fl_status_name(int status);

/* One English phrase without a full stop. Static storage. */
const char *fl_status_text(int status);

#ifdef __cplusplus
}
#endif

#endif
