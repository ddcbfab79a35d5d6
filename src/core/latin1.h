/* SPDX-License-Identifier: MIT
 *
 * V8 keeps a string whose characters are all below U+0100 as one byte each
 * (Latin-1). The wire wants UTF-8; the two are the same below 0x80.
 */
#ifndef FL_LATIN1_H
#define FL_LATIN1_H

#include <stddef.h>

#include "bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the bytes of `b` from offset `start` as Latin-1 and makes them UTF-8
 * in place; does nothing but look if they are ASCII. FL_OK, or FL_ENOMEM with
 * everything as it was. */
int fl_latin1_to_utf8(fl_bytes_t *b, size_t start);

#ifdef __cplusplus
}
#endif

#endif
