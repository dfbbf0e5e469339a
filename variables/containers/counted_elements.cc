// _collections._count_elements, by which a Counter counts.
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// The dict that is counted in past its methods, as C code does where its class has dict's own.
DictVariable* plainDictOf(Translator& translator, const Value& mapping) {
  auto* dict = partOf<DictVariable>(mapping);
  if (!dict || dict->isOrdered()) return nullptr;
  static PyObject* const get = staticName("get");
  static PyObject* const setItem = staticName("__setitem__");
  for (PyObject* name : {get, setItem}) {
    if (!translator.heap.inherits(typeOf(mapping), &PyDict_Type, name)) return nullptr;
  }
  return dict;
}

bool count(Translator& translator, const Value& mapping, DictVariable* dict, const Value& key) {
  Value before;
  if (dict) {
    before = dict->get(translator, translator.realized(key));
    if (!before && !translator.exceptionPending()) before = Value::integer(0);
  } else {
    before = callMethod(translator, mapping, "get", {key, Value::integer(0)});
  }
  if (!before) return false;
  Value after = binaryOperation(translator, nb_add, before, Value::integer(1));
  if (!after) return false;
  return dict ? dict->set(translator, translator.realized(key), after)
              : setItem(translator, mapping, key, after);
}

Value countElements(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_count_elements", arguments, 2, 2)) return Value();
  Value mapping = translator.realized(arguments.values[0]);
  Value iterator = getIterator(translator, arguments.values[1]);
  if (!iterator) return iterator;
  DictVariable* dict = plainDictOf(translator, mapping);
  while (Value key = iteratorNext(translator, iterator)) {
    if (!count(translator, mapping, dict, key)) return Value();
  }
  return translator.exceptionPending() ? Value() : Value::none();
}

void registerCountedElements() {
  registerFunctionHandler("_collections", "_count_elements", countElements);
}
ARMATURE_REGISTER_HANDLERS(registerCountedElements);

}  // namespace

}  // namespace armature
