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

// Which of the equal objects it was that the address is of, nothing tells, unless they came from
// one place, or are the code's. (One that each call makes need not live as long as its address.)
bool isKnown(const Translator& translator, const AddressVariable& address) {
  if (!address.isOfData() || address.place) return true;
  PyObject* constant = address.object.objectOrNull();
  return constant && !translator.isMadeHere(constant) &&
         translator.constantSources(constant).size() < 2;
}

class AddressReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* address = llvm::cast<AddressVariable>(tracker);
    if (!address->place) visit(address->object);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* address = llvm::cast<AddressVariable>(tracker);
    if (!isKnown(codegen.translator(), *address)) {
      throw UnsupportedReconstruction("the id() of data");
    }
    static PyObject* const function = checked(PyCFunction_New(&addressMethod, nullptr)).release();
    codegen.prepareCall(function);
    // An input that is a literal of the code, too, is so in each call: see load().
    PyObject* constant = address->object.objectOrNull();
    bool isLiteral = constant && codegen.translator().isLiteral(constant);
    if (address->place && !isLiteral) {
      codegen.loadSource(address->place);
    } else {
      codegen.load(address->object);
    }
    codegen.call(1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Address)

}  // namespace armature
