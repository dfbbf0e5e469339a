#include "variables/functions/arguments.h"

#include <algorithm>

#include "cpython/integers.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

const char* plural(size_t count) { return count == 1 ? "" : "s"; }

bool tooMany(Translator& translator, const Signature& signature, size_t maximum, size_t given,
             size_t keywords) {
  if (maximum == 0 && given > keywords) {
    translator.raise(PyExc_TypeError, "%.200s() takes no positional arguments", signature.function);
    return false;
  }
  translator.raise(PyExc_TypeError, "%.200s() takes at most %zu %sargument%s (%zu given)",
                   signature.function, maximum, keywords == given ? "keyword " : "",
                   plural(maximum), given);
  return false;
}

}  // namespace

bool readArguments(Translator& translator, const Signature& signature,
                   const CallArguments& arguments, llvm::ArrayRef<Value*> values) {
  size_t given = arguments.positionalCount();
  size_t total = values.size();
  if (given + arguments.keywordCount() > total) {
    return tooMany(translator, signature, total, arguments.values.size(), arguments.keywordCount());
  }
  if (given > signature.positional) {
    if (signature.positional == 0) {
      translator.raise(PyExc_TypeError, "%.200s() takes no positional arguments",
                       signature.function);
      return false;
    }
    translator.raise(PyExc_TypeError, "%.200s() takes %s %zu positional argument%s (%zu given)",
                     signature.function,
                     signature.required < signature.positional ? "at most" : "exactly",
                     signature.positional, plural(signature.positional), given);
    return false;
  }
  size_t used = 0;
  for (size_t i = 0; i < total; ++i) {
    const char* name = signature.names[i];
    const Value* keyword = *name ? arguments.keyword(name) : nullptr;
    used += keyword != nullptr;
    if (i < given) {
      if (keyword) {
        translator.raise(PyExc_TypeError,
                         "argument for %.200s() given by name ('%s') and position (%zu)",
                         signature.function, name, i + 1);
        return false;
      }
      *values[i] = arguments.values[i];
    } else if (keyword) {
      *values[i] = *keyword;
    } else if (i < signature.required) {
      if (!*name) {
        size_t minimum = signature.required;
        translator.raise(PyExc_TypeError, "%.200s() takes %s %zu positional argument%s (%zu given)",
                         signature.function,
                         minimum < signature.positional ? "at least" : "exactly", minimum,
                         plural(minimum), given);
      } else {
        translator.raise(PyExc_TypeError, "%.200s() missing required argument '%s' (pos %zu)",
                         signature.function, name, i + 1);
      }
      return false;
    }
  }
  if (used == arguments.keywordCount()) return true;
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    PyObject* name = arguments.keywordName(i);
    bool known = std::any_of(signature.names.begin(), signature.names.begin() + total,
                             [&](const char* parameter) {
                               return PyUnicode_CompareWithASCIIString(name, parameter) == 0;
                             });
    if (known) continue;
    translator.raise(PyExc_TypeError, "'%S' is an invalid keyword argument for %.200s()", name,
                     signature.function);
    return false;
  }
  return true;
}

bool readTruthAsInteger(Translator& translator, const Value& value, bool& result) {
  Value index = toIndex(translator, value);
  if (!index) return false;
  int number = cpython::asInt(index.object());
  if (number == -1 && PyErr_Occurred()) {
    translator.raiseFromPython();
    return false;
  }
  result = number != 0;
  return true;
}

}  // namespace armature
