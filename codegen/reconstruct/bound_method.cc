#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "cpython/type_lookup.h"
#include "variables/functions/functions.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

class BoundMethodReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* method = llvm::cast<BoundMethodVariable>(tracker);
    visit(method->function), visit(method->self);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* method = llvm::cast<BoundMethodVariable>(tracker);
    Assembler& assembler = codegen.assembler();
    PyObject* function = method->function.objectOrNull();
    bool isDescriptor = function && (Py_IS_TYPE(function, &PyMethodDescr_Type) ||
                                     Py_IS_TYPE(function, &PyWrapperDescr_Type));
    if (method->type() == &PyMethod_Type) {
      codegen.prepareCall(reinterpret_cast<PyObject*>(&PyMethod_Type));
      codegen.load(method->function);
      codegen.load(method->self);
      codegen.call(2);
    } else if (isDescriptor && method->self.is(Py_None)) {
      // To __get__, None is no object (wrap_descr_get).
      PyObject* name = PyDescr_NAME(function);
      bool isItsOwn = cpython::lookup(Py_TYPE(Py_None), name) == function;
      if (!isItsOwn) throw UnsupportedReconstruction(describe(tracker));
      codegen.load(method->self);
      assembler.emitName(Opcode::LOAD_ATTR, name);
    } else if (function && Py_TYPE(function)->tp_descr_get) {
      // A C method: bound by its descriptor, since a subclass may have overridden the attribute.
      codegen.loadConstant(function);
      assembler.emitName(Opcode::LOAD_METHOD, "__get__");
      // A class method is bound to a class: __get__(None, class).
      bool ofClass = Py_TYPE(function) == &PyClassMethodDescr_Type;
      if (ofClass) codegen.loadConstant(Py_None);
      codegen.load(method->self);
      // Methods that want to know their class do not stand without one (method_get).
      if (!ofClass) codegen.loadConstant(reinterpret_cast<PyObject*>(PyDescr_TYPE(function)));
      codegen.call(2);
    } else if (function && PyUnicode_Check(function)) {
      codegen.load(method->self);
      assembler.emitName(Opcode::LOAD_ATTR, function);
    } else {
      throw UnsupportedReconstruction(describe(tracker));
    }
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(BoundMethod)

}  // namespace armature
