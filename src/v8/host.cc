// SPDX-License-Identifier: MIT
//
// Node's own C++ interface, where Node-API has nothing as good.

#include "host.h"

#include "bridge.h"

using fl::ToLocal;
using fl::ToNapi;
using v8::Context;
using v8::Function;
using v8::Isolate;
using v8::Local;
using v8::Object;
using v8::Value;

int fl_host_abi(void) {
  return NODE_MODULE_VERSION;
}

napi_value fl_host_call(napi_env, napi_value self, napi_value function,
                        size_t argc, napi_value* argv) {
  Local<Value> result;
  if (!node::MakeCallback(Isolate::GetCurrent(), ToLocal(self).As<Object>(),
                          ToLocal(function).As<Function>(),
                          static_cast<int>(argc),
                          reinterpret_cast<Local<Value>*>(argv), {0, 0})
           .ToLocal(&result))
    return nullptr;
  return ToNapi(result);
}

void fl_host_at_exit(napi_env, void (*callback)(void*), void* arg) {
  Local<Context> context = Isolate::GetCurrent()->GetCurrentContext();
  node::AtExit(node::GetCurrentEnvironment(context), callback, arg);
}

napi_value fl_host_array(napi_env, napi_value* values, size_t n) {
  return ToNapi(v8::Array::New(Isolate::GetCurrent(),
                               reinterpret_cast<Local<Value>*>(values), n));
}
