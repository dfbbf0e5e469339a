// The methods of tuple, and its constructor.
#include "variables/containers/sequence_slots.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/loops.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"

namespace armature {

namespace {

bool readTuple(Translator& translator, Value iterable, Value& result) {
  translator.realize(iterable);
  if (typeOf(iterable) == &PyTuple_Type) {
    result = std::move(iterable);
    return true;
  }
  ValueVector items;
  if (!collectInto(translator, std::move(iterable), items)) return false;
  result = makeTuple(translator, std::move(items));
  return true;
}

// tuple(iterable)
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "tuple", arguments, 0, SIZE_MAX)) return Value();
  if (arguments.values.size() > 1) {
    return translator.raise(PyExc_TypeError, "tuple expected at most 1 argument, got %zu",
                            arguments.values.size());
  }
  Value result;
  if (arguments.values.empty()) return makeTuple(translator, {});
  if (arguments.tail && stepsInPython(translator.realized(arguments.values[0]))) {
    Value type = Value::constant(reinterpret_cast<PyObject*>(&PyTuple_Type));
    return gatherFor(translator, {type, Value::none()}, arguments.values[0], arguments.tail);
  }
  readTuple(translator, arguments.values[0], result);
  return result;
}

// tuple.__new__(cls, iterable): what the constructors of namedtuple types call.
Value constructSubclass(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.empty() || arguments.values.size() > 2) {
    throw GraphBreak(GraphBreakKind::TupleNew);
  }
  Value cls = translator.realized(arguments.values[0]);
  bool isTuple = cls.is(reinterpret_cast<PyObject*>(&PyTuple_Type));
  auto* userClass = trackerOf<UserClassVariable>(cls);
  bool isSubclass = userClass && PyType_IsSubtype(userClass->value(), &PyTuple_Type);
  if (!isTuple && !isSubclass) throw GraphBreak(GraphBreakKind::TupleNew, describe(cls));
  Value items = makeTuple(translator, {});
  if (arguments.values.size() == 2 && !readTuple(translator, arguments.values[1], items)) {
    return Value();
  }
  if (isTuple) return items;
  CallArguments taken;
  taken.values.push_back(std::move(items));
  return makeImmutable(translator, userClass, &PyTuple_Type, taken);
}

void registerTuples() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&PyTuple_Type), construct);
  registerProtocolFunction("builtins", "tuple");
  registerMethodHandler(&PyTuple_Type, "__new__", constructSubclass);
  registerMethodHandler(&PyTuple_Type, "index", sequenceIndex);
  registerMethodHandler(&PyTuple_Type, "count", sequenceCount);
  registerProtocolMethod(&PyTuple_Type, "index");
  registerProtocolMethod(&PyTuple_Type, "count");
  registerSlotWrappers(&PyTuple_Type);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerTuples);

}  // namespace armature
