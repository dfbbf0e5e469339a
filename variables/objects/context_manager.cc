#include "variables/objects/context_manager.h"

#include <llvm/ADT/DenseMap.h>

#include "core/checked.h"
#include "variables/functions/library_calls.h"
#include "variables/kind_slots.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

llvm::DenseMap<PyTypeObject*, ContextManagerAdopter>& adopters() {
  static auto* const all = new llvm::DenseMap<PyTypeObject*, ContextManagerAdopter>();
  return *all;
}

Value callExit(Translator& translator, const Value& self, CallArguments&) {
  ContextManagerVariable* manager = requireKind<ContextExitVariable>(self)->manager;
  return manager->model.exit(translator, *manager);
}

// What the model says of the instance, and the class's own methods.
Value managerAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* manager = requireKind<ContextManagerVariable>(self);
  if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0) return manager->classValue;
  for (const auto& [attribute, value] : manager->model.attributes(*manager)) {
    if (!manager->model.showsAttributes()) break;
    if (PyUnicode_CompareWithASCIIString(name, attribute) == 0) return value;
  }
  Found found = translator.heap.lookup(manager->type(), name);
  if (!found || translator.heap.isDataDescriptor(found.object)) {
    return unimplemented::getAttribute(translator, self, name);
  }
  return bindTypeAttribute(translator, found, self, manager->type(), name);
}

// As a decorator.
Value callManager(Translator& translator, const Value& self, CallArguments& arguments) {
  static PyObject* const name = staticName("__call__");
  Value method = managerAttribute(translator, self, name);
  return method ? call(translator, method, arguments) : method;
}

TypeSlots makeContextManagerSlots() {
  TypeSlots slots;
  slots.tp_getattro = managerAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.tp_call = callManager;
  return slots;
}

TypeSlots makeContextExitSlots() {
  TypeSlots slots;
  slots.tp_getattro = unimplemented::getAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.tp_call = callExit;
  return slots;
}

}  // namespace

bool callManagerMethod(Translator& translator, const Value& function, CallArguments& arguments,
                       Value& result) {
  static PyObject* const enter = staticName("__enter__");
  static PyObject* const exit = staticName("__exit__");
  if (arguments.positionalCount() == 0) return false;
  auto* manager = trackerOf<ContextManagerVariable>(arguments.values[0]);
  // What is left out would show that it is, by what it returns.
  if (!manager || manager->model.isLeftOut()) return false;
  auto isIts = [&](PyObject* name) {
    return translator.heap.lookup(manager->type(), name).object == function.tracker()->existing();
  };
  bool isEntered = isIts(enter);
  if (!isEntered && !isIts(exit)) return false;
  // Itself; and, to leave it, the exception's type, the exception and its traceback.
  size_t count = isEntered ? 1 : 4;
  guardCallee(translator, function);
  if (arguments.keywordCount() || arguments.values.size() != count) {
    result = unimplemented::call(translator, function, arguments);
  } else if (isEntered) {
    result = manager->model.enter(translator, *manager);
  } else {
    result = manager->model.exit(translator, *manager);
  }
  return true;
}

Value adoptManager(Translator& translator, const Value& instance) {
  if (!instance.isTracker() || !instance.tracker()->existing()) return Value();
  auto found = adopters().find(instance.tracker()->type());
  return found != adopters().end() ? found->second(translator, instance) : Value();
}

void registerManagerAdopter(PyTypeObject* type, ContextManagerAdopter adopter) {
  adopters()[type] = adopter;
}

const TypeSlots kContextManagerSlots = makeContextManagerSlots();
const TypeSlots kContextExitSlots = makeContextExitSlots();

}  // namespace armature
