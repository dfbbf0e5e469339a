#include "libraries/torch/overriding.h"

#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/callable_names.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// The answer does not depend on arrays of torch's own types: without modes that override, it is no.
// The mode is the state's, so torch itself is asked.
Value answer(Translator& translator, const Value& callable, llvm::ArrayRef<Value> arguments,
             PyObject* example) {
  // A mode that the trace has entered takes over whatever the argument is.
  const Value& modes = translator.operationModes();
  if (modes && !modes.is(Py_None)) return Value::boolean(!arguments.empty());
  const TorchModule& torch = *TorchModule::get();
  for (const Value& argument : arguments) {
    const char* reason = reasonOfOverride(translator, torch, translator.realized(argument));
    if (reason) throw GraphBreak(GraphBreakKind::OverriddenOperation, describe(argument), reason);
  }
  translator.observeState();
  return translator.fromPython(example ? PyObject_CallOneArg(callable.object(), example)
                                       : PyObject_CallNoArgs(callable.object()));
}

Value hasTorchFunction(Translator& translator, const Value& callable, CallArguments& arguments) {
  static PyObject* const nothing = PyTuple_New(0);
  llvm::SmallVector<Value, 8> relevant;
  if (arguments.keywordCount() || arguments.positionalCount() != 1) {
    return translator.raise(PyExc_TypeError, "expected one argument");
  }
  if (!iterateInto(translator, arguments.values[0], relevant)) return Value();
  return answer(translator, callable, relevant, nothing);
}

Value hasTorchFunctionUnary(Translator& translator, const Value& callable,
                            CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.positionalCount() != 1) {
    return translator.raise(PyExc_TypeError, "expected one argument");
  }
  return answer(translator, callable, arguments.positional(), Py_None);
}

Value hasTorchFunctionVariadic(Translator& translator, const Value& callable,
                               CallArguments& arguments) {
  return answer(translator, callable, arguments.positional(), nullptr);
}

}  // namespace

const char* reasonOfOverride(Translator& translator, const TorchModule& torch,
                             const Value& argument) {
  static PyObject* const name = staticName("__torch_function__");
  PyTypeObject* type = typeOf(argument);
  if (trackerOf<TensorVariable>(argument) || !cpython::isHeapType(type)) {
    return nullptr;
  }
  if (PyType_IsSubtype(type, torch.tensorType.get())) {
    return "an argument is of a subclass of torch.Tensor";
  }
  if (translator.heap.lookup(type, name)) {
    return "the class of an argument defines __torch_function__";
  }
  // torch asks the object, not its class.
  static PyObject* const getattribute = staticName("__getattribute__");
  static PyObject* const getattr = staticName("__getattr__");
  bool isAsked = !translator.heap.inherits(type, &PyBaseObject_Type, getattribute) ||
                 translator.heap.lookup(type, getattr);
  return isAsked ? "the class of an argument says what its attributes are" : nullptr;
}

LibraryCallHandler findOverrideQueryHandler(BorrowedRef<> function) {
  const CallableName& callable = callableNames().of(function);
  if (callable.module != "torch._C") return nullptr;
  if (callable.name == "_has_torch_function") return hasTorchFunction;
  if (callable.name == "_has_torch_function_unary") return hasTorchFunctionUnary;
  if (callable.name == "_has_torch_function_variadic") return hasTorchFunctionVariadic;
  return nullptr;
}

}  // namespace armature
