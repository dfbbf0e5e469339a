#include "libraries/torch/compiler_queries.h"

#include <string>

#include "cpython/function_layout.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/translator.h"
#include "variables/type_slots.h"

namespace armature {

namespace {

// Module._call_impl asks, to leave out for compilers what it does where forward() raises.
bool isAskedByModuleCall(Translator& translator) {
  BorrowedRef<> module = cpython::importedAttribute("torch.nn.modules.module", "Module");
  if (!module || !PyType_Check(module.get())) return false;
  PyObject* call =
      cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(module.get()), "_call_impl");
  return call && PyFunction_Check(call) && cpython::codeOf(call) == translator.location().code;
}

Value isCompiling(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (!arguments.values.empty()) return unimplemented::call(translator, callable, arguments);
  if (isAskedByModuleCall(translator)) return Value::boolean(false);
  return translator.isCompiling();
}
Value answerNo(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (!arguments.values.empty()) return unimplemented::call(translator, callable, arguments);
  return Value::boolean(false);
}

void registerAnswer(const char* module, const char* name, BuiltinHandler handler) {
  BorrowedRef<> function = cpython::importedAttribute(module, name);
  if (function) registerObjectHandler(function.get(), handler);
}

}  // namespace

void registerCompilerQueries() {
  // As under TorchDynamo: inside a trace a program is being compiled.
  registerAnswer("torch.compiler", "is_compiling", isCompiling);
  registerAnswer("torch.compiler", "is_dynamo_compiling", isCompiling);
  registerAnswer("torch._utils", "is_compiling", isCompiling);
  // A trace is not the time at which a device's stream is captured.
  for (const char* module : {"torch.cuda", "torch.cuda.graphs", "torch.xpu", "torch.xpu.graphs"}) {
    registerAnswer(module, "is_current_stream_capturing", answerNo);
  }
}

}  // namespace armature
