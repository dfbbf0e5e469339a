// int, float, complex, bool, str, bytes, repr, format, hash, and the pure functions of numbers and
// characters.
#include <cstring>

#include "core/checked.h"
#include "cpython/buffers.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/constants/digit_limit.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/ascii_text.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// The forms with more arguments (a base, an encoding, keywords) are for constants.
void requireOneArgument(const char* name, const CallArguments& arguments) {
  if (!arguments.keywordCount() && arguments.values.size() == 1) return;
  throw GraphBreak(GraphBreakKind::BuiltinWithTracedArguments, name);
}

// The text that an instance of a subclass of str or bytes is; null for anything else.
Value builtinText(Translator& translator, const Value& value) {
  Value data = builtinData(translator, value);
  bool isText = data && (PyUnicode_Check(data.object()) || PyBytes_Check(data.object()));
  return isText ? data : Value();
}

// A text that is no number: the error shows what `value` says of itself, and not its data.
Value unlessShown(Translator& translator, Value result, const Value& value) {
  if (result) return result;
  translator.dropException();
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(value));
}

// Numbers are read from whatever shows its bytes.
void requireNoBuffer(GraphBreakKind kind, const Value& value) {
  if (cpython::showsBuffer(typeOf(value))) throw GraphBreak(kind, describe(value));
}

// PyNumber_Long for what is not a constant: __int__, then __index__.
Value toInt(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.values.empty() && !arguments.keywordCount()) return Value::integer(0);
  requireOneArgument("int", arguments);
  Value value = translator.realized(arguments.values[0]);
  const TypeSlots& slots = slotsOf(value);
  bool hasInt = translator.heap.hasSpecial(typeOf(value), cpython::SpecialSlot::Int);
  if (hasInt && arguments.tail && slots.nb_int == kUserObjectSlots.nb_int) {
    return objectInt(translator, value, true);
  }
  if (hasInt && slots.nb_int) return slots.nb_int(translator, value);
  if (hasIndex(translator, value)) return toIndex(translator, value);
  static PyObject* const trunc = staticName("__trunc__");
  if (translator.heap.lookup(typeOf(value), trunc) || hasInt) {
    throw GraphBreak(GraphBreakKind::IntOfObject, describe(value));
  }
  if (Value data = builtinText(translator, value)) {
    Value result = translator.fromPython(
        withinDigitLimit(data.object(), [&] { return PyNumber_Long(data.object()); }));
    return unlessShown(translator, std::move(result), value);
  }
  requireNoBuffer(GraphBreakKind::IntOfObject, value);
  return translator.raise(PyExc_TypeError,
                          "int() argument must be a string, a bytes-like object or a real number, "
                          "not '%.200s'",
                          nameOf(translator, value));
}

Value toFloat(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "float() takes no keyword arguments");
  }
  if (arguments.values.size() > 1) {
    return translator.raise(PyExc_TypeError, "float expected at most 1 argument, got %zu",
                            arguments.values.size());
  }
  if (arguments.values.empty()) return Value::steal(checked(PyFloat_FromDouble(0.0)).release());
  Value value = translator.realized(arguments.values[0]);
  const TypeSlots& slots = slotsOf(value);
  if (translator.heap.hasSpecial(typeOf(value), cpython::SpecialSlot::Float)) {
    if (arguments.tail && slots.nb_float == kUserObjectSlots.nb_float) {
      return objectFloat(translator, value, true);
    }
    return slots.nb_float ? slots.nb_float(translator, value)
                          : unimplemented::unary(translator, value);
  }
  if (hasIndex(translator, value)) {
    Value index = toIndex(translator, value);
    return index ? translator.fromPython(PyNumber_Float(index.object())) : index;
  }
  if (Value data = builtinText(translator, value)) {
    Value result = translator.fromPython(PyNumber_Float(data.object()));
    return unlessShown(translator, std::move(result), value);
  }
  requireNoBuffer(GraphBreakKind::UnsupportedOperation, value);
  return translator.raise(PyExc_TypeError,
                          "float() argument must be a string or a real number, not '%.200s'",
                          nameOf(translator, value));
}

Value toBool(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "bool() takes no keyword arguments");
  }
  if (arguments.values.size() > 1) {
    return translator.raise(PyExc_TypeError, "bool expected at most 1 argument, got %zu",
                            arguments.values.size());
  }
  if (arguments.values.empty()) return Value::boolean(false);
  return truth(translator, arguments.values[0], arguments.tail);
}

Value str(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.values.empty()) return Value::string("");
  requireOneArgument("str", arguments);
  return toStr(translator, arguments.values[0], arguments.tail);
}

Value repr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "repr", arguments, 1, 1)) return Value();
  return toRepr(translator, arguments.values[0], arguments.tail);
}

Value format(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "format", arguments, 1, 2)) return Value();
  Value specification =
      arguments.values.size() == 2 ? translator.realized(arguments.values[1]) : Value::string("");
  PyObject* text = specification.objectOrNull();
  if (!text || !PyUnicode_Check(text)) {
    if (translator.heap.isSubtype(typeOf(specification), &PyUnicode_Type)) {
      throw GraphBreak(GraphBreakKind::UnsupportedOperation,
                       "format() by an instance of " + describe(specification));
    }
    const char* given = specification.is(Py_None) ? "None" : nameOf(translator, specification);
    return translator.raise(PyExc_TypeError, "format() argument 2 must be str, not %.200s", given);
  }
  return formatValue(translator, arguments.values[0], std::move(specification), arguments.tail);
}

Value hash(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "hash", arguments, 1, 1)) return Value();
  Value object = translator.realized(arguments.values[0]);
  if (arguments.tail && slotsOf(object).tp_hash == kUserObjectSlots.tp_hash) {
    return objectHash(translator, object, true);
  }
  Py_hash_t result;
  return hashValue(translator, arguments.values[0], result) ? Value::integer(result) : Value();
}

Value abs(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "abs", arguments, 1, 1)) return Value();
  return unaryOperation(translator, UnarySlot::nb_absolute, arguments.values[0], arguments.tail);
}

Value pow(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"pow", {"base", "exp", "mod"}, 2, 3};
  Value base, exponent, modulus = Value::none();
  if (!readArguments(translator, kSignature, arguments, {&base, &exponent, &modulus})) {
    return Value();
  }
  Value divisor = translator.realized(modulus);
  if (divisor.is(Py_None)) return binaryOperation(translator, nb_power, base, exponent);
  CallArguments numbers;
  numbers.values = {translator.realized(base), translator.realized(exponent), std::move(divisor)};
  if (!allData(numbers)) throw GraphBreak(GraphBreakKind::BuiltinWithTracedArguments, "pow");
  return translator.fromPython(PyNumber_Power(
      numbers.values[0].object(), numbers.values[1].object(), numbers.values[2].object()));
}

// A special method of the object's class, where there is one that Python would call.
Value callSpecial(Translator& translator, const Value& object, const char* name,
                  llvm::ArrayRef<Value> arguments, bool& found, bool tail = false) {
  Ref<> interned = checked(PyUnicode_InternFromString(name));
  Value method = lookupSpecial(translator, object, interned.get());
  found = static_cast<bool>(method) || translator.exceptionPending();
  return method ? translator.realized(call(translator, method, arguments, tail)) : method;
}

Value round(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.empty() || arguments.values.size() > 2) {
    throw GraphBreak(GraphBreakKind::BuiltinWithTracedArguments, "round");
  }
  Value number = translator.realized(arguments.values[0]);
  llvm::ArrayRef<Value> digits(arguments.values);
  digits = digits.drop_front();
  if (!digits.empty() && translator.realized(digits[0]).is(Py_None)) digits = {};
  bool found;
  Value result = callSpecial(translator, number, "__round__", digits, found, arguments.tail);
  if (found) return result;
  return translator.raise(PyExc_TypeError, "type %.100s doesn't define __round__ method",
                          nameOf(translator, number));
}

Value raiseNoDivmod(Translator& translator, const Value& left, const Value& right) {
  return translator.raise(PyExc_TypeError,
                          "unsupported operand type(s) for divmod(): '%.100s' and '%.100s'",
                          nameOf(translator, left), nameOf(translator, right));
}

Value divmod(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "divmod", arguments, 2, 2)) return Value();
  Value left = translator.realized(arguments.values[0]);
  Value right = translator.realized(arguments.values[1]);
  // binary_op1: where the types are related, who is asked first is Python's to say.
  PyTypeObject *leftType = typeOf(left), *rightType = typeOf(right);
  auto isNumber = [](PyTypeObject* type) {
    return PyType_IsSubtype(type, &PyLong_Type) || PyType_IsSubtype(type, &PyFloat_Type);
  };
  static PyObject* const names[] = {staticName("__divmod__"), staticName("__rdivmod__")};
  // The number that an operand is to divmod(), if it is one.
  auto numberIn = [&](const Value& operand) {
    if (operand.isConstant()) return operand;
    for (PyTypeObject* base : {&PyLong_Type, &PyFloat_Type}) {
      bool isPlain = llvm::all_of(names, [&](PyObject* name) {
        return PyType_IsSubtype(typeOf(operand), base) &&
               translator.heap.inherits(typeOf(operand), base, name);
      });
      if (isPlain) return builtinData(translator, operand);
    }
    return Value();
  };
  if (Value first = numberIn(left), second = numberIn(right); first && second) {
    Value result = translator.fromPython(PyNumber_Divmod(first.object(), second.object()));
    if (result || !dropTypeErrorOfData(translator)) return result;
    return raiseNoDivmod(translator, left, right);
  }
  // A number that is no constant has a method of its own.
  bool isKnown =
      leftType == rightType ||
      (!PyType_IsSubtype(leftType, rightType) && !PyType_IsSubtype(rightType, leftType) &&
       isNumber(leftType) == left.isConstant() && isNumber(rightType) == right.isConstant());
  if (!isKnown) throw GraphBreak(GraphBreakKind::BuiltinWithTracedArguments, "divmod");
  for (bool reflected : {false, true}) {
    const Value& self = reflected ? right : left;
    const Value& other = reflected ? left : right;
    if (self.isConstant() || (reflected && leftType == rightType)) continue;
    bool found;
    Value result =
        callSpecial(translator, self, reflected ? "__rdivmod__" : "__divmod__", {other}, found);
    if (found && !result.is(Py_NotImplemented)) return result;
  }
  return raiseNoDivmod(translator, left, right);
}

// os.fspath: PyOS_FSPath of posixmodule.c.
Value fileSystemPath(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.size() != 1) {
    throw GraphBreak(GraphBreakKind::BuiltinWithTracedArguments, describe(self));
  }
  auto isPath = [](PyTypeObject* type) {
    return PyType_IsSubtype(type, &PyUnicode_Type) || PyType_IsSubtype(type, &PyBytes_Type);
  };
  // _PyType_Name: without the module.
  auto nameAlone = [&](PyTypeObject* type) {
    const char* name = nameOf(translator, type);
    const char* dot = std::strrchr(name, '.');
    return dot ? dot + 1 : name;
  };
  Value path = translator.realized(arguments.values[0]);
  PyTypeObject* type = typeOf(path);
  if (isPath(type)) return path;
  static PyObject* const special = staticName("__fspath__");
  Value method = lookupSpecial(translator, path, special);
  if (!method) {
    if (translator.exceptionPending()) translator.dropException();
    return translator.raise(
        PyExc_TypeError, "expected str, bytes or os.PathLike object, not %.200s", nameAlone(type));
  }
  Value text = translator.realized(call(translator, method, llvm::ArrayRef<Value>()));
  if (!text || isPath(typeOf(text))) return text;
  return translator.raise(PyExc_TypeError,
                          "expected %.200s.__fspath__() to return str or bytes, not %.200s",
                          nameAlone(type), nameAlone(typeOf(text)));
}

// bin, oct, hex: of one integer, which an object may say by __index__.
template <int base>
Value inBase(Translator& translator, const Value&, CallArguments& arguments) {
  constexpr const char* kName = base == 2 ? "bin" : base == 8 ? "oct" : "hex";
  if (!checkArgumentCount(translator, kName, arguments, 1, 1)) return Value();
  Value index = toIndex(translator, arguments.values[0]);
  return index ? translator.fromPython(PyNumber_ToBase(index.object(), base)) : index;
}

Value ascii(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "ascii", arguments, 1, 1)) return Value();
  return toAscii(translator, arguments.values[0]);
}

void registerAll() {
  registerFunctionHandler("builtins", "ascii", ascii);
  registerFunctionHandler("builtins", "int", toInt);
  registerFunctionHandler("builtins", "float", toFloat);
  registerFunctionHandler("builtins", "bool", toBool);
  registerFunctionHandler("builtins", "str", str);
  registerFunctionHandler("builtins", "repr", repr);
  registerFunctionHandler("builtins", "format", format);
  registerFunctionHandler("builtins", "hash", hash);
  registerFunctionHandler("builtins", "abs", abs);
  registerFunctionHandler("builtins", "pow", pow);
  registerFunctionHandler("builtins", "round", round);
  for (const char* name :
       {"int", "float", "bool", "str", "repr", "format", "hash", "abs", "round"}) {
    registerProtocolFunction("builtins", name);
  }
  registerFunctionHandler("posix", "fspath", fileSystemPath);
  registerFunctionHandler("builtins", "divmod", divmod);
  registerFunctionHandler("builtins", "bin", inBase<2>);
  registerFunctionHandler("builtins", "oct", inBase<8>);
  registerFunctionHandler("builtins", "hex", inBase<16>);
  for (const char* name :
       {"int", "float", "complex", "bool", "str", "bytes", "repr", "ascii", "format", "abs", "pow",
        "round", "divmod", "bin", "oct", "hex", "chr", "ord"}) {
    registerPureFunction("builtins", name);
  }
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
