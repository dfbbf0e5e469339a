// Whether this interpreter is as the files of this room assume: tried out, at import, on objects
// that are made for it.
#pragma once

#include <span>

#include "core/ref.h"

namespace armature::cpython {

struct Assumption {
  const char* name;       // by which a test can make it fail: "dict versions"
  const char* statement;  // what is assumed: "a dict's version changes with each write"
};

std::span<const Assumption> assumptions();

// 0 if all hold, else -1 with an ImportError set that names the first one that does not, and the
// interpreter; so too in a subinterpreter. The assumption named `failing` (null: none) is taken not
// to hold, for tests.
int verifyInterpreter(const char* failing = nullptr);

}  // namespace armature::cpython
