#include "guards/guard.h"

#include <array>

#include "core/describe.h"
#include "guards/guard_text.h"
#include "guards/object_access.h"
#include "guards/silent_end.h"

namespace armature {

std::string_view guardTypeName(GuardType type) {
  switch (type) {
#define GUARD_TYPE(name) \
  case GuardType::name:  \
    return #name;
#include "guards/guard_types.def"
  }
  return "?";
}

namespace {

std::string observedNames(int64_t observed) {
  static constexpr std::pair<uint32_t, const char*> names[] = {
      {ObservedDispatchKeys, "dispatch keys"},
      {ObservedDType, "dtype"},
      {ObservedDevice, "device"},
      {ObservedDimension, "dimension"},
      {ObservedSizes, "sizes"},
      {ObservedStrides, "strides"},
      {ObservedRequiresGrad, "requires_grad"},
      {ObservedNoAttributes, "no attributes"},
      {ObservedIsLeaf, "is_leaf"},
      {ObservedStorageOffset, "storage offset"}};
  std::string text;
  for (auto [bit, name] : names)
    if (observed & bit) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "type" : text;
}

std::string listOf(const std::vector<const Source*>& sources) {
  std::string text;
  for (const Source* source : sources) text += (text.empty() ? "" : ", ") + source->name();
  return text;
}

std::string distinctText(const DistinctObjects& distinct) {
  std::string written = listOf(distinct.written);
  if (distinct.inMemory) return written + " share no memory";
  std::string read = listOf(distinct.read);
  if (distinct.written.size() == 1)
    return written + (distinct.read.size() == 1 ? " is not " : " is none of ") + read;
  return written + " are different objects" + (read.empty() ? "" : ", and none of them is " + read);
}

std::string comparisonText(const std::string& left, int relation, bool holds,
                           const std::string& right) {
  constexpr std::array<const char*, 6> kSymbols = {" < ", " <= ", " == ", " != ", " > ", " >= "};
  std::string text = left + kSymbols[static_cast<size_t>(relation)] + right;
  return holds ? text : "not " + text;
}

// Which object it is; what a container has in it plays no part.
std::string identityText(BorrowedRef<> object) {
  bool isContainer = PyDict_Check(object.get()) || PyList_Check(object.get());
  return isContainer ? "<" + typeName(Py_TYPE(object.get())) + " object>" : describe(object);
}

}  // namespace

std::string guardText(const Guard& guard, BorrowedRef<> object) {
  std::string name = guard.source ? guard.source->name() : "";
  std::string operand = "<dead object>";
  if (object) operand = guard.type == GuardType::ID_MATCH ? identityText(object) : describe(object);
  switch (guard.type) {
    case GuardType::TYPE_MATCH:
      return "type(" + name + ") is " + operand;
    case GuardType::ID_MATCH:
    case GuardType::FUNCTION_MATCH:
    case GuardType::CLASS_MATCH:
    case GuardType::MODULE_MATCH:
      return name + " is " + operand;
    case GuardType::BUILTIN_MATCH:
      return name + (object && isBindingDescriptor(object) ? " is a bound " : " is ") + operand;
    case GuardType::SYM_COMPARISON:
      return guard.comparison()->text(name);
    case GuardType::VALUE_COMPARISON:
      return comparisonText(name, static_cast<int>(guard.number / 2), guard.number % 2,
                            guard.other() ? guard.other()->name() : operand);
    case GuardType::SMALL_INT_MATCH:
      return "abs(" + name + ") < 2 ** 60";
    case GuardType::EQUALS_MATCH:
    case GuardType::CONSTANT_MATCH:
      return name + " == " + operand;
    case GuardType::BUILTIN_PART_MATCH: {
      std::string type = object ? describe(reinterpret_cast<PyObject*>(Py_TYPE(object))) : "?";
      return type + "(" + name + ") == " + operand;
    }
    case GuardType::BOOL_MATCH:
      return name + (guard.number ? " is True" : " is False");
    case GuardType::NONE_MATCH:
      return name + " is None";
    case GuardType::NOT_NONE_MATCH:
      return name + " is not None";
    case GuardType::CLOSURE_MATCH:
      return name + ".__code__ == " + operand;
    case GuardType::SEQUENCE_LENGTH:
      return "len(" + name + ") == " + std::to_string(guard.number);
    case GuardType::DICT_CONTAINS:
    case GuardType::SET_CONTAINS:
      return operand + " in " + name;
    case GuardType::DICT_NOT_CONTAINS:
    case GuardType::SET_NOT_CONTAINS:
      return operand + " not in " + name;
    case GuardType::DICT_KEYS_MATCH:
      return "list(dict.keys(" + name + ")) == " + operand;
    case GuardType::SET_HOLDS:
      return name + " holds " + operand;
    case GuardType::SET_TABLE_MATCH:
      return name + " has the table of " + operand;
    case GuardType::SET_ITEMS_MATCH:
      return "list(set.__iter__(" + name + ")) == " + operand;
    case GuardType::HASATTR:
      if (guard.after) name = "super(" + describe(guard.after) + ", " + name + ")";
      return (guard.number ? "hasattr(" : "not hasattr(") + name + ", " + operand + ")";
    case GuardType::SLOT_IS_SET:
      return operand + " of " + name + (guard.number ? " is set" : " is not set");
    case GuardType::CELL_IS_SET:
      return name + (guard.number ? " is set" : " is not set");
    case GuardType::SUBCLASS_MATCH:
      return std::string(guard.number ? "" : "not ") + "issubclass(" + name + ", " + operand + ")";
    case GuardType::ABSTRACT_CLASS:
      return name + (guard.number ? " is abstract" : " is not abstract");
    case GuardType::BUILTIN_NEW:
      return name + (guard.number ? " makes instances as a builtin type does"
                                  : " makes instances by a __new__ of its own");
    case GuardType::ABC_CACHE_TOKEN:
      return "no class was registered with an abstract base class";
    case GuardType::EMPTY_NN_MODULE_HOOKS_DICT:
      return "not " + name;
    case GuardType::ENDS_SILENTLY:
      if (guard.number == kEndsAreHeard) {
        return "somebody hears if the inputs " + describe(guard.operand) + " are let go of";
      }
      if (guard.operand) return name + " alone holds the generators at " + describe(guard.operand);
      return std::string(guard.number < 0 ? "somebody" : "nobody") + " hears if " + name +
             (guard.number >= 0 &&
                      static_cast<LettingGo>(guard.number % kTimesLetGo) == LettingGo::Content
                  ? " is emptied"
                  : " is let go of");
    case GuardType::ITERATOR_ITEM:
      return name + " gives more than " + std::to_string(guard.number) + " items";
    case GuardType::ITERATOR_END:
      if (guard.number < 0) return name + " has ended";
      return name + " gives " + std::to_string(guard.number) + " items";
    case GuardType::ITERATOR_STATE:
      return name + " is in state " + std::to_string(guard.number);
    case GuardType::GENERATOR_MATCH:
      return name + " stands where it stood";
    case GuardType::TENSOR_MATCH:
      return name + " is like " + toString(*guard.metadata()) + " in " +
             observedNames(guard.number);
    case GuardType::DUPLICATE_INPUT:
      if (guard.distinct()) return distinctText(*guard.distinct());
      return name + (guard.number ? " is " : " is not ") + guard.other()->name();
    case GuardType::GLOBAL_STATE:
      return "global state is unchanged";
  }
  return "?";
}

}  // namespace armature
