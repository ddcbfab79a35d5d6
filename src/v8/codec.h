/* SPDX-License-Identifier: MIT
 *
 * The bridge to V8, seen from C: JavaScript values to the content of frames and
 * back, in both codecs of Node's channel. codec.cc is the only file that
 * includes v8.h, which ties the binary to one NODE_MODULE_VERSION.
 *
 * Every function runs on the thread of its environment, inside a callback of
 * it, with a handle scope open. Functions that return FL_ECODEC_EXCEPTION left
 * a JavaScript exception pending: the caller returns to JavaScript at once.
 */
#ifndef FL_CODEC_H
#define FL_CODEC_H

#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FL_ECODEC_EXCEPTION = -10101, /* a JavaScript exception is pending */
  FL_ECODEC_VALUE = -10102,     /* bad content; the reason is a value */
  FL_ECODEC_ESCAPE = -10103     /* the string cannot be written as it is */
};

/* What the codecs of one environment share. */
typedef struct fl_codec_s fl_codec_t;

/* The NODE_MODULE_VERSION that the bridge was compiled for. */
int fl_codec_abi(void);

/* `helpers` is an object with the members of lib/codec.js. The result
 * is the caller's, to be ended with fl_codec_destroy(); NULL without memory. */
fl_codec_t *fl_codec_create(napi_env env, napi_value helpers);

/* `codec` may be NULL. */
void fl_codec_destroy(fl_codec_t *codec);

/* Appends the V8 serialization of `value`, with its header, to `out`. May run
 * JavaScript (getters, proxies), which may call anything here again, but not
 * with the same `out`. FL_OK or FL_ECODEC_EXCEPTION; after an error `out` is as
 * long as it was. */
int fl_codec_write_advanced(fl_codec_t *codec, napi_env env, napi_value value,
                            fl_bytes_t *out);

/* As fl_codec_write_advanced(), but into the `room` bytes at `at` if that is
 * enough: `*used` is the number of bytes there then, and nothing is appended to
 * `out`. Else `*used` is 0. What is at `at` afterwards does not matter to it.
 */
int fl_codec_write_advanced_at(fl_codec_t *codec, napi_env env,
                               napi_value value, uint8_t *at, size_t room,
                               size_t *used, fl_bytes_t *out);

/* Reads one value. The bytes are not kept. Views and buffers in the value own
 * memory of exactly their size. FL_OK with `*result` the value; FL_ECODEC_VALUE
 * with `*result` what V8 has to say about the bytes; FL_ECODEC_EXCEPTION if the
 * environment is being terminated. */
int fl_codec_read_advanced(fl_codec_t *codec, napi_env env, const uint8_t *data,
                           size_t len, napi_value *result);

/* Appends a JavaScript string as UTF-8 (unpaired surrogates become U+FFFD).
 * FL_OK, FL_ENOMEM, or FL_ECODEC_EXCEPTION for a value that is no string. */
int fl_codec_write_text(napi_env env, napi_value text, fl_bytes_t *out);

/* Appends a JavaScript string as a JSON string if its characters can stand
 * there unescaped. FL_ECODEC_ESCAPE if they cannot, else as of
 * fl_codec_write_text(). After an error `out` is as long as it was. */
int fl_codec_write_json_string(napi_env env, napi_value text, fl_bytes_t *out);

/* Reads one JSON text in UTF-8. Results as of fl_codec_read_advanced(). */
int fl_codec_read_json(napi_env env, const uint8_t *data, size_t len,
                       napi_value *result);

/* The length of a JavaScript string as V8 keeps it: one byte a character
 * (Latin-1), or two bytes a unit (UTF-16). FL_OK, or FL_ECODEC_EXCEPTION for a
 * value that is no string. */
int fl_codec_measure_string(napi_env env, napi_value text, size_t *len,
                            bool *utf16);

/* Copies `len` bytes of the string from byte `from` on, both as of
 * fl_codec_measure_string(); `to` is aligned for a UTF-16 unit. */
void fl_codec_copy_string(napi_env env, napi_value text, bool utf16,
                          size_t from, size_t len, uint8_t *to);

/* Makes a string of Latin-1 bytes, or of UTF-16 units in any alignment, or the
 * value that they are the JSON text of. The bytes may change meanwhile. Results
 * as of fl_codec_read_advanced(). */
int fl_codec_read_string(napi_env env, const uint8_t *data, size_t len,
                         bool utf16, napi_value *result);
int fl_codec_read_json_string(napi_env env, const uint8_t *data, size_t len,
                              bool utf16, napi_value *result);

/* The same, without a copy: takes the memory of `bytes` over, in any case. */
int fl_codec_adopt_string(napi_env env, fl_bytes_t *bytes, bool utf16,
                          napi_value *result);
int fl_codec_adopt_json_string(napi_env env, fl_bytes_t *bytes, bool utf16,
                               napi_value *result);

/* Calls a JavaScript function from the event loop, as Node calls its own: ticks
 * and microtasks run afterwards, and what it throws is an uncaught exception.
 */
void fl_codec_call(napi_env env, napi_value self, napi_value function,
                   size_t argc, napi_value *argv);

/* Has `callback` called when the process or the worker ends of itself, after
 * everything of JavaScript. */
void fl_codec_at_exit(napi_env env, void (*callback)(void *), void *arg);

/* Makes an array of `n` values; NULL with an exception pending. */
napi_value fl_codec_array(napi_env env, napi_value *values, size_t n);

#ifdef __cplusplus
}
#endif

#endif
