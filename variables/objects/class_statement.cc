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

// update_bases: what is no class says what to take in its place. False with an exception pending.
bool readBases(Translator& translator, const ValueVector& given, ValueVector& bases) {
  static PyObject* const entriesName = staticName("__mro_entries__");
  for (const Value& value : given) {
    Value base = translator.realized(value);
    if (asClass(base)) {
      bases.push_back(base);
      continue;
    }
    Value method = getAttribute(translator, base, entriesName);
    if (!method) {
      // Python's own error is another one.
      translator.dropException();
      refuse("base " + describe(base));
    }
    Value entries = call(translator, method, {makeTuple(translator, ValueVector(given))});
    if (!entries) return false;
    translator.realize(entries);
    if (typeOf(entries) != &PyTuple_Type) refuse("__mro_entries__ of " + describe(base));
    if (!iterateInto(translator, entries, bases)) return false;
  }
  for (Value& base : bases) {
    translator.realize(base);
    if (!asClass(base)) refuse("base " + describe(base));
  }
  return true;
}

// _PyType_CalculateMetaclass
Value metaclassFor(Translator& translator, const Value* given, const ValueVector& bases) {
  Heap& heap = translator.heap;
  PyTypeObject* winner = given ? asClass(translator.realized(*given)) : &PyType_Type;
  if (!winner || !heap.isSubtype(winner, &PyType_Type)) refuse("metaclass");
  for (const Value& base : bases) {
    PyTypeObject* other = heap.metaclassOf(asClass(base));
    if (heap.isSubtype(winner, other)) continue;
    if (!heap.isSubtype(other, winner)) refuse("a conflict of metaclasses");
    winner = other;
  }
  return translator.knownClass(winner);
}

// The dict in which the body puts its names.
DictVariable* prepare(Translator& translator, const Value& metaclass, const CallArguments& given) {
  static PyObject* const name = staticName("__prepare__");
  if (translator.heap.inherits(asClass(metaclass), &PyType_Type, name)) {
    return translator.make<DictVariable>();
  }
  Value function = getAttribute(translator, metaclass, name);
  if (!function) return nullptr;
  CallArguments arguments = given;
  Value names = call(translator, function, arguments);
  if (!names) return nullptr;
  translator.realize(names);
  auto* dict = trackerOf<DictVariable>(names);
  bool isNew = dict && !dict->existing() && !dict->owner() && dict->type() == &PyDict_Type;
  if (!isNew) refuse("__prepare__ of " + describe(metaclass));
  return dict;
}

Value buildClass(Translator& translator, const Value&, CallArguments& arguments) {
  static PyObject* const originalName = staticName("__orig_bases__");
  if (arguments.positionalCount() < 2) refuse("__build_class__");
  auto* body = trackerOf<UserFunctionVariable>(translator.realized(arguments.values[0]));
  if (!body) refuse("__build_class__");
  ValueVector original(arguments.positional().begin() + 2, arguments.positional().end());
  ValueVector bases;
  if (!readBases(translator, original, bases)) return Value();
  bool areReplaced = false;
  for (const Value& base : original) {
    areReplaced = areReplaced || !asClass(translator.realized(base));
  }
  Value metaclass = metaclassFor(translator, arguments.keyword("metaclass"), bases);

  CallArguments given;
  given.values = {arguments.values[1], makeTuple(translator, std::move(bases))};
  Ref<> keywords = checked(PyList_New(0));
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    PyObject* name = arguments.keywordName(i);
    if (PyUnicode_CompareWithASCIIString(name, "metaclass") == 0) continue;
    if (PyList_Append(keywords.get(), name) < 0) throw PendingPythonException();
    given.values.push_back(arguments.keywordValue(i));
  }
  Value names = Value::steal(checked(PyList_AsTuple(keywords.get())).release());
  if (PyTuple_GET_SIZE(names.object())) given.keywordNames = names.object();
  DictVariable* space = prepare(translator, metaclass, given);
  if (!space) return Value();
  Value cell = translator.runBody(body, space);
  if (!cell) return cell;
  if (areReplaced) {
    Value tuple = makeTuple(translator, std::move(original));
    if (!space->set(translator, Value::constant(originalName), tuple)) return Value();
  }
  given.values.insert(given.values.begin() + 2, Value(space));
  if (asClass(metaclass) == &PyType_Type) return makeClass(translator, metaclass, given);
  Value made = call(translator, metaclass, given);
  if (!made) return made;
  translator.realize(made);
  auto* classCell = trackerOf<NewCellVariable>(translator.realized(cell));
  if (classCell && asClass(made) &&
      (!classCell->contents() || asClass(classCell->contents()) != asClass(made))) {
    refuse("__classcell__");
  }
  return made;
}

void registerClassStatements() {
  registerFunctionHandler("builtins", "__build_class__", buildClass);
}
ARMATURE_REGISTER_HANDLERS(registerClassStatements);

}  // namespace

}  // namespace armature
