/* SPDX-License-Identifier: MIT
 *
 * JavaScript strings and JSON, seen from C: to the bytes of frames and records
 * and back. Status codes and circumstances as in codec.h.
 */
#ifndef FL_TEXT_H
#define FL_TEXT_H

#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/bytes.h"
#include "codec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends a JavaScript string as UTF-8 (unpaired surrogates become U+FFFD).
 * FL_OK, FL_ENOMEM, or FL_ECODEC_EXCEPTION for a value that is no string. */
int fl_text_write(napi_env env, napi_value text, fl_bytes_t *out);

/* Appends a JavaScript string as a JSON string if its characters can stand
 * there unescaped. FL_ECODEC_ESCAPE if they cannot, else as of
 * fl_text_write(). After an error `out` is as long as it was. */
int fl_text_write_json_string(napi_env env, napi_value text, fl_bytes_t *out);

/* Reads one JSON text in UTF-8. Results as of fl_codec_read_advanced(). */
int fl_text_read_json_utf8(napi_env env, const uint8_t *data, size_t len,
                           napi_value *result);

/* The length of a JavaScript string as V8 keeps it: one byte a character
 * (Latin-1), or two bytes a unit (UTF-16). FL_OK, or FL_ECODEC_EXCEPTION for a
 * value that is no string. */
int fl_text_measure(napi_env env, napi_value text, size_t *len, bool *utf16);

/* Copies `len` bytes of the string from byte `from` on, both as of
 * fl_text_measure(); `to` is aligned for a UTF-16 unit. */
void fl_text_copy(napi_env env, napi_value text, bool utf16, size_t from,
                  size_t len, uint8_t *to);

/* Makes a string of Latin-1 bytes, or of UTF-16 units in any alignment, or the
 * value that they are the JSON text of. The bytes may change meanwhile. Results
 * as of fl_codec_read_advanced(). */
int fl_text_read(napi_env env, const uint8_t *data, size_t len, bool utf16,
                 napi_value *result);
int fl_text_read_json(napi_env env, const uint8_t *data, size_t len, bool utf16,
                      napi_value *result);

/* The same, without a copy: takes the memory of `bytes` over, in any case. */
int fl_text_adopt(napi_env env, fl_bytes_t *bytes, bool utf16,
                  napi_value *result);
int fl_text_adopt_json(napi_env env, fl_bytes_t *bytes, bool utf16,
                       napi_value *result);

#ifdef __cplusplus
}
#endif

#endif
