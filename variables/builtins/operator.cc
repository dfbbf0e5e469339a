// The functions of the module operator: the object protocol by name.
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/type_lookup.h"
#include "variables/containers/sequence_slots.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// The operators by name, as tables: a handler is made for each row.
struct BinaryOperator {
  const char* name;
  NumberSlot slot;
};
constexpr BinaryOperator kBinaryOperators[] = {
    {"add", nb_add},
    {"sub", nb_subtract},
    {"mul", nb_multiply},
    {"matmul", nb_matrix_multiply},
    {"truediv", nb_true_divide},
    {"floordiv", nb_floor_divide},
    {"mod", nb_remainder},
    {"pow", nb_power},
    {"lshift", nb_lshift},
    {"rshift", nb_rshift},
    {"and_", nb_and},
    {"or_", nb_or},
    {"xor", nb_xor},
    {"iadd", nb_inplace_add},
    {"isub", nb_inplace_subtract},
    {"imul", nb_inplace_multiply},
    {"imatmul", nb_inplace_matrix_multiply},
    {"itruediv", nb_inplace_true_divide},
    {"ifloordiv", nb_inplace_floor_divide},
    {"imod", nb_inplace_remainder},
    {"ipow", nb_inplace_power},
    {"ilshift", nb_inplace_lshift},
    {"irshift", nb_inplace_rshift},
    {"iand", nb_inplace_and},
    {"ior", nb_inplace_or},
    {"ixor", nb_inplace_xor},
};

struct UnaryOperator {
  const char* name;
  UnarySlot slot;
};
constexpr UnaryOperator kUnaryOperators[] = {
    {"neg", UnarySlot::nb_negative}, {"pos", UnarySlot::nb_positive},
    {"inv", UnarySlot::nb_invert},   {"invert", UnarySlot::nb_invert},
    {"abs", UnarySlot::nb_absolute},
};

struct ComparisonOperator {
  const char* name;
  int op;
};
constexpr ComparisonOperator kComparisons[] = {
    {"lt", Py_LT}, {"le", Py_LE}, {"eq", Py_EQ}, {"ne", Py_NE}, {"gt", Py_GT}, {"ge", Py_GE},
};

template <size_t i>
Value binary(Translator& translator, const Value&, CallArguments& arguments) {
  constexpr const BinaryOperator& row = kBinaryOperators[i];
  if (!checkArgumentCount(translator, row.name, arguments, 2, 2)) return Value();
  return binaryOperation(translator, row.slot, arguments.values[0], arguments.values[1],
                         arguments.tail);
}

template <size_t i>
Value unary(Translator& translator, const Value&, CallArguments& arguments) {
  constexpr const UnaryOperator& row = kUnaryOperators[i];
  // These are METH_O functions of _operator, whose errors name the module.
  if (!checkArgumentCount(translator, (std::string("_operator.") + row.name).c_str(), arguments, 1,
                          1)) {
    return Value();
  }
  return unaryOperation(translator, row.slot, arguments.values[0], arguments.tail);
}

template <size_t i>
Value compare(Translator& translator, const Value&, CallArguments& arguments) {
  constexpr const ComparisonOperator& row = kComparisons[i];
  if (!checkArgumentCount(translator, row.name, arguments, 2, 2)) return Value();
  return richCompare(translator, arguments.values[0], arguments.values[1], row.op, arguments.tail);
}

// PySequence_Concat: `+` of sequences only.
template <NumberSlot slot>
Value concat(Translator& translator, const Value&, CallArguments& arguments) {
  const char* name = slot == nb_add ? "concat" : "iconcat";
  if (!checkArgumentCount(translator, name, arguments, 2, 2)) return Value();
  Value left = translator.realized(arguments.values[0]);
  Value right = translator.realized(arguments.values[1]);
  // Of a class of the program, Python takes what its builtin base does, not its __add__ or
  // __radd__.
  for (const Value& operand : {left, right}) {
    if (!cpython::isImmutable(typeOf(operand))) {
      throw GraphBreak(GraphBreakKind::ConcatOfObject, describe(operand));
    }
  }
  if (cpython::fillsSlot(typeOf(left), cpython::SpecialSlot::Concat)) {
    return binaryOperation(translator, slot, std::move(left), std::move(right));
  }
  if (!cpython::fillsSlot(typeOf(left), cpython::SpecialSlot::Item)) {
    return translator.raise(PyExc_TypeError, "'%.200s' object can't be concatenated",
                            nameOf(translator, left));
  }
  throw GraphBreak(GraphBreakKind::ConcatOfObject, describe(left));
}

Value truth(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_operator.truth", arguments, 1, 1)) return Value();
  int result = isTrue(translator, arguments.values[0]);
  return result < 0 ? Value() : Value::boolean(result);
}

Value negation(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_operator.not_", arguments, 1, 1)) return Value();
  int result = isTrue(translator, arguments.values[0]);
  return result < 0 ? Value() : Value::boolean(!result);
}

template <bool same>
Value identity(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, same ? "is_" : "is_not", arguments, 2, 2)) return Value();
  return Value::boolean(isSame(translator, arguments.values[0], arguments.values[1]) == same);
}

Value index(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_operator.index", arguments, 1, 1)) return Value();
  Value object = translator.realized(arguments.values[0]);
  if (arguments.tail && slotsOf(object).nb_index == kUserObjectSlots.nb_index) {
    return objectIndex(translator, object, true);
  }
  return toIndex(translator, std::move(object));
}

Value getitem(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "getitem", arguments, 2, 2)) return Value();
  return getItem(translator, arguments.values[0], arguments.values[1], arguments.tail);
}

Value setitem(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "setitem", arguments, 3, 3)) return Value();
  bool ok = setItem(translator, arguments.values[0], arguments.values[1], arguments.values[2]);
  return ok ? Value::none() : Value();
}

Value delitem(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "delitem", arguments, 2, 2)) return Value();
  bool ok = deleteItem(translator, arguments.values[0], arguments.values[1]);
  return ok ? Value::none() : Value();
}

Value containsItem(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "contains", arguments, 2, 2)) return Value();
  int result = contains(translator, arguments.values[0], arguments.values[1]);
  return result < 0 ? Value() : Value::boolean(result);
}

// _PySequence_IterSearch: each item is compared before the next one is asked for. False with an
// exception pending. `visit` returns whether to go on.
bool searchIterator(Translator& translator, CallArguments& arguments,
                    llvm::function_ref<bool(bool isEqual)> visit) {
  Value iterator = iteratorToSearch(translator, arguments.values[0]);
  if (!iterator) return false;
  for (;;) {
    Value item = iteratorNext(translator, iterator);
    if (!item) return !translator.exceptionPending();
    int equal = areEqual(translator, item, arguments.values[1]);
    if (equal < 0) return false;
    if (!visit(equal)) return true;
  }
}

// PySequence_Count
Value countOf(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "countOf", arguments, 2, 2)) return Value();
  int64_t count = 0;
  bool isDone = searchIterator(translator, arguments, [&](bool isEqual) {
    count += isEqual;
    return true;
  });
  return isDone ? Value::integer(count) : Value();
}

bool isBuiltinContainer(const VariableTracker* tracker) {
  switch (tracker->kind()) {
    case VariableKind::List:
    case VariableKind::Tuple:
    case VariableKind::Deque:
    case VariableKind::Dict:
    case VariableKind::Set:
      return true;
    default:
      return false;
  }
}

// PySequence_Index
Value indexOf(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "indexOf", arguments, 2, 2)) return Value();
  int64_t index = 0;
  bool isFound = false;
  bool isDone = searchIterator(translator, arguments, [&](bool isEqual) {
    isFound = isEqual;
    index += !isEqual;
    return !isEqual;
  });
  if (!isDone) return Value();
  return isFound ? Value::integer(index)
                 : translator.raise(PyExc_ValueError, "sequence.index(x): x not in sequence");
}

Value callGiven(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.positionalCount() == 0) {
    return translator.raise(PyExc_TypeError, "call expected at least 1 argument, got 0");
  }
  Value function = arguments.values.front();
  arguments.values.erase(arguments.values.begin());
  return call(translator, function, arguments);
}

// PyObject_LengthHint of what knows its length.
Value lengthHint(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "length_hint", arguments, 1, 2)) return Value();
  Value object = translator.realized(arguments.values[0]);
  bool hasLength = object.isConstant()
                       ? isConstant(object.object()) && PyObject_Size(object.object()) >= 0
                       : isBuiltinContainer(object.tracker());
  clearException();
  Value fallback = arguments.values.size() > 1 ? translator.realized(arguments.values[1]) : Value();
  bool isPlain = !fallback || (fallback.isConstant() && PyLong_Check(fallback.object()));
  if (!hasLength || !isPlain) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, "operator.length_hint");
  }
  return lengthOf(translator, object, false);
}

struct Entry {
  const char* name;
  BuiltinHandler handler;
};

constexpr Entry kFunctions[] = {
    {"concat", concat<nb_add>},
    {"iconcat", concat<nb_inplace_add>},
    {"truth", truth},
    {"not_", negation},
    {"is_", identity<true>},
    {"is_not", identity<false>},
    {"index", index},
    {"getitem", getitem},
    {"setitem", setitem},
    {"delitem", delitem},
    {"contains", containsItem},
    {"countOf", countOf},
    {"indexOf", indexOf},
    {"call", callGiven},
    {"length_hint", lengthHint},
};

template <size_t... i>
void registerBinary(std::index_sequence<i...>) {
  (registerFunctionHandler("_operator", kBinaryOperators[i].name, binary<i>), ...);
}
template <size_t... i>
void registerUnary(std::index_sequence<i...>) {
  (registerFunctionHandler("_operator", kUnaryOperators[i].name, unary<i>), ...);
}
template <size_t... i>
void registerComparisons(std::index_sequence<i...>) {
  (registerFunctionHandler("_operator", kComparisons[i].name, compare<i>), ...);
}

void registerAll() {
  registerBinary(std::make_index_sequence<std::size(kBinaryOperators)>());
  registerUnary(std::make_index_sequence<std::size(kUnaryOperators)>());
  registerComparisons(std::make_index_sequence<std::size(kComparisons)>());
  auto minds = [](const auto& table) {
    for (const auto& row : table) registerProtocolFunction("_operator", row.name);
  };
  minds(kBinaryOperators), minds(kUnaryOperators), minds(kComparisons);
  registerProtocolFunction("_operator", "getitem");
  registerProtocolFunction("_operator", "index");
  for (const Entry& entry : kFunctions) {
    registerFunctionHandler("_operator", entry.name, entry.handler);
  }
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
