#include "variables/functions/partial.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/instance_dict.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/repr_recursion.h"
#include "variables/trailed.h"

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
  if (given.positional().empty()) all.tuple = partial->arguments;
  if (all.values.empty()) all.tuple = given.tuple;
  all.values.append(given.positional().begin(), given.positional().end());
  Keywords keywords;
  auto* dict = requireKind<DictVariable>(translator.realized(partial->keywords));
  dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    PyObject* name = entry.key.objectOrNull();
    if (!name || !PyUnicode_CheckExact(name)) {
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

}  // namespace

PartialVariable* makePartial(Translator& translator, PyTypeObject* type, CallArguments& given) {
  if (given.positionalCount() == 0) {
    translator.raise(PyExc_TypeError, "type 'partial' takes at least one argument");
    return nullptr;
  }
  static PyObject* const callName = staticName("__call__");
  Value function = translator.realized(given.values[0]);
  ValueVector arguments;
  auto* keywords = translator.make<DictVariable>();
  auto* inner = partOf<PartialVariable>(function);
  if (inner && translator.heap.inherits(typeOf(function), partialType(), callName)) {
    // One without a __dict__ is merged. Whether an existing one has a __dict__ only C code sees.
    if (inner->existing()) {
      throw GraphBreak(GraphBreakKind::ClassWithNew, "partial of a partial that existed before");
    }
    auto* object = trackerOf<UserObjectVariable>(function);
    DictVariable* dict = object ? object->dict : inner->dict;
    // To look for an attribute makes no __dict__, to read __dict__ does.
    if (dict && dict->entries().entryCount() == 0) {
      throw GraphBreak(GraphBreakKind::ClassWithNew, "partial of a partial that was looked at");
    }
    if (!dict) {
      if (!iterateInto(translator, inner->arguments, arguments)) return nullptr;
      requireKind<DictVariable>(inner->keywords)
          ->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
            keywords->set(translator, entry.key, entry.value);
          });
      function = translator.realized(inner->function);
    }
  }
  if (!translator.heap.hasSpecial(typeOf(function), cpython::SpecialSlot::Call)) {
    translator.raise(PyExc_TypeError, "the first argument must be callable");
    return nullptr;
  }
  arguments.append(given.positional().begin() + 1, given.positional().end());
  for (size_t i = 0; i < given.keywordCount(); ++i) {
    keywords->set(translator, Value::constant(given.keywordName(i)), given.keywordValue(i));
  }
  return translator.make<PartialVariable>(type, function,
                                          makeTuple(translator, std::move(arguments)), keywords);
}

namespace {

// functools.partial(function, *arguments, **keywords)
Value construct(Translator& translator, const Value&, CallArguments& given) {
  return makePartial(translator, partialType(), given);
}

DictVariable* instanceDict(Translator& translator, const Value& self) {
  auto* partial = requireKind<PartialVariable>(self);
  return instanceDictOf(translator, partial, partial->dict);
}

// partial_repr
Value repr(Translator& translator, const Value& self) {
  auto* partial = requireKind<PartialVariable>(self);
  const char* name = nameOf(translator, self);
  ReprRecursion recursion(self);
  if (recursion.entered()) return Value::string("...");
  Ref<> texts = checked(PyUnicode_FromString(""));
  auto add = [&](PyObject* keyword, const Value& value) {
    Value text = toRepr(translator, value);
    if (!text) return false;
    texts = checked(keyword ? PyUnicode_FromFormat("%U, %S=%U", texts.get(), keyword, text.object())
                            : PyUnicode_FromFormat("%U, %U", texts.get(), text.object()));
    return true;
  };
  ValueVector arguments;
  if (!iterateInto(translator, partial->arguments, arguments)) return Value();
  for (const Value& argument : arguments) {
    if (!add(nullptr, argument)) return Value();
  }
  bool ok = true;
  requireKind<DictVariable>(translator.realized(partial->keywords))
      ->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
        PyObject* keyword = entry.key.objectOrNull();
        if (!keyword || !PyUnicode_Check(keyword)) {
          throw GraphBreak(GraphBreakKind::KeywordNotString, describe(entry.key));
        }
        ok = ok && add(keyword, entry.value);
      });
  Value function = ok ? toRepr(translator, partial->function) : Value();
  if (!function) return function;
  return translator.fromPython(
      PyUnicode_FromFormat("%s(%U%U)", name, function.object(), texts.get()));
}

Value reprMethod(Translator& translator, const Value& self, CallArguments&) {
  return toRepr(translator, self);
}

void registerPartial() {
  PyTypeObject* type = partialType();
  if (!type) return;
  registerObjectHandler(reinterpret_cast<PyObject*>(type), construct);
  registerMethodHandler(type, "__call__", callPartial);
  registerProtocolMethod(type, "__call__");
  registerMethodHandler(type, "__repr__", reprMethod);
}
ARMATURE_REGISTER_HANDLERS(registerPartial);

// What `self` is asked for.
Value partialAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* partial = requireKind<PartialVariable>(self);
  if (PyUnicode_CompareWithASCIIString(name, "func") == 0) return partial->function;
  if (PyUnicode_CompareWithASCIIString(name, "args") == 0) return partial->arguments;
  if (PyUnicode_CompareWithASCIIString(name, "keywords") == 0) return partial->keywords;
  return genericGetAttribute(translator, self, name);
}

TypeSlots makePartialSlots() {
  TypeSlots slots;
  slots.tp_call = callPartial;
  slots.tp_getattro = partialAttribute;
  slots.instanceDict = instanceDict;
  slots.tp_hash = unimplemented::unary;
  slots.tp_repr = repr;
  return slots;
}

}  // namespace

PyTypeObject* partialType() {
  static PyObject* const type = [] {
    Ref<> module = checked(cpython::importModule("_functools"));
    Ref<> found = Ref<>::steal(PyObject_GetAttrString(module.get(), "partial"));
    clearException();
    bool isOwn = found && PyType_Check(found.get()) &&
                 cpython::isImmutable(reinterpret_cast<PyTypeObject*>(found.get()));
    return isOwn ? found.release() : nullptr;
  }();
  return reinterpret_cast<PyTypeObject*>(type);
}

const TypeSlots kPartialSlots = makePartialSlots();

}  // namespace armature
