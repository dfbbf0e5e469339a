// What sits in a local, on a stack or in a traced container: one tagged word.
//
// A Value is null, the real Python object of a constant (one reference owned), or a pointer to a
// VariableTracker in the trace's arena (not owned). Null means an unbound local, the NULL that
// PUSH_NULL pushes, or, as a result, "a Python exception is pending in the translator".
//
// Constants are objects that nothing can change and whose operations run no user code: numbers,
// strings, tuples of constants, C functions, static types, modules (by identity), dtypes, ….
#pragma once

#include <Python.h>

#include <cstdint>
#include <utility>

#include "core/checked.h"
#include "core/ref.h"

namespace armature {

class VariableTracker;

class Value {
 public:
  Value() = default;
  // A null pointer gives the null Value.
  Value(VariableTracker* tracker)
      : word_(tracker ? reinterpret_cast<uintptr_t>(tracker) | kTracker : 0) {}
  Value(const Value& other) : word_(other.word_) {
    if (isConstant()) Py_INCREF(reinterpret_cast<PyObject*>(word_));
  }
  Value(Value&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  ~Value() { release(); }
  Value& operator=(const Value& other) {
    Value copy(other);
    std::swap(word_, copy.word_);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    Value moved(std::move(other));
    std::swap(word_, moved.word_);
    return *this;
  }

  static Value constant(BorrowedRef<> object) {
    Py_INCREF(object.get());
    return steal(object.get());
  }
  // Takes over a reference; null gives the null Value.
  static Value steal(PyObject* object) {
    Value result;
    result.word_ = reinterpret_cast<uintptr_t>(object);
    return result;
  }
  static Value none() { return constant(Py_None); }
  static Value boolean(bool value) { return constant(value ? Py_True : Py_False); }
  static Value integer(int64_t value) {
    return steal(checked(PyLong_FromLongLong(value)).release());
  }
  static Value string(const char* text) {
    return steal(checked(PyUnicode_FromString(text)).release());
  }
  // The result of a call that pushed a frame instead of finishing: see Translator::call.
  static Value framePushed() {
    Value result;
    result.word_ = kFramePushed;
    return result;
  }

  bool isNull() const { return word_ == 0; }
  explicit operator bool() const { return word_ != 0; }
  bool isConstant() const { return word_ != 0 && (word_ & kTagMask) == 0; }
  bool isTracker() const { return (word_ & kTracker) != 0; }
  bool isFramePushed() const { return word_ == kFramePushed; }

  // The object of a constant, the tracker of what is none. A value that turns out to be something
  // else is an internal error.
  PyObject* object() const {
    if (!isConstant()) [[unlikely]]
      unexpectedKind();
    return reinterpret_cast<PyObject*>(word_);
  }
  VariableTracker* tracker() const {
    if (!isTracker()) [[unlikely]]
      unexpectedKind();
    return reinterpret_cast<VariableTracker*>(word_ & ~kTagMask);
  }
  // The constant's object, or null for anything else.
  PyObject* objectOrNull() const {
    return isConstant() ? reinterpret_cast<PyObject*>(word_) : nullptr;
  }
  bool is(PyObject* object) const { return word_ == reinterpret_cast<uintptr_t>(object); }

  // The same word: the same object. (Distinct lazy trackers may yet turn out to be one object.)
  bool sameAs(const Value& other) const { return word_ == other.word_; }
  uintptr_t word() const { return word_; }

 private:
  static constexpr uintptr_t kTracker = 1;
  static constexpr uintptr_t kFramePushed = 2;
  static constexpr uintptr_t kTagMask = 3;
  [[noreturn]] void unexpectedKind() const;
  void release() {
    if (isConstant()) Py_DECREF(reinterpret_cast<PyObject*>(word_));
  }
  uintptr_t word_ = 0;
};

// isa/cast/dyn_cast for values: null where the value is not a tracker of that kind.
template <class Kind>
Kind* trackerOf(const Value& value) {
  if (!value.isTracker()) return nullptr;
  VariableTracker* tracker = value.tracker();
  return Kind::classof(tracker) ? static_cast<Kind*>(tracker) : nullptr;
}

[[noreturn]] void breakOnOtherKind(const Value& value);

// As above, but a graph break where the value is something else: an object of the type which the
// trace does not look into, or one of a subclass.
template <class Kind>
Kind* requireKind(const Value& value) {
  if (Kind* tracker = trackerOf<Kind>(value)) [[likely]]
    return tracker;
  breakOnOtherKind(value);
}

}  // namespace armature
