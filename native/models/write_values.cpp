#include <ATen/core/jit_type.h>

#include <string>
#include <unordered_set>
#include <utility>

#include "native/convert/to_js.h"
#include "native/models/values.h"

namespace ltn::models {
namespace {

using c10::IValue;

[[noreturn]] void refuse(const std::string& why) {
  throw CodedError("ERR_TORCH_MODEL", "JavaScript has no value for the result: " + why);
}

// Checks a whole value before any of it is converted. Lifetime: a local of write_value(). Thread: the JS thread.
class Validator {
 public:
  void validate(const IValue& value) {
    if (++count_ > kMaxValues) refuse("it has more than " + std::to_string(kMaxValues) + " values");
    const bool is_container = value.isList() || value.isTuple() || value.isGenericDict();
    if (!is_container) {
      validate_plain(value);
      return;
    }
    if (path_.size() >= static_cast<size_t>(kMaxDepth)) refuse("it is nested more than 200 deep");
    const void* self = value.internalToPointer();
    if (!path_.insert(self).second) refuse("it contains itself");
    if (value.isList()) {
      for (const IValue& element : value.toListRef()) validate(element);
    } else if (value.isTuple()) {
      for (const IValue& element : value.toTupleRef().elements()) validate(element);
    } else {
      for (const auto& entry : value.toGenericDict()) {
        validate(entry.key());
        validate(entry.value());
      }
    }
    path_.erase(self);
  }

 private:
  static void validate_plain(const IValue& value) {
    if (value.isNone() || value.isTensor() || value.isScalar() || value.isString() || value.isDevice()) return;
    if (value.isEnum()) refuse("an enum; return its name or its value");
    refuse(value.isObject() ? "an object of " + value.type()->str() : "a " + value.tagKind());
  }

  size_t count_ = 0;
  std::unordered_set<const void*> path_;
};

// Writes a checked value as a flat list. Lifetime: a local of write_value(). Thread: the JS thread.
class Writer {
 public:
  explicit Writer(Call& call) : call_(call) {}

  void write(const IValue& value) {
    if (value.isNone()) {
      put(Tag::None);
    } else if (value.isTensor()) {
      put(Tag::Tensor);
      add(write_element(call_, at::Tensor(value.toTensor())));
    } else if (value.isBool()) {
      put(value.toBool() ? Tag::True : Tag::False);
    } else if (value.isComplexDouble()) {
      put(Tag::Complex);
      const auto complex = value.toComplexDouble();
      add(write_double(call_, complex.real()));
      add(write_double(call_, complex.imag()));
    } else if (value.isScalar()) {
      put(Tag::Number);
      add(write_scalar(call_, value.toScalar()));
    } else if (value.isString()) {
      put(Tag::Text);
      add(write_string(call_, value.toStringRef()));
    } else if (value.isDevice()) {
      put(Tag::Text);
      add(write_string(call_, value.toDevice().str()));
    } else if (value.isList()) {
      const auto list = value.toListRef();
      put(Tag::List);
      add(write_int(call_, static_cast<int64_t>(list.size())));
      for (const IValue& element : list) write(element);
    } else if (value.isTuple()) {
      write_tuple(value);
    } else {
      const auto dict = value.toGenericDict();
      put(Tag::Dict);
      add(write_int(call_, static_cast<int64_t>(dict.size())));
      add(write_bool(call_, dict.keyType()->kind() == c10::TypeKind::StringType));
      for (const auto& entry : dict) {
        write(entry.key());
        write(entry.value());
      }
    }
  }

  napi_value list() {
    const napi_value array = new_array(call_, values_.size());
    for (size_t i = 0; i < values_.size(); ++i) set_element(call_, array, i, values_[i]);
    return array;
  }

 private:
  void put(Tag tag) { add(write_int(call_, static_cast<int64_t>(tag))); }
  void add(napi_value value) { values_.push_back(value); }

  void write_tuple(const IValue& value) {
    const auto& elements = value.toTupleRef().elements();
    const auto type = value.type()->cast<c10::TupleType>();
    const auto names = type == nullptr ? nullptr : type->schema();
    put(names == nullptr ? Tag::List : Tag::Named);
    add(write_int(call_, static_cast<int64_t>(elements.size())));
    if (names != nullptr) {
      const napi_value array = new_array(call_, names->arguments().size());
      for (size_t i = 0; i < names->arguments().size(); ++i) {
        set_element(call_, array, i, write_string(call_, names->arguments()[i].name()));
      }
      add(array);
    }
    for (const IValue& element : elements) write(element);
  }

  Call& call_;
  std::vector<napi_value> values_;
};

}  // namespace

napi_value write_value(Call& call, const IValue& value) {
  Validator().validate(value);
  Writer writer(call);
  writer.write(value);
  return writer.list();
}

}  // namespace ltn::models
