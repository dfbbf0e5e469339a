#include "guards/section_guards.h"

namespace armature {

namespace {

// May an instance of the type get another type? CPython allows an assignment to __class__ only
// between heap types that are not immutable, and between kinds of modules
// (Objects/typeobject.c, object_set_class).
bool keepsInstances(PyTypeObject* type) {
  return type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && !PyType_IsSubtype(type, &PyModule_Type);
}

bool hasFixedLength(PyTypeObject* type) {
  return type == &PyTuple_Type || type == &PyUnicode_Type || type == &PyBytes_Type ||
         type == &PyFrozenSet_Type || type == &PyRange_Type;
}

}  // namespace

bool isAboutDictContent(const Guard& guard, const GuardNode& node) {
  switch (guard.type) {
    case GuardType::DICT_CONTAINS:
    case GuardType::DICT_NOT_CONTAINS:
    case GuardType::DICT_KEYS_MATCH:
      return true;
    case GuardType::SEQUENCE_LENGTH:
    case GuardType::EMPTY_NN_MODULE_HOOKS_DICT:
      return node.exactType && PyType_IsSubtype(node.exactType, &PyDict_Type);
    default:
      return false;
  }
}

bool isAboutTypeContent(const Guard& guard, const GuardNode& node) {
  switch (guard.type) {
    case GuardType::SUBCLASS_MATCH:
    case GuardType::ABSTRACT_CLASS:
    case GuardType::BUILTIN_NEW:
      return true;
    default:
      break;
  }
  bool isClass = node.constantType || node.source->kind() == SourceKind::Type;
  return guard.type == GuardType::HASATTR && isClass;
}

bool isAboutIdentity(const Guard& guard, const GuardNode& node) {
  switch (guard.type) {
    case GuardType::ID_MATCH:
    case GuardType::FUNCTION_MATCH:
    case GuardType::CLASS_MATCH:
    case GuardType::MODULE_MATCH:
    case GuardType::BUILTIN_MATCH:
    case GuardType::SMALL_INT_MATCH:
    case GuardType::SYM_COMPARISON:
    case GuardType::BOOL_MATCH:
    case GuardType::NONE_MATCH:
    case GuardType::NOT_NONE_MATCH:
    case GuardType::EQUALS_MATCH:  // operands are constants: only a constant can equal them
    case GuardType::CONSTANT_MATCH:
    case GuardType::BUILTIN_PART_MATCH:
      return true;
    case GuardType::VALUE_COMPARISON:
      return !guard.other();
    case GuardType::TYPE_MATCH:
      return keepsInstances(reinterpret_cast<PyTypeObject*>(guard.operand.get()));
    case GuardType::SEQUENCE_LENGTH:
      return node.exactType && hasFixedLength(node.exactType);
    default:
      return false;
  }
}

bool leadsToTheSame(const Source& source) {
  switch (source.kind()) {
    case SourceKind::TupleItem:
    case SourceKind::FunctionClosure:
    case SourceKind::FunctionGlobals:
    case SourceKind::FunctionBuiltins:
    case SourceKind::MethodFunction:
    case SourceKind::MethodSelf:
      return true;
    default:
      return false;
  }
}

bool isFoundInType(const Source& source) {
  return source.kind() == SourceKind::TypeAttribute || source.kind() == SourceKind::SuperAttribute;
}

bool isDictEntry(const Source& source) {
  return source.kind() == SourceKind::DictItem || source.kind() == SourceKind::DictKey;
}

}  // namespace armature
