// Functions of modules in C that answer by their arguments alone.
#include "variables/functions/builtin_handlers.h"

namespace armature {

namespace {

struct Pure {
  const char* module;
  const char* name;
};

// What their results cost is bounded by the sizes of what they are given.
constexpr Pure kFunctions[] = {
    {"cmath", "acos"},
    {"cmath", "acosh"},
    {"cmath", "asin"},
    {"cmath", "asinh"},
    {"cmath", "atan"},
    {"cmath", "atanh"},
    {"cmath", "cos"},
    {"cmath", "cosh"},
    {"cmath", "exp"},
    {"cmath", "isclose"},
    {"cmath", "isfinite"},
    {"cmath", "isinf"},
    {"cmath", "isnan"},
    {"cmath", "log"},
    {"cmath", "log10"},
    {"cmath", "phase"},
    {"cmath", "polar"},
    {"cmath", "rect"},
    {"cmath", "sin"},
    {"cmath", "sinh"},
    {"cmath", "sqrt"},
    {"cmath", "tan"},
    {"cmath", "tanh"},
    {"binascii", "a2b_base64"},
    {"binascii", "a2b_hex"},
    {"binascii", "b2a_base64"},
    {"binascii", "b2a_hex"},
    {"binascii", "crc32"},
    {"binascii", "hexlify"},
    {"binascii", "unhexlify"},
    {"zlib", "adler32"},
    {"zlib", "crc32"},
    {"_struct", "calcsize"},
    {"_struct", "pack"},
    {"_struct", "unpack"},
    {"_json", "encode_basestring"},
    {"_json", "encode_basestring_ascii"},
    {"posix", "_path_normpath"},
    {"unicodedata", "bidirectional"},
    {"unicodedata", "category"},
    {"unicodedata", "combining"},
    {"unicodedata", "decimal"},
    {"unicodedata", "decomposition"},
    {"unicodedata", "digit"},
    {"unicodedata", "east_asian_width"},
    {"unicodedata", "is_normalized"},
    {"unicodedata", "lookup"},
    {"unicodedata", "mirrored"},
    {"unicodedata", "name"},
    {"unicodedata", "normalize"},
    {"unicodedata", "numeric"},
};

void registerAll() {
  for (const Pure& function : kFunctions) registerPureFunction(function.module, function.name);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
