// collections.defaultdict: a factory for missing keys.
#include <Python.h>

#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict_methods.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyObject* factoryDescriptor() {
  static auto* const descriptor = cpython::ownAttribute(defaultDictType(), "default_factory");
  return descriptor;
}

Value missing(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "defaultdict.__missing__", arguments, 1, 1)) return Value();
  Value value = defaultDictMissing(translator, dictOf(self), arguments.values[0]);
  if (value || translator.exceptionPending()) return value;
  return translator.raiseWithArguments(PyExc_KeyError, {arguments.values[0]});
}

Value copy(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "defaultdict.copy", arguments, 0, 0)) return Value();
  DictVariable* result = copyDict(translator, dictOf(self));
  return result ? Value(result) : Value();
}

// defaultdict(factory=None, …)
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  auto* dict = translator.make<DictVariable>(defaultDictType());
  Value factory = Value::none();
  CallArguments rest = arguments;
  if (arguments.positionalCount() > 0) {
    factory = translator.realized(arguments.values[0]);
    rest.values.erase(rest.values.begin());
    if (!factory.is(Py_None) &&
        !translator.heap.hasSpecial(typeOf(factory), cpython::SpecialSlot::Call)) {
      return translator.raise(PyExc_TypeError, "first argument must be callable or None");
    }
  }
  dict->defaultFactory = std::move(factory);
  return updateFromArguments(translator, dict, "dict", rest) ? Value(dict) : Value();
}

void registerDefaultDicts() {
  PyTypeObject* type = defaultDictType();
  registerObjectHandler(reinterpret_cast<PyObject*>(type), construct);
  registerMethodHandler(type, "__missing__", missing);
  registerMethodHandler(type, "copy", copy);
  registerMethodHandler(type, "__copy__", copy);
  registerSlotWrappers(type);
}

}  // namespace

PyTypeObject* defaultDictType() {
  static auto* const type = [] {
    Ref<> module = checked(cpython::importModule("_collections"));
    return reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(module.get(), "defaultdict"));
  }();
  return type;
}

// That of an existing dict is read, and guarded, when it is asked for.
Value defaultFactoryOf(Translator& translator, DictVariable* dict) {
  if (!dict->defaultFactory && dict->existing()) {
    PyObject* descriptor = factoryDescriptor();
    PyObject* factory = cpython::memberValue(dict->existing(), descriptor);
    const Source* source = translator.sources->item(SourceKind::Slot, dict->source(), descriptor);
    assignTrailed(translator.trail, dict->defaultFactory,
                  translator.wrap(source, factory ? factory : Py_None));
  }
  return dict->defaultFactory ? translator.realized(dict->defaultFactory) : Value::none();
}

Value defaultDictMissing(Translator& translator, DictVariable* dict, const Value& key) {
  Value factory = defaultFactoryOf(translator, dict);
  if (factory.is(Py_None)) return Value();
  Value value = call(translator, factory, llvm::ArrayRef<Value>());
  return value && dict->set(translator, key, value) ? value : Value();
}

ARMATURE_REGISTER_HANDLERS(registerDefaultDicts);

}  // namespace armature
