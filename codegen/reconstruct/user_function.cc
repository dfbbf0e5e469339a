#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/describe.h"
#include "variables/containers/dict.h"
#include "variables/functions/functions.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

class UserFunctionReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker* tracker) const override {
    UserFunctionVariable* function = functionOf(tracker);
    return function->members || function->dict ? Steps::Two : Steps::One;
  }
  void needs(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    UserFunctionVariable* function = functionOf(tracker);
    if (!isOfRoot(translator, function)) visit(function->globals);
    visit(function->defaults);
    visit(function->keywordDefaults);
    visit(function->annotations);
    for (NewCellVariable* cell : function->closure) visit(cell);
  }
  void holds(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    UserFunctionVariable* function = functionOf(tracker);
    for (DictVariable* dict : {function->members, function->dict}) {
      if (!dict) continue;
      dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
        visit(entry.key);
        visit(entry.value);
      });
    }
  }

  // The constructor looks for the builtins in the globals.
  void filledBefore(VariableTracker* tracker, PartVisitor visit) const override {
    UserFunctionVariable* function = functionOf(tracker);
    if (function->builtins) visit(function->globals);
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    UserFunctionVariable* function = functionOf(tracker);
    if (isOfRoot(codegen.translator(), function)) {
      makeFunction(codegen, function);
    } else {
      callConstructor(codegen, function);
    }
  }
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    build(codegen, tracker);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    UserFunctionVariable* function = functionOf(tracker);
    if (function->dict) fillInstanceDict(codegen, tracker, function->dict);
    if (!function->members) return;
    function->members->forEach(codegen.translator(), [&](const OrderedValueMap::Entry& entry) {
      codegen.load(entry.value);
      codegen.load(tracker);
      codegen.assembler().emitName(Opcode::STORE_ATTR, entry.key.object());
    });
  }

 private:
  static UserFunctionVariable* functionOf(VariableTracker* tracker) {
    return llvm::cast<UserFunctionVariable>(tracker);
  }
  static bool isOfRoot(Translator& translator, UserFunctionVariable* function) {
    return function->globals->existing() == translator.rootGlobals();
  }
  static PyObject* codeOf(UserFunctionVariable* function) {
    return reinterpret_cast<PyObject*>(function->code->original.get());
  }
  static void loadClosure(PyCodegen& codegen, UserFunctionVariable* function) {
    for (NewCellVariable* cell : function->closure) codegen.load(cell);
    codegen.assembler().emit(Opcode::BUILD_TUPLE, static_cast<int32_t>(function->closure.size()));
  }

  static void requireBuiltins(PyCodegen& codegen, UserFunctionVariable* function) {
    if (!function->builtins) return;
    static PyObject* const name = staticName("__builtins__");
    Value found = function->globals->get(codegen.translator(), name);
    bool isFound = found && found.isTracker() && found.tracker() == function->builtins;
    if (!isFound) throw UnsupportedReconstruction(describe(Value(function)));
  }
  // Its globals are those of the code that is generated.
  static void makeFunction(PyCodegen& codegen, UserFunctionVariable* function) {
    int32_t flags = 0;
    if (function->defaults) flags |= 0x01, codegen.load(function->defaults);
    if (function->keywordDefaults) flags |= 0x02, codegen.load(function->keywordDefaults);
    if (function->annotations) flags |= 0x04, codegen.load(function->annotations);
    if (!function->closure.empty()) flags |= 0x08, loadClosure(codegen, function);
    codegen.loadConstant(codeOf(function));
    codegen.assembler().emit(Opcode::MAKE_FUNCTION, flags);
  }

  // FunctionType(code, globals, name, argdefs, closure), for a function of another module.
  static void callConstructor(PyCodegen& codegen, UserFunctionVariable* function) {
    requireBuiltins(codegen, function);
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyFunction_Type));
    codegen.loadConstant(codeOf(function));
    codegen.load(function->globals);
    codegen.loadConstant(Py_None);
    codegen.load(function->defaults ? function->defaults : Value::none());
    if (function->closure.empty()) {
      codegen.loadConstant(Py_None);
    } else {
      loadClosure(codegen, function);
    }
    codegen.call(5);
    if (function->keywordDefaults) {
      setAttribute(codegen, "__kwdefaults__", [&] { codegen.load(function->keywordDefaults); });
    }
    if (function->annotations) {
      setAttribute(codegen, "__annotations__", [&] { loadAnnotations(codegen, function); });
    }
  }
  // MAKE_FUNCTION takes names and annotations in turn, the attribute a dict of them.
  static void loadAnnotations(PyCodegen& codegen, UserFunctionVariable* function) {
    llvm::SmallVector<Value, 8> parts;
    iterateInto(codegen.translator(), function->annotations, parts);
    for (const Value& part : parts) codegen.load(part);
    codegen.assembler().emit(Opcode::BUILD_MAP, static_cast<int32_t>(parts.size() / 2));
  }
  // Of the function on top of the stack, which stays there.
  template <class Load>
  static void setAttribute(PyCodegen& codegen, const char* name, Load&& load) {
    codegen.assembler().emit(Opcode::COPY, 1);
    load();
    codegen.assembler().emit(Opcode::SWAP, 2);
    codegen.assembler().emitName(Opcode::STORE_ATTR, name);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(UserFunction)

}  // namespace armature
