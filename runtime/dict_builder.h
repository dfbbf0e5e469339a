// Builds a dict with text keys, for descriptions that the package reads.
#pragma once

#include <string>

#include "core/ref.h"

namespace armature {

class DictBuilder {
 public:
  DictBuilder() : dict_(Ref<>::steal(PyDict_New())) {}

  static Ref<> text(const std::string& text) {
    return Ref<>::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  }

  // A null value, whose exception is set, makes the whole dict null.
  void set(const char* key, Ref<> value) {
    if (!dict_) return;
    if (!value || PyDict_SetItemString(dict_.get(), key, value.get()) < 0) dict_ = nullptr;
  }
  void set(const char* key, const std::string& value) { set(key, text(value)); }

  // Null with an exception set if anything failed.
  Ref<> take() { return std::move(dict_); }

 private:
  Ref<> dict_;
};

}  // namespace armature
