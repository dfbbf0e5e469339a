// The methods of list, and its constructor.
#include <algorithm>

#include "variables/containers/iterators.h"
#include "variables/containers/sequence_slots.h"
#include "variables/containers/sorting.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/loops.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"

namespace armature {

namespace {

ListVariable* listOf(const Value& self) {
  if (auto* list = trackerOf<ListVariable>(self)) return list;
  throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, describe(self));
}

Value append(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.append", arguments, 1, 1)) return Value();
  listOf(self)->append(translator, arguments.values[0]);
  return Value::none();
}

Value extend(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.extend", arguments, 1, 1)) return Value();
  Value items = translator.realized(arguments.values[0]);
  ListVariable* list = listOf(self);
  bool isItself = items.sameAs(wholeOf(list));
  if (!isItself && arguments.tail && stepsInPython(items)) {
    Value iterator = getIterator(translator, items);
    if (!iterator || !askLengthHint(translator, items)) return Value();
    return walkItems(translator, iterator, ItemStep::Extend, list, Value::none(), true);
  }
  bool ok = extendList(translator, list, items);
  return ok ? Value::none() : Value();
}

Value insert(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.insert", arguments, 2, 2)) return Value();
  int64_t index;
  if (!readMachineSize(translator, arguments.values[0], index)) return Value();
  ListVariable* list = listOf(self);
  auto size = static_cast<int64_t>(list->size());
  if (index < 0) index += size;
  list->insert(translator, std::clamp<int64_t>(index, 0, size), arguments.values[1]);
  return Value::none();
}

Value pop(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.pop", arguments, 0, 1)) return Value();
  int64_t index = -1;
  if (!arguments.values.empty() && !readMachineSize(translator, arguments.values[0], index)) {
    return Value();
  }
  ListVariable* list = listOf(self);
  auto size = static_cast<int64_t>(list->size());
  if (size == 0) return translator.raise(PyExc_IndexError, "pop from empty list");
  if (index < 0) index += size;
  if (index < 0 || index >= size) {
    return translator.raise(PyExc_IndexError, "pop index out of range");
  }
  return list->pop(translator, index);
}

Value remove(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.remove", arguments, 1, 1)) return Value();
  return searchItems(translator, listOf(self), arguments.values[0], Search::Removal, 0,
                     PY_SSIZE_T_MAX, arguments.tail);
}

Value clear(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.clear", arguments, 0, 0)) return Value();
  listOf(self)->replace(translator, {});
  return Value::none();
}

Value copy(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.copy", arguments, 0, 0)) return Value();
  return translator.make<ListVariable>(listOf(self)->items());
}

Value reverse(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.reverse", arguments, 0, 0)) return Value();
  ValueVector items = listOf(self)->items();
  std::reverse(items.begin(), items.end());
  listOf(self)->replace(translator, std::move(items));
  return Value::none();
}

Value sort(Translator& translator, const Value& self, CallArguments& arguments) {
  static constexpr Signature kSignature = {"sort", {"key", "reverse"}, 0, 0};
  Value key = Value::none(), reverse = Value::boolean(false);
  if (!readArguments(translator, kSignature, arguments, {&key, &reverse})) return Value();
  bool descending;
  if (!readTruthAsInteger(translator, reverse, descending)) return Value();
  // The list is empty while it is sorted, and must stay so.
  ListVariable* list = listOf(self);
  ValueVector items = list->items();
  list->replace(translator, {});
  list->beginSort(translator);
  return sortByKeys(translator, std::move(items), key, descending, list, arguments.tail);
}

Value reversed(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "list.__reversed__", arguments, 0, 0)) return Value();
  auto last = static_cast<int64_t>(listOf(self)->size()) - 1;
  return translator.make<SequenceIteratorVariable>(&PyListRevIter_Type, self, -1, last);
}

// list(iterable)
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "list() takes no keyword arguments");
  }
  if (arguments.values.size() > 1) {
    return translator.raise(PyExc_TypeError, "list expected at most 1 argument, got %zu",
                            arguments.values.size());
  }
  if (arguments.values.empty()) return translator.make<ListVariable>(ValueVector());
  return gatherItems(translator, arguments.values[0], arguments.tail);
}

// list.__init__: what the list held before gives way.
Value init(Translator& translator, const Value& self, CallArguments& arguments) {
  // Keywords that a __new__ of the class's own may have taken are of no use here (list___init__).
  static PyObject* const newName = staticName("__new__");
  if (arguments.keywordCount() && !translator.heap.inherits(typeOf(self), &PyList_Type, newName)) {
    arguments.dropKeywords();
  }
  if (!checkArgumentCount(translator, "list", arguments, 0, 1)) return Value();
  ListVariable* list = listOf(self);
  if (list->size()) list->replace(translator, {});
  bool ok = arguments.values.empty() || extendList(translator, list, arguments.values[0]);
  return ok ? Value::none() : Value();
}

void registerLists() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&PyList_Type), construct);
  registerMethodHandler(&PyList_Type, "__init__", init);
  registerMovingMethodHandler(&PyList_Type, "append", append);
  registerMethodHandler(&PyList_Type, "extend", extend);
  registerMethodHandler(&PyList_Type, "insert", insert);
  registerMethodHandler(&PyList_Type, "pop", pop);
  registerMethodHandler(&PyList_Type, "remove", remove);
  registerMethodHandler(&PyList_Type, "clear", clear);
  registerMethodHandler(&PyList_Type, "copy", copy);
  registerMethodHandler(&PyList_Type, "reverse", reverse);
  registerMethodHandler(&PyList_Type, "sort", sort);
  registerProtocolMethod(&PyList_Type, "sort");
  for (const char* name : {"index", "count", "remove"}) {
    registerProtocolMethod(&PyList_Type, name);
  }
  registerProtocolMethod(&PyList_Type, "extend");
  registerProtocolFunction("builtins", "list");
  registerMethodHandler(&PyList_Type, "index", sequenceIndex);
  registerMethodHandler(&PyList_Type, "count", sequenceCount);
  registerSlotWrappers(&PyList_Type);
  registerMethodHandler(&PyList_Type, "__reversed__", reversed);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerLists);

}  // namespace armature
