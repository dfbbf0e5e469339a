// Class statements: __build_class__ of bltinmodule.c.
#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw GraphBreak(GraphBreakKind::ClassMadeWhileTracing, what);
}

// What decides about the class before its body runs: other metaclasses make a namespace of their
// own, and a base that is no class says what to take in its place.
void requirePlainClass(Translator& translator, const CallArguments& arguments) {
  if (arguments.keywordCount()) refuse("keywords of a class statement");
  for (size_t i = 2; i < arguments.values.size(); ++i) {
    Value base = translator.realized(arguments.values[i]);
    PyTypeObject* type = asClass(base);
    if (!type || translator.heap.metaclassOf(type) != &PyType_Type) {
      refuse("base " + describe(base));
    }
  }
}

Value buildClass(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.positionalCount() < 2) refuse("__build_class__");
  auto* body = trackerOf<UserFunctionVariable>(translator.realized(arguments.values[0]));
  if (!body) refuse("__build_class__");
  requirePlainClass(translator, arguments);
  ValueVector bases(arguments.values.begin() + 2, arguments.values.end());
  auto* names = translator.make<DictVariable>();
  Value cell = translator.runBody(body, names);
  if (!cell) return cell;
  return makeClass(translator, arguments.values[1], makeTuple(translator, std::move(bases)), names);
}

void registerClassStatements() {
  registerFunctionHandler("builtins", "__build_class__", buildClass);
}
ARMATURE_REGISTER_HANDLERS(registerClassStatements);

}  // namespace

}  // namespace armature
