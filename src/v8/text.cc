// SPDX-License-Identifier: MIT
//
// V8's strings and JSON: to and from UTF-8, Latin-1 and UTF-16.

#include "text.h"

#include "bridge.h"

#include <memory>
#include <new>

#include "../core/latin1.h"
#include "../core/scan.h"
#include "../core/status.h"

namespace {

using fl::Refused;
using fl::ToLocal;
using fl::ToNapi;
using fl::ToV8;
using v8::Context;
using v8::Exception;
using v8::Isolate;
using v8::Local;
using v8::MaybeLocal;
using v8::NewStringType;
using v8::Object;
using v8::String;
using v8::TryCatch;
using v8::Value;

// V8 throws nothing for a string that it cannot hold. This does, and is empty.
MaybeLocal<String> TooLong(Isolate* isolate) {
  Local<Context> context = isolate->GetCurrentContext();
  Local<Value> error =
      Exception::Error(ToV8(isolate, "Cannot create a string this long"));
  error.As<Object>()
      ->Set(context, ToV8(isolate, "code"),
            ToV8(isolate, "ERR_STRING_TOO_LONG"))
      .Check();
  isolate->ThrowException(error);
  return {};
}

MaybeLocal<String> TextToString(Isolate* isolate, const uint8_t* data,
                                size_t len, bool ascii) {
  MaybeLocal<String> made;
  if (len <= static_cast<size_t>(String::kMaxLength)) {
    int n = static_cast<int>(len);
    made =
        ascii
            ? String::NewFromOneByte(isolate, data, NewStringType::kNormal, n)
            : String::NewFromUtf8(isolate, reinterpret_cast<const char*>(data),
                                  NewStringType::kNormal, n);
    if (!made.IsEmpty()) return made;
  }
  return TooLong(isolate);
}

void CopyOneByte(Isolate* isolate, Local<String> text, size_t from, size_t len,
                 uint8_t* to) {
#if V8_MAJOR_VERSION >= 13
  text->WriteOneByteV2(isolate, static_cast<uint32_t>(from),
                       static_cast<uint32_t>(len), to);
#else
  text->WriteOneByte(isolate, to, static_cast<int>(from), static_cast<int>(len),
                     String::NO_NULL_TERMINATION);
#endif
}

void CopyTwoByte(Isolate* isolate, Local<String> text, size_t from, size_t len,
                 uint16_t* to) {
#if V8_MAJOR_VERSION >= 13
  text->WriteV2(isolate, static_cast<uint32_t>(from),
                static_cast<uint32_t>(len), to);
#else
  text->Write(isolate, to, static_cast<int>(from), static_cast<int>(len),
              String::NO_NULL_TERMINATION);
#endif
}

// A character of a two-byte string takes at most three bytes of UTF-8: below
// this length that is reserved, instead of counting first.
constexpr size_t kShortText = 16 * 1024;

size_t Utf8Length(Isolate* isolate, Local<String> text) {
  size_t len = static_cast<size_t>(text->Length());
  if (len <= kShortText) return len * 3;
#if V8_MAJOR_VERSION >= 13
  return text->Utf8LengthV2(isolate);
#else
  return static_cast<size_t>(text->Utf8Length(isolate));
#endif
}

size_t CopyUtf8(Isolate* isolate, Local<String> text, char* to, size_t cap) {
#if V8_MAJOR_VERSION >= 13
  return text->WriteUtf8V2(isolate, to, cap,
                           String::WriteFlags::kReplaceInvalidUtf8);
#else
  return static_cast<size_t>(text->WriteUtf8(
      isolate, to, static_cast<int>(cap), nullptr,
      String::NO_NULL_TERMINATION | String::REPLACE_INVALID_UTF8));
#endif
}

// Two-byte text is copied first: V8 looks at it more than once, and it may be
// memory that changes.
MaybeLocal<String> BytesToString(Isolate* isolate, const uint8_t* data,
                                 size_t len, bool utf16) {
  MaybeLocal<String> made;

  if (!utf16) return TextToString(isolate, data, len, true);
  std::unique_ptr<uint16_t[]> units(new (std::nothrow) uint16_t[len / 2 + 1]);
  if (units != nullptr && len / 2 <= static_cast<size_t>(String::kMaxLength)) {
    memcpy(units.get(), data, len);
    made = String::NewFromTwoByte(isolate, units.get(), NewStringType::kNormal,
                                  static_cast<int>(len / 2));
    if (!made.IsEmpty()) return made;
  }
  return TooLong(isolate);
}

// Memory that a string uses in place of its own, until V8 is done with it. V8
// is told of it, or it would not collect the strings in time.
template <typename Base, typename Unit>
class OwnedText final : public Base {
 public:
  OwnedText(Isolate* isolate, fl_bytes_t* bytes)
      : isolate_(isolate), bytes_(*bytes) {
    *bytes = FL_BYTES_INIT;
    Account(static_cast<int64_t>(bytes_.cap));
  }
  ~OwnedText() override {
    Account(-static_cast<int64_t>(bytes_.cap));
    fl_bytes_destroy(&bytes_);
  }
  const Unit* data() const override {
    return reinterpret_cast<const Unit*>(bytes_.base);
  }
  size_t length() const override { return bytes_.len / sizeof(Unit); }

 private:
  void Account(int64_t change) {
    isolate_->AdjustAmountOfExternalAllocatedMemory(change);
  }

  Isolate* isolate_;
  fl_bytes_t bytes_;
};

using OwnedLatin1 = OwnedText<String::ExternalOneByteStringResource, char>;
using OwnedUtf16 = OwnedText<String::ExternalStringResource, uint16_t>;

MaybeLocal<String> AdoptString(Isolate* isolate, fl_bytes_t* bytes,
                               bool utf16) {
  MaybeLocal<String> made;
  if (utf16) {
    auto text = std::make_unique<OwnedUtf16>(isolate, bytes);
    made = String::NewExternalTwoByte(isolate, text.get());
    if (!made.IsEmpty()) (void) text.release();
  } else {
    auto text = std::make_unique<OwnedLatin1>(isolate, bytes);
    made = String::NewExternalOneByte(isolate, text.get());
    if (!made.IsEmpty()) (void) text.release();
  }
  return made.IsEmpty() ? TooLong(isolate) : made;
}

// `value` as a string. The callers have one; what is none must not crash.
bool ToString(Isolate* isolate, napi_value value, Local<String>* string) {
  Local<Value> local = ToLocal(value);
  if (!local->IsString()) {
    isolate->ThrowException(
        Exception::TypeError(ToV8(isolate, "Not a string")));
    return false;
  }
  *string = local.As<String>();
  return true;
}

int ParseJson(Isolate* isolate, TryCatch* caught, MaybeLocal<String> maybe_text,
              napi_value* result) {
  Local<String> text;
  Local<Value> value;

  if (!maybe_text.ToLocal(&text) ||
      !v8::JSON::Parse(isolate->GetCurrentContext(), text).ToLocal(&value))
    return Refused(isolate, caught, result);
  *result = ToNapi(value);
  return FL_OK;
}

int AppendOneByte(Isolate* isolate, Local<String> text, fl_bytes_t* out) {
  size_t len = static_cast<size_t>(text->Length());
  // One more for what follows a text: a quote or a newline.
  int rc = fl_bytes_reserve(out, len + 1, SIZE_MAX);
  if (rc != FL_OK) return rc;
  CopyOneByte(isolate, text, 0, len, out->base + out->len);
  out->len += len;
  return FL_OK;
}

}  // namespace

int fl_text_write(napi_env, napi_value text, fl_bytes_t* out) {
  Isolate* isolate = Isolate::GetCurrent();
  Local<String> string;
  size_t start = out->len;
  size_t cap;
  int rc;

  if (!ToString(isolate, text, &string)) return FL_ECODEC_EXCEPTION;
  if (string->IsOneByte()) {
    rc = AppendOneByte(isolate, string, out);
    if (rc == FL_OK) rc = fl_latin1_to_utf8(out, start);
  } else {
    cap = Utf8Length(isolate, string);
    rc = fl_bytes_reserve(out, cap + 1, SIZE_MAX);
    if (rc == FL_OK)
      out->len += CopyUtf8(isolate, string,
                           reinterpret_cast<char*>(out->base + out->len), cap);
  }
  if (rc != FL_OK) out->len = start;
  return rc;
}

int fl_text_write_json_string(napi_env, napi_value text, fl_bytes_t* out) {
  Isolate* isolate = Isolate::GetCurrent();
  Local<String> string;
  size_t start = out->len;
  int rc;

  if (!ToString(isolate, text, &string)) return FL_ECODEC_EXCEPTION;
  if (!string->IsOneByte()) return FL_ECODEC_ESCAPE;
  rc = fl_bytes_append(out, "\"", 1, SIZE_MAX);
  if (rc == FL_OK) rc = AppendOneByte(isolate, string, out);
  if (rc == FL_OK &&
      !fl_scan_is_plain(out->base + start + 1, out->len - start - 1))
    rc = FL_ECODEC_ESCAPE;
  if (rc == FL_OK) rc = fl_bytes_append(out, "\"", 1, SIZE_MAX);
  if (rc != FL_OK) out->len = start;
  return rc;
}

int fl_text_read_json_utf8(napi_env, const uint8_t* data, size_t len,
                           napi_value* result) {
  Isolate* isolate = Isolate::GetCurrent();
  TryCatch caught(isolate);
  Local<String> text;

  // Most messages that are strings say themselves between their quotes.
  bool literal = len >= 2 && data[0] == '"' && data[len - 1] == '"' &&
                 fl_scan_is_plain(data + 1, len - 2);
  if (literal) {
    if (!TextToString(isolate, data + 1, len - 2, true).ToLocal(&text))
      return Refused(isolate, &caught, result);
    *result = ToNapi(text);
    return FL_OK;
  }
  bool ascii = fl_scan_is_ascii(data, len);
  return ParseJson(isolate, &caught, TextToString(isolate, data, len, ascii),
                   result);
}

int fl_text_measure(napi_env, napi_value text, size_t* len, bool* utf16) {
  Local<String> string;

  if (!ToString(Isolate::GetCurrent(), text, &string))
    return FL_ECODEC_EXCEPTION;
  *utf16 = !string->IsOneByte();
  *len = static_cast<size_t>(string->Length()) << (*utf16 ? 1 : 0);
  return FL_OK;
}

void fl_text_copy(napi_env, napi_value text, bool utf16, size_t from,
                  size_t len, uint8_t* to) {
  Isolate* isolate = Isolate::GetCurrent();
  Local<String> string = ToLocal(text).As<String>();
  if (utf16)
    CopyTwoByte(isolate, string, from / 2, len / 2,
                reinterpret_cast<uint16_t*>(to));
  else
    CopyOneByte(isolate, string, from, len, to);
}

int fl_text_read(napi_env, const uint8_t* data, size_t len, bool utf16,
                 napi_value* result) {
  Isolate* isolate = Isolate::GetCurrent();
  TryCatch caught(isolate);
  Local<String> text;

  if (!BytesToString(isolate, data, len, utf16).ToLocal(&text))
    return Refused(isolate, &caught, result);
  *result = ToNapi(text);
  return FL_OK;
}

int fl_text_read_json(napi_env, const uint8_t* data, size_t len, bool utf16,
                      napi_value* result) {
  Isolate* isolate = Isolate::GetCurrent();
  TryCatch caught(isolate);
  return ParseJson(isolate, &caught, BytesToString(isolate, data, len, utf16),
                   result);
}

int fl_text_adopt(napi_env, fl_bytes_t* bytes, bool utf16, napi_value* result) {
  Isolate* isolate = Isolate::GetCurrent();
  TryCatch caught(isolate);
  Local<String> text;

  if (!AdoptString(isolate, bytes, utf16).ToLocal(&text))
    return Refused(isolate, &caught, result);
  *result = ToNapi(text);
  return FL_OK;
}

int fl_text_adopt_json(napi_env, fl_bytes_t* bytes, bool utf16,
                       napi_value* result) {
  Isolate* isolate = Isolate::GetCurrent();
  TryCatch caught(isolate);
  return ParseJson(isolate, &caught, AdoptString(isolate, bytes, utf16),
                   result);
}
