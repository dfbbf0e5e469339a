// Builtins that cannot be traced, each with its reason.
#include "variables/functions/builtin_handlers.h"

namespace armature {

namespace {

struct Unsupported {
  const char* name;
  const char* explanation;
  const char* module = "builtins";  // in which C has it
};

// Where there is more to do than to move the call, the explanation says so.
constexpr Unsupported kUnsupported[] = {
    {"print", "Printing is an effect that happens outside of the graph."},
    {"dir",
     "The names of an object's attributes are computed by code that is not traced; use hasattr() "
     "with the names that are needed."},
    {"locals",
     "The local variables of a traced function live in the trace, not in a dict; name the "
     "variables that are needed."},
    {"globals",
     "The dict of a module's variables is read one variable at a time; name the variables that "
     "are needed."},
    {"exec", "The text of a program is not known to be the same at the next call."},
    {"compile", "Compiling a program is not part of a graph."},
    {"open", "Files are outside of the graph.", "_io"},
    {"input", "Reading from the terminal is an effect outside of the graph."},
    {"__import__", "Importing a module runs its code; import it before the function is called."},
    {"breakpoint", "The debugger needs a running frame; debug the uncompiled function."},
    {"bytearray", "The trace does not follow byte arrays, which are mutable; use bytes or a list."},
    {"memoryview", "The trace does not follow views of memory; use bytes or a tensor."},
    {"aiter", "Asynchronous iteration is not traced; use synchronous iteration."},
    {"anext", "Asynchronous iteration is not traced; use synchronous iteration."},
};

constexpr size_t kUnsupportedCount = std::size(kUnsupported);

template <size_t i>
Value breakGraph(Translator&, const Value&, CallArguments&) {
  constexpr const Unsupported& unsupported = kUnsupported[i];
  throw GraphBreak(GraphBreakKind::UnsupportedBuiltin, std::string(unsupported.name) + "()",
                   unsupported.explanation);
}

template <size_t... i>
void registerEach(std::index_sequence<i...>) {
  (registerFunctionHandler(kUnsupported[i].module, kUnsupported[i].name, breakGraph<i>), ...);
}

void registerAll() { registerEach(std::make_index_sequence<kUnsupportedCount>()); }

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
