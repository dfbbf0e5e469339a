#include "variables/objects/address.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/checked.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// Not builtins.id, in whose place the program may have put another function.
PyObject* addressOf(PyObject*, PyObject* object) { return PyLong_FromVoidPtr(object); }
PyMethodDef addressMethod = {"id", addressOf, METH_O, nullptr};

// Of data, it has to be known which of the equal objects it was. (One that each call makes need not
// live as long as its address.)
void requireKnown(Translator& translator, const AddressVariable& address) {
  if (!address.isOfData()) return;
  Value object = address.object;
  if (auto* number = trackerOf<SymNodeVariable>(object)) {
    if (!number->specialized && number->node->operation == SymOperation::Input) return;
    object = number->specialized;
  }
  PyObject* constant = object ? object.objectOrNull() : nullptr;
  if (!constant || translator.isMadeHere(constant)) {
    throw UnsupportedReconstruction("the id() of " + describe(address.object));
  }
  llvm::ArrayRef<const Source*> sources = translator.constantSources(constant);
  for (const Source* source : sources) translator.guardSame(sources.front(), source, true);
}

class AddressReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(llvm::cast<AddressVariable>(tracker)->object);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* address = llvm::cast<AddressVariable>(tracker);
    requireKnown(codegen.translator(), *address);
    static PyObject* const function = checked(PyCFunction_New(&addressMethod, nullptr)).release();
    codegen.prepareCall(function);
    codegen.load(address->object);
    codegen.call(1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Address)

}  // namespace armature
