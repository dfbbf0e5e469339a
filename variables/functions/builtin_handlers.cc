#include "variables/functions/builtin_handlers.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"

namespace armature {

namespace {

// Identities are those of static PyMethodDefs, and of objects that live as long as the interpreter.
struct Registry {
  llvm::DenseMap<const void*, BuiltinHandler> handlers;
  llvm::DenseMap<PyTypeObject*, BuiltinHandler> instances;
  llvm::DenseSet<const void*> pure;
  // Types in whose place a program has put something else.
  struct Replaced {
    const char* module;
    const char* name;
    BuiltinHandler handler;
  };
  std::vector<Replaced> replaced;
  llvm::DenseSet<const void*> moving;
  llvm::DenseSet<const void*> protocol;
};

Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

std::vector<void (*)()>& registrations() {
  static auto* functions = new std::vector<void (*)()>;
  return *functions;
}

// What is not there where memory ran out may be there the next time.
[[noreturn]] void fail(const char* owner, const char* name) {
  if (interrupted()) throw PendingPythonException();
  std::fprintf(stderr, "armature: %s has no %s\n", owner, name);
  std::abort();
}

bool isNew(const PyMethodDef* method) { return std::strcmp(method->ml_name, "__new__") == 0; }

// What identifies a C callable: its method definition where it has one of its own. All types share
// the one of __new__, and slot wrappers have none; those are themselves.
const void* identityOf(PyObject* callable) {
  const PyMethodDef* definition = cpython::methodDefinition(callable);
  return definition && !isNew(definition) ? static_cast<const void*>(definition) : callable;
}

// The function with which the module in C was made, whatever the program has put in its place.
// Null if it has none of that name.
const void* ownFunction(PyObject* module, const char* name) {
  PyModuleDef* definition = PyModule_Check(module) ? PyModule_GetDef(module) : nullptr;
  if (!definition) return nullptr;
  for (const PyMethodDef* method = definition->m_methods; method && method->ml_name; ++method) {
    if (std::strcmp(method->ml_name, name) == 0) return method;
  }
  return nullptr;
}

// Is it the static type of that name?
bool isOwnType(PyObject* attribute, const char* name) {
  if (!PyType_Check(attribute)) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(attribute);
  const char* dot = std::strrchr(type->tp_name, '.');
  return std::strcmp(dot ? dot + 1 : type->tp_name, name) == 0 && !cpython::isHeapType(type);
}

// What identifies the function or type of a module in C. Null where the type is not there now.
const void* identityOf(const char* moduleName, const char* name) {
  Ref<> module = Ref<>::steal(cpython::importModule(moduleName));
  const void* identity = module ? ownFunction(module.get(), name) : nullptr;
  if (!identity && module) {
    PyObject* attribute = PyObject_GetAttrString(module.get(), name);
    // The reference is kept: the registry needs the object to stay where it is.
    if (attribute && isOwnType(attribute, name)) identity = attribute;
  }
  clearUnlessInterrupted();
  return identity;
}

// Builtin types whose instances nothing can change, so that their methods are pure on data.
bool isImmutableType(PyTypeObject* type) {
  for (PyTypeObject* immutable :
       {&PyLong_Type, &PyFloat_Type, &PyUnicode_Type, &PyBool_Type, &PyTuple_Type, &PyBytes_Type,
        &PyComplex_Type, &PyFrozenSet_Type, &PyRange_Type, &PySlice_Type, Py_TYPE(Py_None)}) {
    if (type == immutable) return true;
  }
  return false;
}

bool isPureMethod(PyObject* callable) {
  PyTypeObject* type = Py_TYPE(callable);
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) {
    auto* descriptor = reinterpret_cast<PyDescrObject*>(callable);
    // An iterator is an object with state.
    return isImmutableType(descriptor->d_type) &&
           PyUnicode_CompareWithASCIIString(descriptor->d_name, "__iter__") != 0 &&
           PyUnicode_CompareWithASCIIString(descriptor->d_name, "__reversed__") != 0;
  }
  if (type != &PyCFunction_Type) return false;
  // A class method; not a method of `type`, which tells of the class (its __subclasses__).
  PyObject* self = PyCFunction_GET_SELF(callable);
  PyMethodDef* definition = cpython::methodDefinition(callable);
  return self && PyType_Check(self) && isImmutableType(reinterpret_cast<PyTypeObject*>(self)) &&
         !isNew(definition) && !cpython::ownAttribute(&PyType_Type, definition->ml_name);
}

}  // namespace

void registerMethodHandler(PyTypeObject* type, const char* name, BuiltinHandler handler) {
  PyObject* method = cpython::ownAttribute(type, name);
  if (!method) fail(type->tp_name, name);
  // A static method gives the function inside.
  Ref<> function = Py_IS_TYPE(method, &PyStaticMethod_Type)
                       ? checked(PyObject_GetAttrString(method, "__func__"))
                       : Ref<>::create(method);
  registry().handlers[identityOf(function.get())] = handler;
}

void registerMovingMethodHandler(PyTypeObject* type, const char* name, BuiltinHandler handler) {
  registerMethodHandler(type, name, handler);
  registry().moving.insert(identityOf(cpython::ownAttribute(type, name)));
}

void registerFunctionHandler(const char* module, const char* name, BuiltinHandler handler) {
  if (const void* identity = identityOf(module, name)) {
    registry().handlers[identity] = handler;
  } else {
    registry().replaced.push_back({module, name, handler});
  }
}

void registerObjectHandler(PyObject* callable, BuiltinHandler handler) {
  registry().handlers[callable] = handler;
}

void registerInstanceHandler(PyTypeObject* type, BuiltinHandler handler) {
  registry().instances[type] = handler;
}

BuiltinHandler findInstanceHandler(PyTypeObject* type) { return registry().instances.lookup(type); }

void registerPureFunction(const char* module, const char* name) {
  if (const void* identity = identityOf(module, name)) registry().pure.insert(identity);
}

BuiltinHandler findHandler(PyObject* callable) {
  auto& handlers = registry().handlers;
  auto found = handlers.find(callable);
  if (found == handlers.end()) found = handlers.find(identityOf(callable));
  return found == handlers.end() ? nullptr : found->second;
}

void registerProtocolFunction(const char* module, const char* name) {
  if (const void* identity = identityOf(module, name)) registry().protocol.insert(identity);
}

void registerProtocolMethod(PyTypeObject* type, const char* name) {
  registry().protocol.insert(identityOf(cpython::ownAttribute(type, name)));
}

bool isProtocolFunction(PyObject* callable) {
  return registry().protocol.contains(identityOf(callable));
}

bool movesArguments(PyObject* callable) { return registry().moving.contains(identityOf(callable)); }

bool isBuiltinFunction(PyObject* object, const char* module, const char* name) {
  if (!PyCFunction_Check(object)) return false;
  PyObject* home = cpython::moduleOf(object);
  return home && PyUnicode_Check(home) && PyUnicode_CompareWithASCIIString(home, module) == 0 &&
         std::strcmp(cpython::methodDefinition(object)->ml_name, name) == 0;
}

bool isPure(PyObject* callable) {
  return registry().pure.contains(identityOf(callable)) || isPureMethod(callable);
}

HandlerRegistration::HandlerRegistration(void (*registerAll)()) {
  registrations().push_back(registerAll);
}

void runHandlerRegistrations() {
  // Taken off when it is done. One that was interrupted, or whose memory ran out, registers again
  // what it had registered.
  std::vector<void (*)()>& functions = registrations();
  while (!functions.empty()) {
    void (*registerAll)() = functions.front();
    registerAll();
    std::erase(functions, registerAll);
  }
  // It may have been put back.
  auto& replaced = registry().replaced;
  auto count = static_cast<ptrdiff_t>(replaced.size());
  for (ptrdiff_t i = 0; i < count; ++i) {
    Registry::Replaced type = replaced[static_cast<size_t>(i)];
    registerFunctionHandler(type.module, type.name, type.handler);
  }
  replaced.erase(replaced.begin(), replaced.begin() + count);
}

bool checkWrapperArguments(Translator& translator, const char* name, const CallArguments& arguments,
                           size_t count) {
  if (arguments.keywordCount()) {
    translator.raise(PyExc_TypeError, "wrapper %s() takes no keyword arguments", name);
    return false;
  }
  if (arguments.values.size() == count) return true;
  // Two are unpacked by PyArg_UnpackTuple, for a function without a name.
  translator.raise(PyExc_TypeError, "%sexpected %zu argument%s, got %zu", count == 2 ? " " : "",
                   count, count == 1 ? "" : "s", arguments.values.size());
  return false;
}

bool checkArgumentCount(Translator& translator, const char* function,
                        const CallArguments& arguments, size_t minimum, size_t maximum) {
  if (arguments.keywordCount()) {
    translator.raise(PyExc_TypeError, "%.200s() takes no keyword arguments", function);
    return false;
  }
  size_t count = arguments.values.size();
  if (count >= minimum && count <= maximum) return true;
  // METH_NOARGS and METH_O name the function in full, _PyArg_CheckPositional does not.
  if (minimum == maximum && maximum <= 1) {
    translator.raise(PyExc_TypeError, "%.200s() takes %s (%zu given)", function,
                     maximum == 0 ? "no arguments" : "exactly one argument", count);
    return false;
  }
  const char* dot = std::strrchr(function, '.');
  size_t bound = count < minimum ? minimum : maximum;
  const char* qualifier = minimum == maximum ? "" : (count < minimum ? "at least " : "at most ");
  translator.raise(PyExc_TypeError, "%.200s expected %s%zu argument%s, got %zu",
                   dot ? dot + 1 : function, qualifier, bound, bound == 1 ? "" : "s", count);
  return false;
}

}  // namespace armature
