// What guards ask of an array library. Implemented in libraries/, registered once at start-up.
#pragma once

#include <cstdint>
#include <string>

#include <llvm/ADT/ArrayRef.h>

#include "core/ref.h"
#include "shapes/tensor_metadata.h"

namespace armature {

// From the first byte of an array's elements to behind the last one.
struct MemoryRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

class ArrayLibrary {
 public:
  virtual ~ArrayLibrary() = default;
  // Does `object`, whose exact type was checked before, agree with `expected` in what was observed?
  virtual bool matches(BorrowedRef<> object, const TensorMetadata& expected,
                       uint32_t observed) const = 0;
  // Reads all metadata of an array. False, with no exception set, if the array is of a form that is
  // not modelled (sparse, nested, byte-swapped, …); `why` then says so.
  virtual bool read(BorrowedRef<> object, TensorMetadata& metadata, std::string* why) const = 0;

  // Where in memory the array's elements lie. False if that is not known.
  virtual bool findMemory(BorrowedRef<> object, MemoryRange& range) const {
    (void)object, (void)range;
    return false;
  }

  // Visits what an array of the library, or of a subclass, refers to and does not tell the garbage
  // collector, as a tp_traverse would. Nothing for all other objects.
  virtual int traverse(PyObject* object, visitproc visit, void* argument) const {
    (void)object, (void)visit, (void)argument;
    return 0;
  }

  // A library's global state on which traces depend (modes, defaults, …). `captureGlobalState`
  // returns the state now, as an opaque value: what every operation may depend on, and what the
  // program asked for, by the library's own bits (Translator::observeState); no two libraries use
  // the same bit. `globalStateMatches` compares without running Python code of the program.
  virtual std::string captureGlobalState(uint64_t asked) const = 0;
  virtual bool globalStateMatches(const std::string& state) const = 0;
  // Which settings differ from `state` now: "grad_mode: expected True, found False".
  virtual std::string explainGlobalState(const std::string& state) const = 0;
};

// The library's implementation, or null while the library is not imported.
const ArrayLibrary* arrayLibrary(ArrayLibraryKind kind);
// ArrayLibrary::traverse() of all of them.
int traverseArray(PyObject* object, visitproc visit, void* argument);
// Have the arrays, of whichever libraries, no memory in common? False where one is not known.
bool areApartInMemory(llvm::ArrayRef<PyObject*> arrays);
void registerArrayLibrary(ArrayLibraryKind kind, const ArrayLibrary* library);

}  // namespace armature
