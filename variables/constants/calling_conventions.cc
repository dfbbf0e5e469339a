#include "variables/constants/calling_conventions.h"

#include <string_view>

#include "core/pending_python_exception.h"
#include "core/ref.h"
#include "cpython/c_functions.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// _PyObject_FunctionStr. Null where code of the program would be asked.
Ref<> fullName(PyObject* callable) {
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
    if (PyDescr_TYPE(callable)->tp_flags & Py_TPFLAGS_HEAPTYPE) return nullptr;
  } else if (PyObject* self = PyCFunction_GET_SELF(callable); self && !PyModule_Check(self)) {
    PyTypeObject* type = PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self) : Py_TYPE(self);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return nullptr;
  }
  Ref<> name = Ref<>::steal(PyObject_GetAttrString(callable, "__qualname__"));
  if (!name) throw PendingPythonException();
  PyObject* module =
      Py_IS_TYPE(callable, &PyCFunction_Type) ? cpython::moduleOf(callable) : nullptr;
  bool isNamed = module && PyUnicode_Check(module) &&
                 PyUnicode_CompareWithASCIIString(module, "builtins") != 0;
  Ref<> text = Ref<>::steal(isNamed ? PyUnicode_FromFormat("%U.%U()", module, name.get())
                                    : PyUnicode_FromFormat("%U()", name.get()));
  if (!text) throw PendingPythonException();
  return text;
}

int conventionOf(PyObject* callable) {
  constexpr int kConventions = METH_NOARGS | METH_O | METH_KEYWORDS;
  return cpython::methodDefinition(callable)->ml_flags & kConventions;
}

// How many arguments the wrapper of such a slot takes (slotdefs of typeobject.c); -1 for those that
// take several numbers of them, and for binary operators, which have more than one wrapper.
int wrapperArgumentCount(std::string_view name) {
  for (std::string_view unary :
       {"__repr__", "__str__", "__iter__", "__next__", "__len__", "__hash__", "__bool__", "__neg__",
        "__pos__", "__invert__", "__abs__", "__int__", "__float__", "__index__"}) {
    if (name == unary) return 0;
  }
  for (std::string_view binary :
       {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__getitem__", "__delitem__",
        "__contains__", "__getattribute__", "__delattr__"}) {
    if (name == binary) return 1;
  }
  return name == "__setitem__" || name == "__setattr__" ? 2 : -1;
}

}  // namespace

bool isRefused(PyObject* callable, const CallArguments& arguments) {
  int convention = conventionOf(callable);
  if (convention & METH_KEYWORDS) return false;
  size_t count = arguments.positionalCount();
  return arguments.keywordCount() || (convention == METH_NOARGS && count != 0) ||
         (convention == METH_O && count != 1);
}

bool obeysConvention(Translator& translator, PyObject* callable, const CallArguments& arguments) {
  if (!isRefused(callable, arguments)) return true;
  int convention = conventionOf(callable);
  size_t count = arguments.positionalCount();
  Ref<> name = fullName(callable);
  if (!name) return true;
  if (arguments.keywordCount()) {
    translator.raise(PyExc_TypeError, "%U takes no keyword arguments", name.get());
  } else if (convention == METH_NOARGS) {
    translator.raise(PyExc_TypeError, "%U takes no arguments (%zu given)", name.get(), count);
  } else {
    translator.raise(PyExc_TypeError, "%U takes exactly one argument (%zu given)", name.get(),
                     count);
  }
  return false;
}

bool takeSelf(Translator& translator, PyObject* descriptor, CallArguments& arguments, Value& self) {
  PyTypeObject* owner = PyDescr_TYPE(descriptor);
  PyObject* name = PyDescr_NAME(descriptor);
  bool isSlot = Py_IS_TYPE(descriptor, &PyWrapperDescr_Type);
  if (arguments.positionalCount() == 0) {
    if (isSlot) {
      translator.raise(PyExc_TypeError, "descriptor '%U' of '%.100s' object needs an argument",
                       name, nameOf(translator, owner));
    } else {
      translator.raise(PyExc_TypeError, "unbound method %.200s.%U() needs an argument",
                       nameOf(translator, owner), name);
    }
    return false;
  }
  self = std::move(arguments.values.front());
  arguments.values.erase(arguments.values.begin());
  if (PyType_IsSubtype(typeOf(self), owner)) {
    if (!isSlot) return true;
    const char* slot = reinterpret_cast<PyWrapperDescrObject*>(descriptor)->d_base->name;
    int count = wrapperArgumentCount(slot);
    return count < 0 ||
           checkWrapperArguments(translator, slot, arguments, static_cast<size_t>(count));
  }
  translator.raise(PyExc_TypeError,
                   isSlot
                       ? "descriptor '%U' requires a '%.100s' object but received a '%.100s'"
                       : "descriptor '%U' for '%.100s' objects doesn't apply to a '%.100s' object",
                   name, nameOf(translator, owner), nameOf(translator, typeOf(self)));
  return false;
}

}  // namespace armature
