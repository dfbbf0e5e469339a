// What builtin types give generated code to work with, past every override of a subclass.
#pragma once

#include <Python.h>

#include "codegen/py_codegen.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"

namespace armature {

// An attribute of the static type that the layout of `type` comes from: a function or a descriptor.
// Borrowed; null if it is missing.
inline PyObject* builtinAttribute(PyTypeObject* type, const char* name) {
  Ref<> key = Ref<>::steal(PyUnicode_InternFromString(name));
  return key ? cpython::lookup(cpython::staticBase(type), key) : nullptr;
}

// Begins a call of the method that the builtin type of `self` has, and loads self: further
// arguments are loaded next, then call(1 + count).
inline void prepareMethodCall(PyCodegen& codegen, VariableTracker* self, const char* name) {
  codegen.prepareCall(builtinAttribute(self->type(), name));
  codegen.load(self);
}

// Loads `descriptor.__set__(object, value)` of a C descriptor, and drops its result.
inline void setThroughDescriptor(PyCodegen& codegen, PyObject* descriptor, VariableTracker* object,
                                 const Value& value) {
  codegen.prepareCall(builtinAttribute(Py_TYPE(descriptor), "__set__"));
  codegen.loadConstant(descriptor);
  codegen.load(object);
  codegen.load(value);
  codegen.call(3);
  codegen.assembler().emit(Opcode::POP_TOP);
}

// Puts the attributes of a new object into its __dict__, which is empty.
inline void fillInstanceDict(PyCodegen& codegen, VariableTracker* object, DictVariable* dict) {
  Assembler& assembler = codegen.assembler();
  int32_t local = -1;
  dict->forEach(codegen.translator(), [&](const OrderedValueMap::Entry& entry) {
    if (local < 0) {
      local = codegen.freshLocal("dict");
      codegen.loadInstanceDict(object);
      assembler.emit(Opcode::STORE_FAST, local);
    }
    codegen.load(entry.value);
    assembler.emit(Opcode::LOAD_FAST, local);
    codegen.load(entry.key);
    assembler.emit(Opcode::STORE_SUBSCR);
  });
}

}  // namespace armature
