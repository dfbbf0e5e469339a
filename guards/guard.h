// What a trace assumed about one input, as the translator requests it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ref.h"
#include "shapes/sym_comparison.h"
#include "shapes/tensor_metadata.h"
#include "sources/source.h"

namespace armature {

// TorchDynamo's names.
enum class GuardType : uint8_t {
#define GUARD_TYPE(name) name,
#include "guards/guard_types.def"
};
std::string_view guardTypeName(GuardType type);

// Mutable objects that a trace took for different ones: those of `written` are pairwise different,
// and different from each of `read`, among which two may be one. For an InstanceDict, no dict is
// made: where an object has none yet, it is no other object's.
struct DistinctObjects {
  std::vector<const Source*> written;
  std::vector<const Source*> read;
  // Arrays, all of them in `written`, that have no memory in common.
  bool inMemory = false;
};

struct Guard {
  const Source* source = nullptr;  // null for GLOBAL_STATE, and where there is `distinct`
  GuardType type = GuardType::TYPE_MATCH;
  // By type. TYPE_MATCH: the type. ID_MATCH, FUNCTION_MATCH, MODULE_MATCH, CLASS_MATCH,
  // BUILTIN_MATCH: the object itself (or, of a C function bound to an object, the method descriptor
  // that bound it). EQUALS_MATCH, CONSTANT_MATCH: the value.
  // BUILTIN_PART_MATCH: the value as an exact int, float, complex, str or bytes. CLOSURE_MATCH: a
  // code object the same as that of a function. DICT_CONTAINS, DICT_NOT_CONTAINS, SET_CONTAINS,
  // SET_NOT_CONTAINS: the key. SET_HOLDS: an item, which the set has as what it is (True is not 1).
  // SET_TABLE_MATCH: a frozenset of constants with that table.
  // HASATTR: the name (guards presence when `number` is 1, absence when 0; of a source of kind
  // Type: in the class, its metaclass aside; so of a Constant that is a class). SLOT_IS_SET: the
  // member descriptor of an entry of __slots__. SUBCLASS_MATCH: a
  // class that the class at `source` has in its MRO (`number` is 1) or has not (0).
  // GENERATOR_MATCH: cpython::describeGenerator() of it. ENDS_SILENTLY, for LettingGo::Owned:
  // describePaths() of its generators;
  // for kEndsAreHeard: a tuple of the inputs' numbers.
  // DICT_KEYS_MATCH, SET_ITEMS_MATCH: a list of the keys in order (by identity or, for constants,
  // by value). Lambda: a callable of one argument. Others: null.
  Ref<> operand;
  // HASATTR of a class: the search in its MRO begins behind this class, as super()'s does.
  Ref<> after;
  // SEQUENCE_LENGTH, TUPLE_ITERATOR_LEN: the length. BOOL_MATCH: 0 or 1. HASATTR,
  // SUBCLASS_MATCH: see above. SLOT_IS_SET, CELL_IS_SET: 1 if it has a value. ABSTRACT_CLASS: 1 if
  // the class is abstract. BUILTIN_NEW: 1 if its tp_new is that of its static base.
  // ABC_CACHE_TOKEN: abc's counter of registrations (no source).
  // ENDS_SILENTLY: kEndIsHeard, kEndsAreHeard, or a LettingGo plus a multiple of kTimesLetGo
  // (guards/silent_end.h).
  // ITERATOR_ITEM: how many other items the iterator gives before one. ITERATOR_END: how many it
  // gives before it ends; -1 if it has been at its end, and has let go of what it walked over.
  // ITERATOR_STATE: cpython::iteratorState().
  // SMALL_INT_MATCH: an int below 2 ** 60 in magnitude.
  // VALUE_COMPARISON: twice the relation (Py_EQ and its like), plus 1 if it holds.
  // TENSOR_MATCH: a union of Observed bits; requests for one source are united. GLOBAL_STATE: what
  // the program asked for (ArrayLibrary::captureGlobalState).
  int64_t number = 0;
  // TENSOR_MATCH: the example's metadata. DUPLICATE_INPUT: `source` and the other source must be
  // the same object (number 1) or must not (0); or, without a source, the objects are distinct.
  // SYM_COMPARISON: what holds of the int at `source`. VALUE_COMPARISON: the source of what the
  // number or str at `source` is compared with; or else that is `operand`.
  std::variant<std::monostate, const Source*, std::shared_ptr<const TensorMetadata>,
               std::shared_ptr<const DistinctObjects>, std::shared_ptr<const SymComparison>>
      detail;

  // Null where the detail is another one.
  const Source* other() const {
    auto* source = std::get_if<const Source*>(&detail);
    return source ? *source : nullptr;
  }
  const TensorMetadata* metadata() const { return shared<TensorMetadata>(); }
  const DistinctObjects* distinct() const { return shared<DistinctObjects>(); }
  const SymComparison* comparison() const { return shared<SymComparison>(); }

 private:
  template <class T>
  const T* shared() const {
    auto* pointer = std::get_if<std::shared_ptr<const T>>(&detail);
    return pointer ? pointer->get() : nullptr;
  }
};

static_assert(std::is_nothrow_move_constructible_v<Guard>);

}  // namespace armature
