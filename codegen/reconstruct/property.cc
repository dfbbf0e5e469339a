#include "variables/objects/property.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class PropertyReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& part : partsOf(tracker)) visit(part);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.prepareCall(reinterpret_cast<PyObject*>(tracker->type()));
    for (const Value& part : partsOf(tracker)) codegen.load(part);
    codegen.call(static_cast<int32_t>(partsOf(tracker).size()));
  }

 private:
  static llvm::ArrayRef<Value> partsOf(VariableTracker* tracker) {
    llvm::ArrayRef<Value> parts = llvm::cast<PropertyVariable>(tracker)->parts;
    return tracker->type() == &PyProperty_Type ? parts : parts.take_front(1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Property)

}  // namespace armature
