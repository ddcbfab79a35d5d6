// SPDX-License-Identifier: MIT
//
// What the files of the bridge share: Node-API's values as V8's, and the errors
// of a failed read. Only src/v8 may include this.
#ifndef FL_BRIDGE_H
#define FL_BRIDGE_H

#include <node_api.h>

// node_version.h has a macro of this name, with another meaning: the newest
// Node-API of that Node, not the one that these files are written for.
#undef NAPI_VERSION
#include <node.h>
#include <v8.h>

#include <cstring>

#include "codec.h"

namespace fl {

// A napi_value is a Local, as js_native_api_v8.h of Node has it; node-addon-api
// and other bridges rest on the same.
static_assert(sizeof(napi_value) == sizeof(v8::Local<v8::Value>),
              "napi_value layout");

inline v8::Local<v8::Value> ToLocal(napi_value value) {
  v8::Local<v8::Value> local;
  memcpy(static_cast<void*>(&local), &value, sizeof(value));
  return local;
}

inline napi_value ToNapi(v8::Local<v8::Value> local) {
  napi_value value;
  memcpy(&value, static_cast<void*>(&local), sizeof(value));
  return value;
}

inline v8::Local<v8::String> ToV8(v8::Isolate* isolate, const char* text) {
  return v8::String::NewFromUtf8(isolate, text).ToLocalChecked();
}

// The error of a failed read: what was thrown, else a plain sentence.
inline int Refused(v8::Isolate* isolate, v8::TryCatch* caught,
                   napi_value* result) {
  if (caught->HasTerminated()) {
    caught->ReThrow();
    return FL_ECODEC_EXCEPTION;
  }
  *result = ToNapi(caught->HasCaught()
                       ? caught->Exception()
                       : v8::Exception::Error(ToV8(
                             isolate, "Unable to deserialize cloned data.")));
  caught->Reset();
  return FL_ECODEC_VALUE;
}

}  // namespace fl

#endif
