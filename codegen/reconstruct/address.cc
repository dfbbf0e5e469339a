#include "variables/objects/address.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/checked.h"

namespace armature {

namespace {

// Not builtins.id, in whose place the program may have put another function.
PyObject* addressOf(PyObject*, PyObject* object) { return PyLong_FromVoidPtr(object); }
PyMethodDef addressMethod = {"id", addressOf, METH_O, nullptr};

class AddressReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(llvm::cast<AddressVariable>(tracker)->object);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* address = llvm::cast<AddressVariable>(tracker);
    // Which of the equal objects it was, nothing tells, unless they came from one place.
    bool isKnown = !address->isOfData() ||
                   (address->object.isConstant() &&
                    codegen.translator().constantSources(address->object.object()).size() < 2);
    if (!isKnown) throw UnsupportedReconstruction("the id() of data");
    static PyObject* const function = checked(PyCFunction_New(&addressMethod, nullptr)).release();
    codegen.prepareCall(function);
    codegen.load(address->object);
    codegen.call(1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Address)

}  // namespace armature
