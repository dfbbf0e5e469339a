#include "codegen/py_codegen.h"
#include "codegen/reconstruct/iterator_argument.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/iterators.h"

namespace armature {

namespace {

class ZipReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& item : llvm::cast<ZipVariable>(tracker)->iterators) visit(item);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* zip = llvm::cast<ZipVariable>(tracker);
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyZip_Type));
    for (const Value& item : zip->iterators) loadIteratorArgument(codegen, item);
    auto count = static_cast<int32_t>(zip->iterators.size());
    if (zip->strict.is(Py_False)) {
      codegen.call(count);
      return;
    }
    codegen.loadConstant(Py_True);
    static PyObject* const names = Py_BuildValue("(s)", "strict");
    codegen.assembler().emitCall(count + 1, names);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Zip)

}  // namespace armature
