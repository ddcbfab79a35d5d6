/* SPDX-License-Identifier: MIT
 *
 * The bridge to V8, seen from C: JavaScript values to the bytes of Node's
 * 'advanced' serialization and back. The C++ files of this directory are the
 * only ones that include v8.h, which ties the binary to one
 * NODE_MODULE_VERSION.
 *
 * Every function runs on the thread of its environment, inside a callback of
 * it, with a handle scope open. Functions that return FL_ECODEC_EXCEPTION left
 * a JavaScript exception pending: the caller returns to JavaScript at once.
 */
#ifndef FL_CODEC_H
#define FL_CODEC_H

#include <node_api.h>
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

#ifdef __cplusplus
}
#endif

#endif
