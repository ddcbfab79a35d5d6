/* SPDX-License-Identifier: MIT
 *
 * The one place where the core gets memory. A test defines FL_ALLOC_HEADER to
 * a header with its own fl_realloc and fl_free, to make the Nth call fail.
 */
#ifndef FL_ALLOC_H
#define FL_ALLOC_H

#ifdef FL_ALLOC_HEADER
#include FL_ALLOC_HEADER
#else
#include <stdlib.h>
#define fl_realloc realloc
#define fl_free free
#endif

#endif
