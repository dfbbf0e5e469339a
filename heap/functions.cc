// Facts about Python functions.
#include "cpython/function_layout.h"
#include "cpython/type_lookup.h"
#include "heap/heap.h"

namespace armature {

namespace {

cpython::FunctionField fieldOf(SourceKind kind) {
  switch (kind) {
    case SourceKind::FunctionDefaults:
      return cpython::FunctionField::Defaults;
    case SourceKind::FunctionKwDefaults:
      return cpython::FunctionField::KeywordDefaults;
    case SourceKind::FunctionClosure:
      return cpython::FunctionField::Closure;
    case SourceKind::FunctionGlobals:
      return cpython::FunctionField::Globals;
    case SourceKind::FunctionBuiltins:
      return cpython::FunctionField::Builtins;
    case SourceKind::FunctionName:
      return cpython::FunctionField::Name;
    case SourceKind::FunctionQualifiedName:
      return cpython::FunctionField::QualifiedName;
    case SourceKind::FunctionModule:
      return cpython::FunctionField::Module;
    case SourceKind::FunctionDoc:
      return cpython::FunctionField::Doc;
    default:
      return cpython::FunctionField::Code;
  }
}

}  // namespace

PyCodeObject* Heap::codeOf(const Source* source, PyFunctionObject* function) {
  auto* object = reinterpret_cast<PyObject*>(function);
  PyCodeObject* code = cpython::codeOf(object);
  if (!source || !isNew(source, GuardType::CLOSURE_MATCH, code)) return code;
  depend(source, GuardType::CLOSURE_MATCH, reinterpret_cast<PyObject*>(code));
  // A twin of the function has the same code and other globals.
  depend(sources_.path(SourceKind::FunctionGlobals, source), GuardType::ID_MATCH,
         cpython::read(object, cpython::FunctionField::Globals));
  depend(sources_.path(SourceKind::FunctionBuiltins, source), GuardType::ID_MATCH,
         cpython::read(object, cpython::FunctionField::Builtins));
  return code;
}

void Heap::identify(const Source* source, PyFunctionObject* function) {
  auto* object = reinterpret_cast<PyObject*>(function);
  if (source && isNew(source, GuardType::ID_MATCH, object)) {
    depend(source, GuardType::ID_MATCH, object);
  }
}

Found Heap::madeOnDemand(const Source* source, PyFunctionObject* function, const char* attribute) {
  auto* type = reinterpret_cast<PyObject*>(&PyFunction_Type);
  PyObject* descriptor = cpython::ownAttribute(&PyFunction_Type, attribute);
  auto* object = reinterpret_cast<PyObject*>(function);
  // The function keeps it.
  Ref<> dict = Ref<>::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, object, type));
  return {dict.get(), source ? sources_.item(SourceKind::Descriptor, source, descriptor) : nullptr};
}

bool Heap::isNamedAsItsCode(const Source* source, PyFunctionObject* function) {
  Found name = part(source, function, SourceKind::FunctionName);
  Found qualifiedName = part(source, function, SourceKind::FunctionQualifiedName);
  PyCodeObject* code = cpython::codeOf(reinterpret_cast<PyObject*>(function));
  if (PyUnicode_Compare(name.object, code->co_name) != 0 ||
      PyUnicode_Compare(qualifiedName.object, code->co_qualname) != 0) {
    return false;
  }
  if (source && isNew(source, GuardType::EQUALS_MATCH, nullptr)) {
    for (const Found& each : {name, qualifiedName}) {
      depend(each.source, GuardType::EQUALS_MATCH, each.object);
    }
  }
  return true;
}

Found Heap::part(const Source* source, PyFunctionObject* function, SourceKind kind) {
  PyObject* object = cpython::read(reinterpret_cast<PyObject*>(function), fieldOf(kind));
  return {object ? object : Py_None, source ? sources_.path(kind, source) : nullptr};
}

}  // namespace armature
