// The functions of the module operator: the object protocol by name.
#include "variables/builtin_handlers.h"
#include "variables/object_protocol.h"
#include "variables/sequence_slots.h"

namespace armature {

namespace {

template <NumberSlot slot>
Value binary(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "operator", arguments, 2, 2)) return Value();
  return binaryOperation(translator, slot, arguments.values[0], arguments.values[1]);
}

template <UnarySlot slot>
Value unary(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "operator", arguments, 1, 1)) return Value();
  return unaryOperation(translator, slot, arguments.values[0]);
}

template <int op>
Value compare(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "operator", arguments, 2, 2)) return Value();
  return richCompare(translator, arguments.values[0], arguments.values[1], op);
}

Value truth(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "truth", arguments, 1, 1)) return Value();
  int result = isTrue(translator, arguments.values[0]);
  return result < 0 ? Value() : Value::boolean(result);
}

Value negation(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "not_", arguments, 1, 1)) return Value();
  int result = isTrue(translator, arguments.values[0]);
  return result < 0 ? Value() : Value::boolean(!result);
}

template <bool same>
Value identity(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, same ? "is_" : "is_not", arguments, 2, 2)) return Value();
  return Value::boolean(isSame(translator, arguments.values[0], arguments.values[1]) == same);
}

Value index(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "index", arguments, 1, 1)) return Value();
  return toIndex(translator, arguments.values[0]);
}

Value getitem(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "getitem", arguments, 2, 2)) return Value();
  return getItem(translator, arguments.values[0], arguments.values[1]);
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

Value countOf(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "countOf", arguments, 2, 2)) return Value();
  ValueVector items;
  if (!iterateInto(translator, arguments.values[0], items)) return Value();
  CallArguments call;
  call.values.push_back(arguments.values[1]);
  return sequenceCount(translator, translator.make<ListVariable>(std::move(items)), call);
}

struct Entry {
  const char* name;
  BuiltinHandler handler;
};

constexpr Entry kFunctions[] = {
    {"add", binary<nb_add>},
    {"sub", binary<nb_subtract>},
    {"mul", binary<nb_multiply>},
    {"matmul", binary<nb_matrix_multiply>},
    {"truediv", binary<nb_true_divide>},
    {"floordiv", binary<nb_floor_divide>},
    {"mod", binary<nb_remainder>},
    {"pow", binary<nb_power>},
    {"lshift", binary<nb_lshift>},
    {"rshift", binary<nb_rshift>},
    {"and_", binary<nb_and>},
    {"or_", binary<nb_or>},
    {"xor", binary<nb_xor>},
    {"iadd", binary<nb_inplace_add>},
    {"isub", binary<nb_inplace_subtract>},
    {"imul", binary<nb_inplace_multiply>},
    {"imatmul", binary<nb_inplace_matrix_multiply>},
    {"itruediv", binary<nb_inplace_true_divide>},
    {"ifloordiv", binary<nb_inplace_floor_divide>},
    {"imod", binary<nb_inplace_remainder>},
    {"ipow", binary<nb_inplace_power>},
    {"ilshift", binary<nb_inplace_lshift>},
    {"irshift", binary<nb_inplace_rshift>},
    {"iand", binary<nb_inplace_and>},
    {"ior", binary<nb_inplace_or>},
    {"ixor", binary<nb_inplace_xor>},
    {"concat", binary<nb_add>},
    {"iconcat", binary<nb_inplace_add>},
    {"neg", unary<UnarySlot::nb_negative>},
    {"pos", unary<UnarySlot::nb_positive>},
    {"inv", unary<UnarySlot::nb_invert>},
    {"invert", unary<UnarySlot::nb_invert>},
    {"abs", unary<UnarySlot::nb_absolute>},
    {"lt", compare<Py_LT>},
    {"le", compare<Py_LE>},
    {"eq", compare<Py_EQ>},
    {"ne", compare<Py_NE>},
    {"gt", compare<Py_GT>},
    {"ge", compare<Py_GE>},
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
};

void registerAll() {
  for (const Entry& entry : kFunctions) {
    registerFunctionHandler("_operator", entry.name, entry.handler);
  }
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
