#include "variables/objects/exception.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class ExceptionReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::Two; }
  void needs(PyCodegen&, VariableTracker* tracker, PartVisitor visit) const override {
    ExceptionVariable* exception = exceptionOf(tracker);
    visit(exception->classVariable);
    for (const Value& argument : exception->arguments) visit(argument);
  }
  void holds(PyCodegen& codegen, VariableTracker* tracker, PartVisitor visit) const override {
    ExceptionVariable* exception = exceptionOf(tracker);
    visit(exception->context);
    visit(exception->cause);
    if (!exception->dict) return;
    exception->dict->forEach(codegen.translator(), [&](const OrderedValueMap::Entry& entry) {
      visit(entry.key);
      visit(entry.value);
    });
  }

  // By __new__ without __init__, which has been traced.
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    ExceptionVariable* exception = exceptionOf(tracker);
    codegen.prepareCall(builtinAttribute(exception->type(), "__new__"));
    codegen.load(exception->classVariable);
    for (const Value& argument : exception->arguments) codegen.load(argument);
    codegen.call(1 + static_cast<int32_t>(exception->arguments.size()));
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }

  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    ExceptionVariable* exception = exceptionOf(tracker);
    auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
    auto set = [&](const char* name, const Value& value) {
      if (value) setThroughDescriptor(codegen, builtinAttribute(base, name), tracker, value);
    };
    set("__context__", exception->context);
    set("__cause__", exception->cause);
    // Setting the cause sets this as well.
    if (exception->suppressContext != static_cast<bool>(exception->cause)) {
      set("__suppress_context__", Value::boolean(exception->suppressContext));
    }
    if (exception->dict) fillInstanceDict(codegen, exception, exception->dict);
  }

 private:
  static ExceptionVariable* exceptionOf(VariableTracker* tracker) {
    return llvm::cast<ExceptionVariable>(tracker);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Exception)

}  // namespace armature
