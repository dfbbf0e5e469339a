// The references to existing objects that the trace itself has; the others are the program's.
#pragma once

#include <Python.h>

#include <llvm/ADT/DenseMap.h>

#include <cstddef>
#include <cstdint>

namespace armature {

class Translator;

class OwnReferences {
 public:
  explicit OwnReferences(Translator& translator) : translator_(translator) {}

  // How many references to the object the program has.
  Py_ssize_t ofProgram(PyObject* object);
  // How many of those are inputs of the frame.
  Py_ssize_t ofInputs(PyObject* object) const;

 private:
  using Counts = llvm::DenseMap<PyObject*, Py_ssize_t>;

  // What came since the last question: a trace that empties a container asks at each object.
  void countNew();
  void countNewGuards();

  Translator& translator_;
  Counts lasting_;  // of trackers and sources, which nothing takes back
  Counts ofGuards_;
  size_t trackersCounted_ = 0, sourcesCounted_ = 0, guardsCounted_ = 0;
  uint64_t guardsRecordedIn_ = 0;  // recordGrowth
  bool isComplete_ = true;         // false while it counts, and after that has thrown
};

}  // namespace armature
