#include "variables/constants/computed_values.h"

#include <algorithm>

#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"
#include "core/constant.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "sources/computation.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"

namespace armature {

namespace {

// One computation upon the other.
constexpr int kMostSteps = 16;

// What their results cost is bounded by the sizes of what they are given.
constexpr const char* kMethodsOfInt[] = {"bit_count", "bit_length", "conjugate"};
constexpr const char* kMethodsOfFloat[] = {"conjugate", "hex", "is_integer"};
constexpr const char* kMethodsOfStr[] = {
    "capitalize",   "casefold",     "count",        "endswith",  "find",    "index",
    "isalnum",      "isalpha",      "isascii",      "isdecimal", "isdigit", "islower",
    "isidentifier", "isnumeric",    "isspace",      "istitle",   "isupper", "lower",
    "lstrip",       "removeprefix", "removesuffix", "rfind",     "rindex",  "rstrip",
    "strip",        "title",        "startswith",   "swapcase",  "upper",
};
constexpr const char* kMethodsOfDecimal[] = {"as_integer_ratio", "is_finite", "is_infinite",
                                             "is_nan",           "is_qnan",   "is_signed",
                                             "is_snan",          "is_zero"};
constexpr const char* kFunctionsOfMath[] = {
    "acos",     "acosh",    "asin",  "asinh",  "atan",    "atan2", "atanh", "cbrt",
    "ceil",     "copysign", "cos",   "cosh",   "degrees", "erf",   "erfc",  "exp",
    "exp2",     "expm1",    "fabs",  "floor",  "fmod",    "gamma", "gcd",   "hypot",
    "isfinite", "isinf",    "isnan", "lgamma", "log",     "log10", "log1p", "log2",
    "pow",      "radians",  "sin",   "sinh",   "sqrt",    "tan",   "tanh",  "trunc",
};
constexpr const char* kFunctionsOfBuiltins[] = {"abs",    "ascii", "bin", "chr",  "divmod",
                                                "format", "hash",  "hex", "len",  "max",
                                                "min",    "oct",   "ord", "repr", "round"};

constexpr const char* kFunctionsOfOperator[] = {"contains", "getitem", "index",
                                                "invert",   "neg",     "pos"};

PyObject* functionOf(const char* moduleName, const char* name) {
  Ref<> module = checked(cpython::importModule(moduleName));
  return checked(PyObject_GetAttrString(module.get(), name)).release();
}

PyObject* operatorFunction(const char* name) { return functionOf("_operator", name); }

// The function of an operator; null for one whose result may be much larger than its operands.
PyObject* functionOf(NumberSlot slot) {
  static PyObject* const add = operatorFunction("add");
  static PyObject* const subtract = operatorFunction("sub");
  static PyObject* const trueDivide = operatorFunction("truediv");
  static PyObject* const floorDivide = operatorFunction("floordiv");
  static PyObject* const remainder = operatorFunction("mod");
  static PyObject* const rightShift = operatorFunction("rshift");
  switch (slot) {
    case nb_add:
    case nb_inplace_add:
      return add;
    case nb_subtract:
    case nb_inplace_subtract:
      return subtract;
    case nb_true_divide:
    case nb_inplace_true_divide:
      return trueDivide;
    case nb_floor_divide:
    case nb_inplace_floor_divide:
      return floorDivide;
    case nb_remainder:
    case nb_inplace_remainder:
      return remainder;
    case nb_rshift:
    case nb_inplace_rshift:
      return rightShift;
    default:
      return nullptr;
  }
}

// What int is left to compute anew in each call: a guard that does so must not take long.
constexpr int64_t kMostBits = 4096;

// Is the count, which varies, at least 0 and at most `most`? Guarded; it is, before anything is
// computed of the count.
bool isGuardedCount(Translator& translator, const SymNode& count, int64_t most) {
  if (count.isConstant() || !count.isInteger()) return false;
  Value value = translator.make<SymNodeVariable>(&count);
  auto holds = [&](int relation, int64_t bound) {
    Value outcome = symbolicComparison(translator, value, Value::integer(bound), relation);
    return outcome && outcome.is(Py_True);
  };
  return holds(Py_GE, 0) && holds(Py_LE, most);
}

// A power that is a float, or a complex, or an int of few bits.
PyObject* powerFunction(Translator& translator, const SymNode& base, const SymNode& exponent) {
  static PyObject* const power = operatorFunction("pow");
  if (base.isConstant() && base.isInteger() &&
      isGuardedCount(translator, exponent, kMostBits / std::max<int64_t>(1, base.bits))) {
    return power;
  }
  bool isFloat = PyFloat_CheckExact(base.hint.get()) || PyFloat_CheckExact(exponent.hint.get());
  static PyObject* const zero = checked(PyLong_FromLong(0)).release();
  bool inverts = exponent.isConstant() && exponent.isInteger() &&
                 PyObject_RichCompareBool(exponent.hint.get(), zero, Py_LT) == 1;
  return isFloat || inverts ? power : nullptr;
}

// A shift to the left by so few bits that the result is hardly larger, or of few bits.
PyObject* shiftFunction(Translator& translator, const SymNode& shifted, const SymNode& count) {
  static PyObject* const shift = operatorFunction("lshift");
  constexpr long kMostConstant = 64;
  if (!count.isConstant()) {
    bool isSmall = shifted.isConstant() && shifted.isInteger() && shifted.bits < kMostBits &&
                   isGuardedCount(translator, count, kMostBits - shifted.bits);
    return isSmall ? shift : nullptr;
  }
  if (!PyLong_CheckExact(count.hint.get())) return nullptr;
  int overflow = 0;
  long bits = PyLong_AsLongAndOverflow(count.hint.get(), &overflow);
  return !overflow && bits >= 0 && bits <= kMostConstant ? shift : nullptr;
}

PyObject* functionOf(SymOperation operation) {
  static PyObject* const multiply = operatorFunction("mul");
  static PyObject* const power = operatorFunction("pow");
  static PyObject* const both = operatorFunction("and_");
  static PyObject* const either = operatorFunction("or_");
  static PyObject* const oneOf = operatorFunction("xor");
  switch (operation) {
    case SymOperation::Add:
      return functionOf(nb_add);
    case SymOperation::Subtract:
      return functionOf(nb_subtract);
    case SymOperation::Multiply:
      return multiply;
    case SymOperation::TrueDivide:
      return functionOf(nb_true_divide);
    case SymOperation::FloorDivide:
      return functionOf(nb_floor_divide);
    case SymOperation::Remainder:
      return functionOf(nb_remainder);
    case SymOperation::Power:
      return power;
    case SymOperation::And:
      return both;
    case SymOperation::Or:
      return either;
    case SymOperation::Xor:
      return oneOf;
    default:
      return nullptr;
  }
}

bool isComputable(PyObject* function) {
  if (Py_TYPE(function) == &PyMethodDescr_Type) {
    PyTypeObject* type = PyDescr_TYPE(function);
    llvm::ArrayRef<const char*> names = kMethodsOfDecimal;
    if (type == &PyLong_Type) names = kMethodsOfInt;
    if (type == &PyFloat_Type) names = kMethodsOfFloat;
    if (type == &PyUnicode_Type) names = kMethodsOfStr;
    return isComputedOf(type) && llvm::any_of(names, [&](const char* name) {
             return PyUnicode_CompareWithASCIIString(PyDescr_NAME(function), name) == 0;
           });
  }
  auto isOf = [&](const char* module, llvm::ArrayRef<const char*> names) {
    return llvm::any_of(
        names, [&](const char* name) { return isBuiltinFunction(function, module, name); });
  };
  // Conversions, which are calls of types.
  for (PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyUnicode_Type, &PyBool_Type}) {
    if (function == reinterpret_cast<PyObject*>(type)) return true;
  }
  return PyCFunction_Check(function) &&
         (isOf("math", kFunctionsOfMath) || isOf("builtins", kFunctionsOfBuiltins) ||
          isOf("_operator", kFunctionsOfOperator));
}

const Source* computedSource(Translator& translator, const Source* base, PyObject* function,
                             size_t place, llvm::ArrayRef<PyObject*> others) {
  int steps = 0;
  for (const Source* at = base; at && at->kind() == SourceKind::Computed; at = at->base()) ++steps;
  if (!base || steps >= kMostSteps) return nullptr;
  return translator.sources->computed(base, makeComputation(function, place, others));
}

// Null where an input comes in twice, or two do.
const Source* sourceOf(Translator& translator, const SymNode& node) {
  static PyObject* const negate = operatorFunction("neg");
  if (node.operation == SymOperation::Input) return node.source;
  if (node.operation == SymOperation::Constant) return nullptr;
  if (node.operation == SymOperation::Negate) {
    return computedSource(translator, sourceOf(translator, *node.left), negate, 0, {});
  }
  bool isLeft = node.right->isConstant();
  if (!isLeft && !node.left->isConstant()) return nullptr;
  const SymNode& varies = isLeft ? *node.left : *node.right;
  PyObject* other = (isLeft ? node.right : node.left)->hint.get();
  return computedSource(translator, sourceOf(translator, varies), functionOf(node.operation),
                        isLeft ? 0 : 1, other);
}

// An existing object of C that nothing can change.
bool isImmutableInput(const Value& value) {
  if (!value.isTracker() || !value.tracker()->source()) return false;
  PyObject* object = value.tracker()->existing();
  return object && !isConstantType(Py_TYPE(object)) && isComputedOf(Py_TYPE(object));
}

void guardType(Translator& translator, const Value& input) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(input.tracker()->existing()));
  translator.addGuard(input.tracker()->source(), GuardType::TYPE_MATCH, type);
}

// What is computed with, and where it comes from.
struct Operand {
  const Source* source;
  PyObject* object;
};

Operand operandOf(Translator& translator, const Value& value) {
  if (!isImmutableInput(value)) {
    const SymNode* node = nodeOf(translator, value);
    return {sourceOf(translator, *node), node->hint.get()};
  }
  guardType(translator, value);
  return {value.tracker()->source(), value.tracker()->existing()};
}

// A new tuple of what the one at `source` has.
Value copyOf(Translator& translator, const Source* source, BorrowedRef<> tuple) {
  Py_ssize_t size = PyTuple_GET_SIZE(tuple.get());
  translator.addGuard(source, GuardType::SEQUENCE_LENGTH, nullptr, size);
  ValueVector items;
  for (Py_ssize_t i = 0; i < size; ++i) {
    const Source* item = translator.sources->item(SourceKind::TupleItem, source, i);
    items.push_back(translator.wrap(item, PyTuple_GET_ITEM(tuple.get(), i)));
  }
  return makeTuple(translator, std::move(items));
}

// What a function gives: an input, or the truth value that is guarded.
Value apply(Translator& translator, PyObject* function, const Operand& operand, size_t place,
            llvm::ArrayRef<PyObject*> others) {
  const Source* source = computedSource(translator, operand.source, function, place, others);
  if (!source) return Value();
  Ref<> result = compute(source->object(), operand.object);
  if (!result) return Value();
  if (PyBool_Check(result.get())) {
    if (!translator.countComparison(operand.source)) return Value();
    bool isTrue = result.get() == Py_True;
    translator.addGuard(source, GuardType::BOOL_MATCH, nullptr, isTrue);
    return Value::boolean(isTrue);
  }
  bool isTuple = PyTuple_CheckExact(result.get());
  bool isValue = PyLong_CheckExact(result.get()) || PyFloat_CheckExact(result.get()) ||
                 PyUnicode_CheckExact(result.get());
  if (!isTuple && !isValue) return Value();
  translator.addGuard(source, GuardType::TYPE_MATCH,
                      reinterpret_cast<PyObject*>(Py_TYPE(result.get())));
  if (isTuple) return copyOf(translator, source, result);
  return translator.make<SymNodeVariable>(translator.symNodes.input(source, result));
}

}  // namespace

Value computedCall(Translator& translator, PyObject* function, const CallArguments& arguments) {
  if (arguments.keywordCount()) return Value();
  size_t place = arguments.values.size();
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    // Functions of several types ask a decimal's special methods, which mind the context.
    bool isMethod = Py_TYPE(function) == &PyMethodDescr_Type;
    bool varies = isSymbolic(translator, arguments.values[i]) ||
                  (isMethod && isImmutableInput(arguments.values[i]));
    if (!varies) continue;
    if (place < arguments.values.size()) return Value();
    place = i;
  }
  if (place == arguments.values.size() || !isComputable(function)) return Value();
  llvm::SmallVector<PyObject*, 4> others;
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    if (i == place) continue;
    Value other = translator.realized(arguments.values[i]);
    if (!other.isConstant() || !isConstant(other.object())) return Value();
    others.push_back(other.object());
  }
  return apply(translator, function, operandOf(translator, arguments.values[place]), place, others);
}

Value computedOperation(Translator& translator, NumberSlot slot, const SymNode& left,
                        const SymNode& right) {
  bool isLeft = right.isConstant();
  PyObject* function = functionOf(slot);
  bool isShift = slot == nb_lshift || slot == nb_inplace_lshift;
  bool isPower = slot == nb_power || slot == nb_inplace_power;
  if (isShift) function = shiftFunction(translator, left, right);
  if (isPower) function = powerFunction(translator, left, right);
  if (!function || (!isLeft && !left.isConstant())) return Value();
  // What a format makes may be as large as the numbers in it are.
  bool isFormat = function == functionOf(nb_remainder) && PyUnicode_CheckExact(left.hint.get());
  if (isFormat && !left.isConstant()) return Value();
  const SymNode& varies = isLeft ? left : right;
  PyObject* other = (isLeft ? right : left).hint.get();
  Operand operand{sourceOf(translator, varies), varies.hint.get()};
  return apply(translator, function, operand, isLeft ? 0 : 1, other);
}

Value computedText(Translator& translator, char conversion, const Value& value,
                   const Value& specification) {
  static PyObject* const repr = functionOf("builtins", "repr");
  static PyObject* const ascii = functionOf("builtins", "ascii");
  static PyObject* const format = functionOf("builtins", "format");
  if (!isSymbolic(translator, value)) return Value();
  CallArguments arguments;
  arguments.values = {value};
  if (conversion) {
    PyObject* str = reinterpret_cast<PyObject*>(&PyUnicode_Type);
    PyObject* function = conversion == 's' ? str : conversion == 'r' ? repr : ascii;
    arguments.values = {computedCall(translator, function, arguments)};
  }
  if (!arguments.values[0] || !specification) {
    return conversion ? arguments.values[0] : computedCall(translator, format, arguments);
  }
  arguments.values.push_back(specification);
  return computedCall(translator, format, arguments);
}

Value computedInverse(Translator& translator, const Value& value) {
  static PyObject* const invert = operatorFunction("invert");
  if (!isSymbolic(translator, value)) return Value();
  CallArguments arguments;
  arguments.values = {value};
  return computedCall(translator, invert, arguments);
}

Value computedContains(Translator& translator, const Value& container, const Value& item) {
  static PyObject* const contains = operatorFunction("contains");
  CallArguments arguments;
  arguments.values = {container, item};
  return computedCall(translator, contains, arguments);
}

Value computedItem(Translator& translator, const Value& container, const Value& key) {
  static PyObject* const getitem = operatorFunction("getitem");
  CallArguments arguments;
  arguments.values = {container, key};
  return computedCall(translator, getitem, arguments);
}

Value computedLength(Translator& translator, const VariableTracker& container) {
  if (!translator.hasVariation() || !container.source()) return Value();
  Ref<> computation = lengthComputation(Py_TYPE(container.existing()));
  if (!computation) return Value();
  const Source* source = translator.sources->computed(container.source(), std::move(computation));
  if (!translator.hasVaried(source)) return Value();
  Ref<> length = compute(source->object(), container.existing());
  if (!length) return Value();
  translator.addGuard(source, GuardType::TYPE_MATCH, reinterpret_cast<PyObject*>(&PyLong_Type));
  return translator.make<SymNodeVariable>(translator.symNodes.input(source, length));
}

PyObject* computableMethod(Translator& translator, const Value& value, PyObject* name) {
  bool isImmutable = isImmutableInput(value);
  if (!isImmutable && !isSymbolic(translator, value)) return nullptr;
  PyObject* method = cpython::ownAttribute(typeOf(value), name);
  if (!method || !isComputable(method)) return nullptr;
  if (isImmutable) {
    guardType(translator, value);
  } else {
    Value typed = value;
    realizeType(translator, typed);
  }
  return method;
}

Value computedMethod(Translator& translator, const Value& value, PyObject* name) {
  PyObject* method = computableMethod(translator, value, name);
  if (!method) return Value();
  return translator.make<BoundMethodVariable>(cpython::boundType(method), Value::constant(method),
                                              value);
}

const SymNode* computedInput(Translator& translator, const SymNode& node) {
  const Source* source = sourceOf(translator, node);
  if (!source) return nullptr;
  translator.addGuard(source, GuardType::TYPE_MATCH,
                      reinterpret_cast<PyObject*>(Py_TYPE(node.hint.get())));
  return translator.symNodes.input(source, node.hint);
}

}  // namespace armature
