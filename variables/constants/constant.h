// Which real objects may stand for themselves in a trace.
#pragma once

#include "variables/value.h"

namespace armature {

// Immutable data whose operations run no user code: None, bool, int, float, complex, str, bytes,
// Ellipsis, range, code objects, dtypes and devices, and tuples, frozensets and slices of such.
// Two constants with equal data are interchangeable except for identity.
bool isData(PyObject* object);

// isData, or an object that is known by its identity and that nothing can change: modules (their
// attributes are read through guarded paths), static types, C functions and descriptors, ufuncs.
bool isConstantObject(PyObject* object);

// True for data whose value a guard compares (EQUALS_MATCH); other constants are compared by
// identity (ID_MATCH).
bool isComparedByValue(PyObject* object);

// Registers a static type of a library whose instances are immutable data (torch.dtype …).
void registerDataType(PyTypeObject* type);

struct CallArguments;
class Translator;

// True if every argument is constant data.
bool allData(const CallArguments& arguments);
// Calls a pure function on such arguments now. The result is a constant, or a new list of them.
Value callWithData(Translator& translator, PyObject* callable, const CallArguments& arguments);

}  // namespace armature
