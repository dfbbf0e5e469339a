// Makes the variable of an existing object when the program first looks at it, and requests the
// guards under which that variable is right.
//
// Nothing here runs user code: objects are read through their C structs and through the exact
// builtin types' own functions.
#pragma once

#include "variables/containers/sequence.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

class PartialVariable;
class SetVariable;

class VariableBuilder {
 public:
  VariableBuilder(Translator& translator, const Source* source, BorrowedRef<> object)
      : translator_(translator), source_(source), object_(object) {}

  Value build();

 private:
  Value buildConstant();
  Value buildMutableOrShared();
  Value buildTuple();
  Value buildNamedTuple();
  ValueVector tupleItems();
  Value buildList();
  SetVariable* buildSet();
  Value buildDict();
  Value buildFunction();
  Value buildMethod();
  Value buildBuiltinMethod();
  Value buildClass();
  Value buildPartial();
  PartialVariable* makePartial();
  Value buildMappingProxy();
  Value buildArray(const Library& library);
  Value buildInstance();
  VariableTracker* makeItems(PyTypeObject* layout);
  Value buildCell();
  Value buildSlice();
  Value buildOpaque();

  const Source* path(SourceKind kind) const;
  const Source* item(SourceKind kind, int64_t index) const;
  void guard(GuardType type, BorrowedRef<> operand = nullptr, int64_t number = 0) {
    translator_.addGuard(source_, type, operand, number);
  }
  void guardType();

  Translator& translator_;
  const Source* source_;
  BorrowedRef<> object_;
};

}  // namespace armature
