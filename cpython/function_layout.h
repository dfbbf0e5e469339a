// The fields of a Python function, read and written nowhere but here. An attribute access would see
// the same, but for __dict__, which it creates, and __builtins__.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/ref.h"

namespace armature::cpython {

enum class FunctionField : uint8_t {
  Code,
  Globals,
  Builtins,  // a dict
  Name,
  QualifiedName,
  Defaults,         // a tuple, or null
  KeywordDefaults,  // a dict, or null
  Closure,          // a tuple of cells, or null
  Doc,
  Dict,  // null until somebody asks for __dict__ or sets an attribute
  Module,
};

// The field's place, from the beginning of the function object.
constexpr size_t offsetOf(FunctionField field) {
  switch (field) {
    case FunctionField::Code:
      return offsetof(PyFunctionObject, func_code);
    case FunctionField::Globals:
      return offsetof(PyFunctionObject, func_globals);
    case FunctionField::Builtins:
      return offsetof(PyFunctionObject, func_builtins);
    case FunctionField::Name:
      return offsetof(PyFunctionObject, func_name);
    case FunctionField::QualifiedName:
      return offsetof(PyFunctionObject, func_qualname);
    case FunctionField::Defaults:
      return offsetof(PyFunctionObject, func_defaults);
    case FunctionField::KeywordDefaults:
      return offsetof(PyFunctionObject, func_kwdefaults);
    case FunctionField::Closure:
      return offsetof(PyFunctionObject, func_closure);
    case FunctionField::Doc:
      return offsetof(PyFunctionObject, func_doc);
    case FunctionField::Dict:
      return offsetof(PyFunctionObject, func_dict);
    case FunctionField::Module:
      return offsetof(PyFunctionObject, func_module);
  }
  return 0;
}

// What the field holds, borrowed; null if it is empty. `function` is an instance of
// PyFunction_Type.
inline PyObject* read(BorrowedRef<> function, FunctionField field) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(function.get()) + offsetOf(field));
}
inline PyCodeObject* codeOf(BorrowedRef<> function) {
  return reinterpret_cast<PyCodeObject*>(read(function, FunctionField::Code));
}

// A function of the code that looks names up in these builtins, a dict; null: in those that the
// globals name now, as PyFunction_New does. Null with an exception set on failure.
inline Ref<> makeFunction(BorrowedRef<> code, BorrowedRef<> globals, BorrowedRef<> builtins) {
  Ref<> made = Ref<>::steal(PyFunction_New(code.get(), globals.get()));
  if (!made || !builtins) return made;
  auto* function = reinterpret_cast<PyFunctionObject*>(made.get());
  Ref<> before = Ref<>::steal(std::exchange(function->func_builtins, Py_NewRef(builtins.get())));
  return made;
}

}  // namespace armature::cpython
