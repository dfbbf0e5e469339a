#include "variables/functions/json_encoder.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class JsonEncoderReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& part : llvm::cast<JsonEncoderVariable>(tracker)->parts) visit(part);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* encoder = llvm::cast<JsonEncoderVariable>(tracker);
    codegen.prepareCall(reinterpret_cast<PyObject*>(encoder->type()));
    for (const Value& part : encoder->parts) codegen.load(part);
    codegen.call(static_cast<int32_t>(encoder->parts.size()));
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(JsonEncoder)

}  // namespace armature
