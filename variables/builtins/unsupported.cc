// Builtins that cannot be traced, each with its reason.
#include "variables/functions/builtin_handlers.h"

namespace armature {

namespace {

struct Unsupported {
  const char* name;
  const char* explanation;
  const char* hint;
};

constexpr Unsupported kUnsupported[] = {
    {"print", "Printing is an effect that happens outside of the graph.",
     "Remove the call, or move it out of the compiled function."},
    {"id", "The address of an object differs from call to call.",
     "Compare objects by `is` instead of by id()."},
    {"vars", "The namespace of an object is not handed out as a dict.",
     "Use getattr() with the names that are needed."},
    {"dir", "The names of an object's attributes are computed by code that is not traced.",
     "Use hasattr() with the names that are needed."},
    {"locals", "The local variables of a traced function live in the trace, not in a dict.",
     "Name the variables that are needed."},
    {"globals", "The dict of a module's variables is read one variable at a time.",
     "Name the variables that are needed."},
    {"exec", "The text of a program is not known to be the same at the next call.",
     "Move the call out of the compiled function."},
    {"eval", "The text of an expression is not known to be the same at the next call.",
     "Move the call out of the compiled function."},
    {"compile", "Compiling a program is not part of a graph.",
     "Move the call out of the compiled function."},
    {"open", "Files are outside of the graph.", "Move the call out of the compiled function."},
    {"input", "Reading from the terminal is an effect outside of the graph.",
     "Move the call out of the compiled function."},
    {"__import__", "Importing a module runs its code.", "Import it before the function is called."},
    {"breakpoint", "The debugger needs a running frame.",
     "Remove the call, or debug the uncompiled function."},
    {"bytearray", "Byte arrays are mutable objects that the trace does not model.",
     "Use bytes or a list."},
    {"memoryview", "Views of memory are not modelled.", "Use bytes or a tensor."},
    {"aiter", "Asynchronous iteration is not traced.", "Use synchronous iteration."},
    {"anext", "Asynchronous iteration is not traced.", "Use synchronous iteration."},
    {"__build_class__", "Making a class runs code of metaclasses and descriptors.",
     "Define the class outside of the compiled function."},
};

constexpr size_t kUnsupportedCount = std::size(kUnsupported);

template <size_t i>
Value breakGraph(Translator&, const Value&, CallArguments&) {
  constexpr const Unsupported& unsupported = kUnsupported[i];
  throw GraphBreak("Unsupported builtin", std::string(unsupported.name) + "()",
                   unsupported.explanation, {unsupported.hint});
}

template <size_t... i>
void registerEach(std::index_sequence<i...>) {
  (registerFunctionHandler("builtins", kUnsupported[i].name, breakGraph<i>), ...);
}

void registerAll() { registerEach(std::make_index_sequence<kUnsupportedCount>()); }

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
