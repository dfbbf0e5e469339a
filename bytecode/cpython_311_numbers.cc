// Alone in its file: <opcode.h> defines a macro for each opcode, which nothing of ours survives.
#include <Python.h>

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

#include <opcode.h>

#define NATIVE(name, number, caches, jump) static_assert((name) == (number));
#include "bytecode/cpython_311.def"
static_assert(EXTENDED_ARG == 144);

#endif
