// Tuples with names that C code has defined: sys.version_info.
#pragma once

#include "variables/translator.h"

namespace armature {

bool isStructSequence(PyTypeObject* type);
bool isStructSequence(PyObject* callable);
// structseq_new
Value makeStructSequence(Translator& translator, const Value& callable, CallArguments& arguments);

}  // namespace armature
