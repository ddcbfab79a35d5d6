// SPDX-License-Identifier: MIT
//
// ValueSerializer and ValueDeserializer with Node's host-object format.
//
// Host objects, as lib/internal/child_process/serialization.js and lib/v8.js of
// Node write them (PROTOCOL.md, "Host objects"; every number a varint):
//
//   '\\'  0  type index  byte length  bytes      an ArrayBufferView
//   '\\'  1  value of its own enumerable properties      any other

#include "codec.h"

#include "bridge.h"

#include <node_buffer.h>

#include <new>

#include "../core/status.h"

namespace {

using fl::Refused;
using fl::ToLocal;
using fl::ToNapi;
using fl::ToV8;
using v8::ArrayBuffer;
using v8::ArrayBufferView;
using v8::Context;
using v8::DataView;
using v8::Exception;
using v8::Function;
using v8::Isolate;
using v8::Just;
using v8::Local;
using v8::Maybe;
using v8::MaybeLocal;
using v8::NewStringType;
using v8::Nothing;
using v8::Object;
using v8::String;
using v8::TryCatch;
using v8::Value;

// Node 22 has it behind a flag.
#define FL_HAS_FLOAT16                                                         \
  (V8_MAJOR_VERSION > 12 || (V8_MAJOR_VERSION == 12 && V8_MINOR_VERSION >= 4))

constexpr uint32_t kViewTag = 0;
constexpr uint32_t kObjectTag = 1;
constexpr uint32_t kBufferIndex = 10;

// V8 puts typed arrays of up to 64 bytes on its heap; asking for their buffer
// would move them out of it.
constexpr size_t kMaxOnHeapView = 64;

}  // namespace

struct fl_codec_s {
  v8::Global<Value> buffer;         // the Buffer constructor
  v8::Global<String> constructor;   // the property's name
  v8::Global<Function> spread;      // (object) => ({ ...object })
  v8::Global<Function> view_index;  // (view) => index, or throws as Node does
  v8::Global<Function> check_view;  // (view) => throws where Node does
  bool native_types;  // this Node asks V8, not Object.prototype.toString
};

namespace {

// The index of a view's type in lib/v8.js; -1 for a type that is not known.
int NativeViewIndex(Local<ArrayBufferView> view) {
  if (view->IsInt8Array()) return 0;
  if (view->IsUint8Array()) return 1;
  if (view->IsUint8ClampedArray()) return 2;
  if (view->IsInt16Array()) return 3;
  if (view->IsUint16Array()) return 4;
  if (view->IsInt32Array()) return 5;
  if (view->IsUint32Array()) return 6;
  if (view->IsFloat32Array()) return 7;
  if (view->IsFloat64Array()) return 8;
  if (view->IsDataView()) return 9;
  if (view->IsBigInt64Array()) return 11;
  if (view->IsBigUint64Array()) return 12;
#if FL_HAS_FLOAT16
  if (view->IsFloat16Array()) return 13;
#endif
  return -1;
}

template <typename T>
Local<Value> MakeView(Local<ArrayBuffer> buffer, size_t len, size_t element) {
  return T::New(buffer, 0, len / element);
}

// Empty, without an exception, if `index` is no type of this Node.
MaybeLocal<Value> ViewOfIndex(Isolate* isolate, uint32_t index,
                              Local<ArrayBuffer> buffer, size_t len) {
  switch (index) {
    case 0:
      return MakeView<v8::Int8Array>(buffer, len, 1);
    case 1:
      return MakeView<v8::Uint8Array>(buffer, len, 1);
    case 2:
      return MakeView<v8::Uint8ClampedArray>(buffer, len, 1);
    case 3:
      return MakeView<v8::Int16Array>(buffer, len, 2);
    case 4:
      return MakeView<v8::Uint16Array>(buffer, len, 2);
    case 5:
      return MakeView<v8::Int32Array>(buffer, len, 4);
    case 6:
      return MakeView<v8::Uint32Array>(buffer, len, 4);
    case 7:
      return MakeView<v8::Float32Array>(buffer, len, 4);
    case 8:
      return MakeView<v8::Float64Array>(buffer, len, 8);
    case 9:
      return MakeView<DataView>(buffer, len, 1);
    case kBufferIndex: {
      Local<v8::Uint8Array> result;
      if (!node::Buffer::New(isolate, buffer, 0, len).ToLocal(&result))
        return {};
      return result;
    }
    case 11:
      return MakeView<v8::BigInt64Array>(buffer, len, 8);
    case 12:
      return MakeView<v8::BigUint64Array>(buffer, len, 8);
#if FL_HAS_FLOAT16
    case 13:
      return MakeView<v8::Float16Array>(buffer, len, 2);
#endif
    default:
      return {};
  }
}

// An ArrayBuffer that owns a copy of the bytes and nothing more. The memory is
// the isolate's own: V8 frees it when a worker has ended, and code of this
// addon may be unloaded by then. Empty with an exception pending if there is
// none.
MaybeLocal<ArrayBuffer> CopyToArrayBuffer(Isolate* isolate, const void* data,
                                          size_t len) {
  Local<ArrayBuffer> buffer;
#if V8_MAJOR_VERSION >= 13
  if (!ArrayBuffer::MaybeNew(isolate, len,
                             v8::BackingStoreInitializationMode::kUninitialized)
           .ToLocal(&buffer)) {
    isolate->ThrowException(
        Exception::RangeError(ToV8(isolate, "Array buffer allocation failed")));
    return {};
  }
#else
  buffer = ArrayBuffer::New(isolate, len);
#endif
  if (len > 0) memcpy(buffer->Data(), data, len);
  return buffer;
}

class SerializerDelegate final : public v8::ValueSerializer::Delegate {
 public:
  // The serializer begins in the `room` bytes at `at`, if there are any.
  SerializerDelegate(fl_codec_t* codec, Isolate* isolate, uint8_t* at,
                     size_t room, fl_bytes_t* out)
      : codec_(codec), isolate_(isolate), at_(at), room_(room), out_(out) {}

  // Whether the bytes are where the serializer began.
  bool in_place() const { return at_ != nullptr; }

  void set_serializer(v8::ValueSerializer* serializer) {
    serializer_ = serializer;
  }

  void ThrowDataCloneError(Local<String> message) override {
    // Node's serializer throws a plain Error here, not a DOMException.
    isolate_->ThrowException(Exception::Error(message));
  }

  Maybe<bool> WriteHostObject(Isolate* isolate, Local<Object> object) override {
    return object->IsArrayBufferView() ? WriteView(object.As<ArrayBufferView>())
                                       : WriteProperties(object);
  }

  // V8 writes straight into `out`, behind what is there already. It keeps count
  // by itself: `out_->len` stays where it was until the end, and the whole
  // block moves along when it grows.
  void* ReallocateBufferMemory(void* old, size_t size,
                               size_t* actual) override {
    if (at_ != nullptr && size <= room_) {
      *actual = room_;
      return at_;
    }
    if (fl_bytes_reserve(out_, size, SIZE_MAX) != FL_OK) return nullptr;
    uint8_t* to = out_->base + out_->len;
    // V8 does not tell how much of it is in use.
    if (at_ != nullptr && old != nullptr) memcpy(to, at_, room_);
    at_ = nullptr;
    *actual = out_->cap - out_->len;
    return to;
  }

  void FreeBufferMemory(void*) override {
    // The memory is `out`'s.
  }

 private:
  Maybe<bool> WriteView(Local<ArrayBufferView> view) {
    uint32_t index;
    if (!ViewIndex(view).To(&index)) return Nothing<bool>();
    // What Node says in JavaScript of a view whose memory is gone.
    if (!codec_->native_types && view->ByteLength() == 0 &&
        Call(codec_->check_view, view).IsEmpty())
      return Nothing<bool>();

    // All of the above may have run JavaScript, and that may have changed the
    // view. Nothing runs from here on.
    size_t len = view->ByteLength();
    if (len > UINT32_MAX) {
      ThrowDataCloneError(ToV8(isolate_, "View of 4 GiB or more"));
      return Nothing<bool>();
    }
    serializer_->WriteUint32(kViewTag);
    serializer_->WriteUint32(index);
    serializer_->WriteUint32(static_cast<uint32_t>(len));
    if (len <= kMaxOnHeapView && !view->HasBuffer()) {
      uint8_t bytes[kMaxOnHeapView];
      serializer_->WriteRawBytes(bytes, view->CopyContents(bytes, len));
    } else if (len > 0) {
      const uint8_t* data = static_cast<const uint8_t*>(view->Buffer()->Data());
      serializer_->WriteRawBytes(data + view->ByteOffset(), len);
    }
    return Just(true);
  }

  Maybe<uint32_t> ViewIndex(Local<ArrayBufferView> view) {
    Local<Context> context = isolate_->GetCurrentContext();
    Local<Value> value;

    if (!view->Get(context, codec_->constructor.Get(isolate_)).ToLocal(&value))
      return Nothing<uint32_t>();
    if (value->StrictEquals(codec_->buffer.Get(isolate_)))
      return Just(kBufferIndex);
    if (codec_->native_types) {
      int index = NativeViewIndex(view);
      if (index >= 0) return Just(static_cast<uint32_t>(index));
    }
    if (!Call(codec_->view_index, view).ToLocal(&value))
      return Nothing<uint32_t>();
    return value->Uint32Value(context);
  }

  Maybe<bool> WriteProperties(Local<Object> object) {
    Local<Value> properties;
    serializer_->WriteUint32(kObjectTag);
    if (!Call(codec_->spread, object).ToLocal(&properties))
      return Nothing<bool>();
    return serializer_->WriteValue(isolate_->GetCurrentContext(), properties);
  }

  MaybeLocal<Value> Call(const v8::Global<Function>& helper,
                         Local<Value> argument) {
    return helper.Get(isolate_)->Call(isolate_->GetCurrentContext(),
                                      v8::Undefined(isolate_), 1, &argument);
  }

  fl_codec_t* codec_;
  Isolate* isolate_;
  uint8_t* at_;
  size_t room_;
  fl_bytes_t* out_;
  v8::ValueSerializer* serializer_ = nullptr;
};

class DeserializerDelegate final : public v8::ValueDeserializer::Delegate {
 public:
  void set_deserializer(v8::ValueDeserializer* deserializer) {
    deserializer_ = deserializer;
  }

  MaybeLocal<Object> ReadHostObject(Isolate* isolate) override {
    uint32_t tag;
    Local<Value> value;

    if (!deserializer_->ReadUint32(&tag)) return Fail(isolate);
    if (tag == kViewTag) {
      if (!ReadView(isolate).ToLocal(&value)) return {};
    } else if (tag == kObjectTag) {
      if (!deserializer_->ReadValue(isolate->GetCurrentContext())
               .ToLocal(&value))
        return {};
      if (!value->IsObject()) return Fail(isolate);
    } else {
      return Fail(isolate);
    }
    return value.As<Object>();
  }

 private:
  MaybeLocal<Value> ReadView(Isolate* isolate) {
    uint32_t index;
    uint32_t len;
    const void* data;
    Local<ArrayBuffer> buffer;
    Local<Value> view;

    if (!deserializer_->ReadUint32(&index) ||
        !deserializer_->ReadUint32(&len) ||
        !deserializer_->ReadRawBytes(len, &data))
      return Fail(isolate);
    if (!CopyToArrayBuffer(isolate, data, len).ToLocal(&buffer)) return {};
    if (!ViewOfIndex(isolate, index, buffer, len).ToLocal(&view))
      return Fail(isolate);
    return view;
  }

  // The empty result of a read that failed, with the exception for it.
  static Local<Object> Fail(Isolate* isolate) {
    isolate->ThrowException(
        Exception::Error(ToV8(isolate, "Invalid host object")));
    return {};
  }

  v8::ValueDeserializer* deserializer_ = nullptr;
};

}  // namespace

fl_codec_t* fl_codec_create(napi_env, napi_value helpers) {
  Isolate* isolate = Isolate::GetCurrent();
  Local<Context> context = isolate->GetCurrentContext();
  Local<Object> object = ToLocal(helpers).As<Object>();
  Local<Value> buffer, spread, view_index, check_view, native_types;
  fl_codec_t* codec;

  if (!object->Get(context, ToV8(isolate, "Buffer")).ToLocal(&buffer) ||
      !object->Get(context, ToV8(isolate, "spread")).ToLocal(&spread) ||
      !object->Get(context, ToV8(isolate, "viewIndex")).ToLocal(&view_index) ||
      !object->Get(context, ToV8(isolate, "checkView")).ToLocal(&check_view) ||
      !object->Get(context, ToV8(isolate, "nativeTypes"))
           .ToLocal(&native_types))
    return nullptr;
  codec = new (std::nothrow) fl_codec_s();
  if (codec == nullptr) return nullptr;
  codec->buffer.Reset(isolate, buffer);
  codec->constructor.Reset(
      isolate, String::NewFromUtf8Literal(isolate, "constructor",
                                          NewStringType::kInternalized));
  codec->spread.Reset(isolate, spread.As<Function>());
  codec->view_index.Reset(isolate, view_index.As<Function>());
  codec->check_view.Reset(isolate, check_view.As<Function>());
  codec->native_types = native_types->IsTrue();
  return codec;
}

void fl_codec_destroy(fl_codec_t* codec) {
  delete codec;
}

int fl_codec_write_advanced(fl_codec_t* codec, napi_env env, napi_value value,
                            fl_bytes_t* out) {
  size_t used;
  return fl_codec_write_advanced_at(codec, env, value, nullptr, 0, &used, out);
}

int fl_codec_write_advanced_at(fl_codec_t* codec, napi_env, napi_value value,
                               uint8_t* at, size_t room, size_t* used,
                               fl_bytes_t* out) {
  Isolate* isolate = Isolate::GetCurrent();
  SerializerDelegate delegate(codec, isolate, at, room, out);
  v8::ValueSerializer serializer(isolate, &delegate);
  bool written = false;

  delegate.set_serializer(&serializer);
  serializer.SetTreatArrayBufferViewsAsHostObjects(true);
  serializer.WriteHeader();
  if (!serializer.WriteValue(isolate->GetCurrentContext(), ToLocal(value))
           .To(&written) ||
      !written)
    return FL_ECODEC_EXCEPTION;
  size_t len = serializer.Release().second;
  *used = delegate.in_place() ? len : 0;
  if (!delegate.in_place()) out->len += len;
  return FL_OK;
}

int fl_codec_read_advanced(fl_codec_t*, napi_env, const uint8_t* data,
                           size_t len, napi_value* result) {
  Isolate* isolate = Isolate::GetCurrent();
  Local<Context> context = isolate->GetCurrentContext();
  DeserializerDelegate delegate;
  v8::ValueDeserializer deserializer(isolate, data, len, &delegate);
  TryCatch caught(isolate);
  Local<Value> value;
  bool good = false;

  delegate.set_deserializer(&deserializer);
  if (!deserializer.ReadHeader(context).To(&good) || !good ||
      !deserializer.ReadValue(context).ToLocal(&value))
    return Refused(isolate, &caught, result);
  *result = ToNapi(value);
  return FL_OK;
}
