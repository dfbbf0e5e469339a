#include "variables/objects/exception.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/objects/exception_group.h"

namespace armature {

namespace {

class ExceptionReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::Two; }
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    ExceptionVariable* exception = exceptionOf(tracker);
    visit(exception->classVariable);
    if (!isGroupType(exception->type())) return;
    for (const Value& member : exception->members) visit(member);
  }
  void holds(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    ExceptionVariable* exception = exceptionOf(tracker);
    if (exception->argumentsTuple) {
      visit(exception->argumentsTuple);
    } else {
      for (const Value& argument : exception->arguments) visit(argument);
    }
    if (!isGroupType(exception->type())) {
      for (const Value& member : exception->members) {
        if (member) visit(member);
      }
    }
    visit(exception->traceback);
    visit(exception->context);
    visit(exception->cause);
    if (!exception->dict) return;
    exception->dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
      visit(entry.key);
      visit(entry.value);
    });
  }

  // By __new__ without __init__, which has been traced. A group needs its parts for that.
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    ExceptionVariable* exception = exceptionOf(tracker);
    codegen.prepareCall(builtinAttribute(exception->type(), "__new__"));
    codegen.load(exception->classVariable);
    bool isGroup = isGroupType(exception->type());
    if (isGroup) {
      for (const Value& member : exception->members) codegen.load(member);
    }
    codegen.call(isGroup ? 3 : 1);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }

  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    ExceptionVariable* exception = exceptionOf(tracker);
    auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
    auto set = [&](const char* name, const Value& value) {
      if (value) setThroughDescriptor(codegen, builtinAttribute(base, name), tracker, value);
    };
    fillArguments(codegen, exception);
    ExceptionFields fields = fieldsOf(exception->type());
    bool isGroup = isGroupType(exception->type());
    for (size_t i = 0; i < fields.names.size(); ++i) {
      if (isGroup || !exception->members[i]) continue;
      setThroughDescriptor(codegen, builtinAttribute(fields.owner, fields.names[i]), tracker,
                           exception->members[i]);
    }
    set("__traceback__", exception->traceback);
    set("__context__", exception->context);
    set("__cause__", exception->cause);
    // Setting the cause sets this as well.
    if (exception->suppressContext != static_cast<bool>(exception->cause)) {
      set("__suppress_context__", Value::boolean(exception->suppressContext));
    }
    if (exception->dict) fillInstanceDict(codegen, exception, exception->dict);
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    visit(effect.value);
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    setThroughDescriptor(codegen, effect.key.object(), effect.target, effect.value);
  }

 private:
  static ExceptionVariable* exceptionOf(VariableTracker* tracker) {
    return llvm::cast<ExceptionVariable>(tracker);
  }

  static void fillArguments(PyCodegen& codegen, ExceptionVariable* exception) {
    // __new__ has left none, or those of a group.
    if (exception->arguments.empty() && !isGroupType(exception->type())) return;
    auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
    PyObject* descriptor = builtinAttribute(base, "args");
    codegen.prepareCall(builtinAttribute(Py_TYPE(descriptor), "__set__"));
    codegen.loadConstant(descriptor);
    codegen.load(exception);
    if (exception->argumentsTuple) {
      codegen.load(exception->argumentsTuple);
    } else {
      for (const Value& argument : exception->arguments) codegen.load(argument);
      codegen.assembler().emit(Opcode::BUILD_TUPLE,
                               static_cast<int32_t>(exception->arguments.size()));
    }
    codegen.call(3);
    codegen.assembler().emit(Opcode::POP_TOP);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Exception)

}  // namespace armature
