// The functions of the module math: pure functions of numbers.
#include <cfloat>
#include <cmath>

#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"

namespace armature {

namespace {

constexpr const char* kFunctions[] = {
    "acos",  "acosh", "asin",      "asinh", "atan",   "atan2",     "atanh",    "cbrt",
    "ceil",  "comb",  "copysign",  "cos",   "cosh",   "degrees",   "dist",     "erf",
    "erfc",  "exp",   "exp2",      "expm1", "fabs",   "factorial", "floor",    "fmod",
    "frexp", "fsum",  "gamma",     "gcd",   "hypot",  "isclose",   "isfinite", "isinf",
    "isnan", "isqrt", "lcm",       "ldexp", "lgamma", "log",       "log10",    "log1p",
    "log2",  "modf",  "nextafter", "perm",  "pow",    "prod",      "radians",  "remainder",
    "sin",   "sinh",  "sqrt",      "tan",   "tanh",   "trunc",     "ulp",
};

constexpr const char* kProd = "prod";
constexpr const char* kFsum = "fsum";

// An argument or an item: data, or the call is broken off.
Ref<> requireData(Translator& translator, const Value& value, const char* function) {
  Ref<> real = toRealData(translator, value);
  if (!real) throw GraphBreak(GraphBreakKind::MathOfObjects, function);
  return real;
}

// prod(iterable, /, *, start=1): an item that cannot be multiplied leaves the rest in the iterator.
Value product(Translator& translator, const Value&, CallArguments& arguments) {
  const Value* start = arguments.keyword("start");
  if (arguments.positionalCount() != 1 || arguments.keywordCount() != (start ? 1 : 0)) {
    throw GraphBreak(GraphBreakKind::MathOfObjects, kProd);
  }
  Ref<> result = start ? requireData(translator, *start, kProd) : checked(PyLong_FromLong(1));
  bool ok = visitItems(translator, arguments.values[0], [&](const Value& item) {
    Ref<> factor = requireData(translator, item, kProd);
    result = Ref<>::steal(PyNumber_Multiply(result.get(), factor.get()));
    if (!result) translator.raiseFromPython();
    return static_cast<bool>(result);
  });
  if (!ok) return Value();
  Value value = Value::steal(result.release());
  // It may be one of lists.
  if (!isConstantData(value)) throw GraphBreak(GraphBreakKind::MathOfObjects, kProd);
  return value;
}

// fsum(iterable, /): so does an item that is no number.
Value sum(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.positionalCount() != 1 || arguments.keywordCount()) {
    throw GraphBreak(GraphBreakKind::MathOfObjects, kFsum);
  }
  Ref<> numbers = checked(PyList_New(0));
  double magnitude = 0;
  bool ok = visitItems(translator, arguments.values[0], [&](const Value& item) {
    double number = PyFloat_AsDouble(requireData(translator, item, kFsum).get());
    if (number == -1 && PyErr_Occurred()) {
      translator.raiseFromPython();
      return false;
    }
    if (std::isfinite(number)) magnitude += std::abs(number);
    // A sum that overflows on the way does so before the next item is asked for.
    if (magnitude > DBL_MAX / 2) throw GraphBreak(GraphBreakKind::MathOfObjects, kFsum);
    checked(PyList_Append(numbers.get(), checked(PyFloat_FromDouble(number)).get()));
    return true;
  });
  if (!ok) return Value();
  Ref<> module = checked(cpython::importModule("math"));
  return translator.fromPython(PyObject_CallMethod(module.get(), kFsum, "O", numbers.get()));
}

void registerAll() {
  registerFunctionHandler("math", kProd, product);
  registerFunctionHandler("math", kFsum, sum);

  for (const char* name : kFunctions) registerPureFunction("math", name);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
