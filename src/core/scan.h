/* SPDX-License-Identifier: MIT
 *
 * Questions about a run of bytes that are asked for every message. None of
 * them reads outside [data, data + n); `data` may be NULL if `n` is 0.
 */
#ifndef FL_SCAN_H
#define FL_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first newline (0x0a), or NULL. */
const uint8_t *fl_scan_newline(const uint8_t *data, size_t n);

/* Whether every byte is below 0x80. */
bool fl_scan_is_ascii(const uint8_t *data, size_t n);

/* Whether the bytes can stand between the quotes of a JSON string as they are
 * and mean themselves: ASCII, no quote, no backslash, nothing below 0x20
 * (RFC 8259, section 7). */
bool fl_scan_is_plain(const uint8_t *data, size_t n);

#ifdef __cplusplus
}
#endif

#endif
