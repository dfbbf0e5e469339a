// The functions of the module math: pure functions of numbers.
#include "variables/builtin_handlers.h"

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

void registerAll() {
  for (const char* name : kFunctions) registerPureFunction("math", name);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
