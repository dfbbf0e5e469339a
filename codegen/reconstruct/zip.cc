#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "variables/containers/iterators.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

class ZipReconstructor : public Reconstructor {
 public:
  void needs(PyCodegen&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& item : llvm::cast<ZipVariable>(tracker)->iterators) visit(item);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* zip = llvm::cast<ZipVariable>(tracker);
    if (zip->strict) throw UnsupportedReconstruction(describe(tracker));
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyZip_Type));
    for (const Value& item : zip->iterators) codegen.load(item);
    codegen.call(static_cast<int32_t>(zip->iterators.size()));
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Zip)

}  // namespace armature
