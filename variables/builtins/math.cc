// The functions of the module math: pure functions of numbers.
#include "core/checked.h"
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

// Functions of an iterable: its items are data, or the call is broken off.
template <const char* const& name>
Value ofIterable(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.values.empty()) {
    throw GraphBreak(GraphBreakKind::MathOfObjects, name);
  }
  ValueVector items;
  if (!iterateInto(translator, arguments.values[0], items)) return Value();
  arguments.values[0] = translator.make<ListVariable>(std::move(items));
  if (!makeData(translator, arguments)) {
    throw GraphBreak(GraphBreakKind::MathOfObjects, name);
  }
  Ref<> module = checked(PyImport_ImportModule("math"));
  Ref<> function = checked(PyObject_GetAttrString(module.get(), name));
  llvm::SmallVector<PyObject*, 2> objects;
  for (const Value& value : arguments.values) objects.push_back(value.object());
  Value result = translator.fromPython(PyObject_Vectorcall(
      function.get(), objects.data(), arguments.positionalCount(), arguments.keywordNames));
  // A product may be one of lists.
  if (result && !isConstantData(result)) throw GraphBreak(GraphBreakKind::MathOfObjects, name);
  return result;
}

constexpr const char* kProd = "prod";
constexpr const char* kFsum = "fsum";

void registerAll() {
  registerFunctionHandler("math", kProd, ofIterable<kProd>);
  registerFunctionHandler("math", kFsum, ofIterable<kFsum>);

  for (const char* name : kFunctions) registerPureFunction("math", name);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
