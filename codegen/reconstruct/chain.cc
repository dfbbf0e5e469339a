// An existing chain: which iterators it goes on with is stored in it.
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "cpython/c_functions.h"
#include "cpython/iterators.h"
#include "variables/containers/iterators.h"

namespace armature {

namespace {

// set_chain(chain, iterators, active); None for none
PyObject* setChain(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  auto orNull = [](PyObject* object) { return Py_IsNone(object) ? nullptr : object; };
  cpython::setChain(arguments[0], orNull(arguments[1]), orNull(arguments[2]));
  Py_RETURN_NONE;
}

PyObject* setFunction() {
  static PyMethodDef method = {"set_chain", cpython::asMethod(setChain), METH_FASTCALL, nullptr};
  static PyObject* const function = PyCFunction_New(&method, nullptr);
  return function;
}

Value orNone(const Value& value) { return value ? value : Value::none(); }

class ChainReconstructor : public Reconstructor {
 public:
  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    auto* chain = llvm::cast<ChainVariable>(effect.target);
    visit(orNone(chain->iterators)), visit(orNone(chain->active));
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    auto* chain = llvm::cast<ChainVariable>(effect.target);
    codegen.prepareCall(setFunction());
    codegen.load(chain);
    codegen.load(orNone(chain->iterators));
    codegen.load(orNone(chain->active));
    codegen.call(3);
    codegen.assembler().emit(Opcode::POP_TOP);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Chain)

}  // namespace armature
