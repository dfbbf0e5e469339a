#include "codegen/py_codegen.h"
#include "codegen/reconstruct/iterator_argument.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/iterators.h"

namespace armature {

namespace {

class MapReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* map = llvm::cast<MapVariable>(tracker);
    visit(map->function);
    for (const Value& item : map->iterators) visit(item);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyMap_Type));
    auto* map = llvm::cast<MapVariable>(tracker);
    codegen.load(map->function);
    for (const Value& item : map->iterators) loadIteratorArgument(codegen, item);
    codegen.call(1 + static_cast<int32_t>(map->iterators.size()));
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Map)

}  // namespace armature
