#include "variables/functions/partial.h"

#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/instance_dict.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// {**keywords, **given}: the names in their order, and a value for each.
struct Keywords {
  Ref<> names = checked(PyList_New(0));
  ValueVector values;

  void set(PyObject* name, Value value) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (PyUnicode_Compare(PyList_GET_ITEM(names.get(), i), name) != 0) continue;
      values[i] = std::move(value);
      return;
    }
    checked(PyList_Append(names.get(), name));
    values.push_back(std::move(value));
  }
};

Value callPartial(Translator& translator, const Value& callable, CallArguments& given) {
  auto* partial = requireKind<PartialVariable>(callable);
  CallArguments all;
  all.tail = given.tail;
  if (!iterateInto(translator, partial->arguments, all.values)) return Value();
  all.values.append(given.positional().begin(), given.positional().end());
  Keywords keywords;
  auto* dict = requireKind<DictVariable>(translator.realized(partial->keywords));
  dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    PyObject* name = entry.key.objectOrNull();
    if (!name || !PyUnicode_Check(name)) {
      throw GraphBreak(GraphBreakKind::KeywordNotString, describe(entry.key));
    }
    keywords.set(name, entry.value);
  });
  for (size_t i = 0; i < given.keywordCount(); ++i) {
    keywords.set(given.keywordName(i), given.keywordValue(i));
  }
  all.values.append(keywords.values.begin(), keywords.values.end());
  Ref<> names = checked(PyList_AsTuple(keywords.names.get()));
  if (!keywords.values.empty()) all.keywordNames = names.get();
  return call(translator, partial->function, all);
}

// functools.partial(function, *arguments, **keywords)
Value makePartial(Translator& translator, const Value&, CallArguments& given) {
  if (given.positionalCount() == 0) {
    return translator.raise(PyExc_TypeError, "type 'partial' takes at least one argument");
  }
  Value function = translator.realized(given.values[0]);
  if (!translator.heap.hasSpecial(typeOf(function), cpython::SpecialSlot::Call)) {
    return translator.raise(PyExc_TypeError, "the first argument must be callable");
  }
  // A partial of a partial without attributes is one of its function.
  if (PyType_IsSubtype(typeOf(function), partialType())) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, "partial of a partial");
  }
  auto* keywords = translator.make<DictVariable>();
  for (size_t i = 0; i < given.keywordCount(); ++i) {
    keywords->set(translator, Value::constant(given.keywordName(i)), given.keywordValue(i));
  }
  llvm::ArrayRef<Value> arguments = given.positional().drop_front();
  return translator.make<PartialVariable>(
      partialType(), function,
      makeTuple(translator, ValueVector(arguments.begin(), arguments.end())), keywords);
}

Value partialAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* partial = requireKind<PartialVariable>(self);
  if (PyUnicode_CompareWithASCIIString(name, "func") == 0) return partial->function;
  // Of a new one, they come into being with it.
  if (partial->existing()) {
    if (PyUnicode_CompareWithASCIIString(name, "args") == 0) return partial->arguments;
    if (PyUnicode_CompareWithASCIIString(name, "keywords") == 0) return partial->keywords;
  } else if (PyUnicode_CompareWithASCIIString(name, "args") == 0 ||
             PyUnicode_CompareWithASCIIString(name, "keywords") == 0 ||
             PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) {
    return unimplemented::getAttribute(translator, self, name);
  }
  return genericGetAttribute(translator, self, name);
}

// A new one has no attributes of its own.
DictVariable* instanceDict(Translator& translator, const Value& self) {
  auto* partial = requireKind<PartialVariable>(self);
  return partial->existing() ? existingInstanceDict(translator, partial) : nullptr;
}

void registerPartial() {
  if (PyTypeObject* type = partialType()) {
    registerObjectHandler(reinterpret_cast<PyObject*>(type), makePartial);
  }
}
ARMATURE_REGISTER_HANDLERS(registerPartial);

TypeSlots makePartialSlots() {
  TypeSlots slots;
  slots.tp_call = callPartial;
  slots.tp_getattro = partialAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.instanceDict = instanceDict;
  slots.tp_hash = unimplemented::unary;
  slots.tp_str = unimplemented::unary;
  slots.tp_repr = unimplemented::unary;
  return slots;
}

}  // namespace

PyTypeObject* partialType() {
  static PyObject* const type = [] {
    Ref<> module = checked(PyImport_ImportModule("_functools"));
    Ref<> found = Ref<>::steal(PyObject_GetAttrString(module.get(), "partial"));
    PyErr_Clear();
    bool isOwn = found && PyType_Check(found.get()) &&
                 cpython::isImmutable(reinterpret_cast<PyTypeObject*>(found.get()));
    return isOwn ? found.release() : nullptr;
  }();
  return reinterpret_cast<PyTypeObject*>(type);
}

const TypeSlots kPartialSlots = makePartialSlots();

}  // namespace armature
