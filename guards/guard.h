// What a trace assumed about one input, as the translator requests it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/ref.h"
#include "shapes/tensor_metadata.h"
#include "sources/source.h"

namespace armature {

// TorchDynamo's names.
enum class GuardType : uint8_t {
#define GUARD_TYPE(name) name,
#include "guards/guard_types.def"
};
std::string_view guardTypeName(GuardType type);

struct Guard {
  const Source* source = nullptr;  // null for GLOBAL_STATE
  GuardType type = GuardType::TYPE_MATCH;
  // By type. TYPE_MATCH: the type. ID_MATCH, FUNCTION_MATCH, MODULE_MATCH, CLASS_MATCH,
  // BUILTIN_MATCH: the object itself. EQUALS_MATCH, CONSTANT_MATCH: the value. CLOSURE_MATCH: the
  // code object of a function. DICT_CONTAINS, DICT_NOT_CONTAINS, SET_…: the key. HASATTR: the name
  // (guards presence when `number` is 1, absence when 0; of a source of kind Type: in the class,
  // its metaclass aside). DICT_KEYS_MATCH: a list of the keys in
  // order (by identity or, for constants, by value). Lambda: a callable of one argument.
  // Others: null.
  Ref<> operand;
  // SEQUENCE_LENGTH, TUPLE_ITERATOR_LEN: the length. BOOL_MATCH: 0 or 1. HASATTR: see above.
  // TENSOR_MATCH: a union of Observed bits; requests for one source are united.
  int64_t number = 0;
  // TENSOR_MATCH: the example's metadata.
  std::shared_ptr<const TensorMetadata> metadata;
  // DUPLICATE_INPUT: `source` and this one must be the same object (number 1) or must not (0).
  const Source* other = nullptr;
};

}  // namespace armature
