// Python objects and errors, as this interface passes them.
#pragma once

#include <Python.h>

#include <string>
#include <utility>
#include <variant>

namespace armature::api {

// Owns one reference to a Python object, or nothing. Needs the GIL to be copied or destroyed, and
// an interpreter that still runs.
class Object {
 public:
  Object() = default;
  Object(const Object& other) : object_(other.object_) { Py_XINCREF(object_); }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }

  // Takes over a reference that the caller owns, or makes one of its own.
  static Object steal(PyObject* object) {
    Object result;
    result.object_ = object;
    return result;
  }
  static Object borrow(PyObject* object) {
    Py_XINCREF(object);
    return steal(object);
  }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// What went wrong: a Python exception, taken out of the interpreter.
struct Error {
  std::string type;  // "ImportError"
  std::string message;
  Object exception;

  // Makes it the interpreter's current exception again.
  void raise() const {
    if (exception)
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  }
};

// A value or an error. No function of this interface leaves a Python exception set, and none
// throws, but for what the standard library throws when there is no memory.
template <class T>
class Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(content_); }
  // Only of a result that is true, and of one that is false.
  T& operator*() { return *std::get_if<T>(&content_); }
  T* operator->() { return std::get_if<T>(&content_); }
  const Error& error() const { return *std::get_if<Error>(&content_); }

 private:
  std::variant<T, Error> content_;
};

}  // namespace armature::api
