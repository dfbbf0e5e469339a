#include "variables/objects/property.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

template <PyObject* (*make)(PyObject*)>
PyObject* functionOf(const char* name) {
  static PyMethodDef method = {name, [](PyObject*, PyObject* function) { return make(function); },
                               METH_O, nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

class PropertyReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& part : partsOf(tracker)) visit(part);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* property = llvm::cast<PropertyVariable>(tracker);
    codegen.prepareCall(property->showsFunction ? reinterpret_cast<PyObject*>(tracker->type())
                        : tracker->type() == &PyStaticMethod_Type
                            ? functionOf<PyStaticMethod_New>("static_method")
                            : functionOf<PyClassMethod_New>("class_method"));
    for (const Value& part : partsOf(tracker)) codegen.load(part);
    codegen.call(static_cast<int32_t>(partsOf(tracker).size()));
  }

 private:
  static llvm::ArrayRef<Value> partsOf(VariableTracker* tracker) {
    auto* property = llvm::cast<PropertyVariable>(tracker);
    return llvm::ArrayRef<Value>(property->parts).take_front(property->partCount());
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Property)

}  // namespace armature
