// What an attribute of an array is: the library's own, or what the program has put in its place.
#pragma once

#include "variables/tensors/tensor.h"
#include "variables/translator.h"

namespace armature {

// type.__getattribute__, as TypeSlots has it.
Value tensorAttribute(Translator& translator, const Value& self, PyObject* name);

// type.__setattr__ and __delattr__: what the program puts into the array's __dict__, and what the
// library lets an attribute hold.
bool setTensorAttribute(Translator& translator, const Value& self, PyObject* name,
                        const Value& value);

// Breaks where the result of an operation may be an argument of that operation, as that of
// x.contiguous() may: another variable stands for the very object then.
void requireOwnIdentity(Translator& translator, TensorVariable* tensor);

// Null for arrays of types without a __dict__.
DictVariable* tensorInstanceDict(Translator& translator, const Value& self);

// Breaks unless the operator that stands for the special method is the library's own: programs can
// give types that are written in Python another one. The answer is guarded. `name` is interned.
void requireOwnMethod(Translator& translator, const TensorVariable* tensor, PyObject* name);

// The metadata of the present value, observed for what `attribute` tells. Null: exception pending.
const TensorMetadata* observedMetadata(Translator& translator, TensorVariable* tensor,
                                       std::string_view attribute);

}  // namespace armature
