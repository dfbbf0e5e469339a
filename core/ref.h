// Owning and borrowed references to Python objects.
//
// A `Ref` owns one reference and gives it back when it dies; a `BorrowedRef` is a pointer whose
// owner is somebody else. Every function of the project that returns or takes a PyObject says by
// one of these two types who owns it; a raw `PyObject*` appears only in calls of CPython itself.
#pragma once

#include <Python.h>

#include <cstddef>
#include <functional>
#include <utility>

namespace armature {

template <class T = PyObject>
class BorrowedRef {
 public:
  BorrowedRef() = default;
  BorrowedRef(std::nullptr_t) {}
  BorrowedRef(T* object) : object_(object) {}

  T* get() const { return object_; }
  operator T*() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

template <class T = PyObject>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(asObject()); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ~Ref() { Py_XDECREF(asObject()); }
  Ref& operator=(const Ref& other) {
    Ref copy(other);
    swap(copy);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    Ref moved(std::move(other));
    swap(moved);
    return *this;
  }

  // Takes over a reference that the caller owns (what most of CPython's calls return).
  static Ref steal(T* object) {
    Ref result;
    result.object_ = object;
    return result;
  }
  // Makes a reference of its own to an object that somebody else keeps alive.
  static Ref create(T* object) {
    Py_XINCREF(reinterpret_cast<PyObject*>(object));
    return steal(object);
  }

  T* get() const { return object_; }
  operator BorrowedRef<T>() const { return BorrowedRef<T>(object_); }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Gives the reference to the caller, who must release it.
  T* release() { return std::exchange(object_, nullptr); }
  void swap(Ref& other) noexcept { std::swap(object_, other.object_); }

 private:
  PyObject* asObject() const { return reinterpret_cast<PyObject*>(object_); }
  T* object_ = nullptr;
};

}  // namespace armature
