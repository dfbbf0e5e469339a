// What an existing chain goes on with is stored in it; a new one is made with that.
#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
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

// new_chain(iterators, active)
PyObject* newChain(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  PyObject* chain = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(cpython::chainType()));
  PyObject* all[] = {chain, arguments[0], arguments[1]};
  if (chain) Py_XDECREF(setChain(nullptr, all, 3));
  return chain;
}

PyObject* newFunction() { return privateFunction<newChain>("new_chain"); }

PyObject* setFunction() { return privateFunction<setChain>("set_chain"); }

Value orNone(const Value& value) { return value ? value : Value::none(); }

class ChainReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* chain = llvm::cast<ChainVariable>(tracker);
    visit(orNone(chain->iterators)), visit(orNone(chain->active));
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* chain = llvm::cast<ChainVariable>(tracker);
    codegen.prepareCall(newFunction());
    codegen.load(orNone(chain->iterators));
    codegen.load(orNone(chain->active));
    codegen.call(2);
  }
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
