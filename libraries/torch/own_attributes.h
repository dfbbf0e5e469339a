// What torch itself defines on the classes of its tensors. They are written in Python: a program
// can put other things in its place.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

#include "libraries/torch/torch_module.h"

namespace armature {

class OwnAttributes {
 public:
  // What the classes have now, as far as it is torch's.
  explicit OwnAttributes(const TorchModule& torch);

  // Is what attribute lookup finds under `name`, which is interned, in the class of arrays what
  // torch defined? Null: is nothing there because torch defined nothing?
  bool has(PyTypeObject* type, PyObject* name, PyObject* attribute) const {
    return known_.lookup({type, name}) == attribute;
  }

 private:
  void add(PyTypeObject* type);

  llvm::DenseMap<std::pair<PyTypeObject*, PyObject*>, PyObject*> known_;
  std::vector<Ref<>> kept_;
};

}  // namespace armature
