// operator.itemgetter, attrgetter and methodcaller: constants where all that they were made of are.
#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "variables/constants/constant.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/partial.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

// What one was made of, as it says when it is pickled: a tuple. Null, without an exception, for a
// methodcaller with keywords.
Ref<> partsOf(PyObject* object) {
  Ref<> reduced = Ref<>::steal(PyObject_CallMethod(object, "__reduce__", nullptr));
  if (!reduced) clearException();
  bool isPlain = reduced && PyTuple_GET_SIZE(reduced.get()) == 2 &&
                 PyType_Check(PyTuple_GET_ITEM(reduced.get(), 0));
  return isPlain ? Ref<>::create(PyTuple_GET_ITEM(reduced.get(), 1)) : nullptr;
}

bool sameNumberOfParts(PyObject* a, PyObject* b) {
  Ref<> parts = partsOf(a), others = partsOf(b);
  if (!parts || !others) return a == b;
  return PyTuple_GET_SIZE(parts.get()) == PyTuple_GET_SIZE(others.get());
}

size_t hashNumberOfParts(PyObject* object) {
  Ref<> parts = partsOf(object);
  return parts ? static_cast<size_t>(PyTuple_GET_SIZE(parts.get())) : 0;
}

bool forEachPart(PyObject* object, llvm::function_ref<bool(PyObject*)> visit) {
  Ref<> parts = partsOf(object);
  if (!parts) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts.get()); ++i) {
    if (!visit(PyTuple_GET_ITEM(parts.get(), i))) return false;
  }
  return true;
}

// As it says how to make it when it is copied: a call of constants.
Ref<> makerOfReduced(PyObject* object) {
  Ref<> reduced = checked(PyObject_CallMethod(object, "__reduce__", nullptr));
  PyObject* parts = PyTuple_GET_ITEM(reduced.get(), 1);
  llvm::SmallVector<PyObject*, 4> objects{PyTuple_GET_ITEM(reduced.get(), 0)};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); ++i) {
    objects.push_back(PyTuple_GET_ITEM(parts, i));
  }
  if (!partialType()) return nullptr;
  return checked(PyObject_Vectorcall(reinterpret_cast<PyObject*>(partialType()), objects.data(),
                                     objects.size(), nullptr));
}

// The object that one is called with. Null with the exception pending.
Value onlyArgument(Translator& translator, const char* name, const CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "%s() takes no keyword arguments", name);
  }
  if (arguments.values.size() != 1) {
    return translator.raise(PyExc_TypeError, "%s expected 1 argument, got %zu", name,
                            arguments.values.size());
  }
  return arguments.values[0];
}

// One result, or a tuple of several.
template <class Get>
Value eachOf(Translator& translator, const Ref<>& parts, Get get) {
  ValueVector results;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts.get()); ++i) {
    results.push_back(get(PyTuple_GET_ITEM(parts.get(), i)));
    if (!results.back()) return Value();
  }
  return results.size() == 1 ? results[0] : makeTuple(translator, std::move(results));
}

Value getItems(Translator& translator, const Value& self, CallArguments& arguments) {
  Value object = onlyArgument(translator, "itemgetter", arguments);
  if (!object) return object;
  return eachOf(translator, partsOf(self.object()),
                [&](PyObject* key) { return getItem(translator, object, Value::constant(key)); });
}

// dotted_getattr
Value getAttributes(Translator& translator, const Value& self, CallArguments& arguments) {
  Value object = onlyArgument(translator, "attrgetter", arguments);
  if (!object) return object;
  return eachOf(translator, partsOf(self.object()), [&](PyObject* path) {
    Ref<> dot = checked(PyUnicode_FromString("."));
    Ref<> names = checked(PyUnicode_Split(path, dot.get(), -1));
    Value value = object;
    for (Py_ssize_t i = 0; value && i < PyList_GET_SIZE(names.get()); ++i) {
      Ref<> name = Ref<>::create(PyList_GET_ITEM(names.get(), i));
      PyObject* interned = name.release();
      PyUnicode_InternInPlace(&interned);
      value = getAttribute(translator, value, Ref<>::steal(interned).get());
    }
    return value;
  });
}

Value callNamed(Translator& translator, const Value& self, CallArguments& arguments) {
  Value object = onlyArgument(translator, "methodcaller", arguments);
  if (!object) return object;
  Ref<> parts = partsOf(self.object());
  Value method = getAttribute(translator, object, PyTuple_GET_ITEM(parts.get(), 0));
  if (!method) return method;
  ValueVector given;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(parts.get()); ++i) {
    given.push_back(Value::constant(PyTuple_GET_ITEM(parts.get(), i)));
  }
  return call(translator, method, given);
}

// Of constants it is one.
Value construct(Translator& translator, const Value& callable, CallArguments& arguments) {
  PyObject* type = callable.isTracker() ? callable.tracker()->existing() : callable.object();
  for (Value& argument : arguments.values) translator.realize(argument);
  bool isKnown = !arguments.keywordCount() && allData(arguments);
  if (!isKnown) throw GraphBreak(GraphBreakKind::ClassWithNew, describe(callable));
  llvm::SmallVector<PyObject*, 4> objects;
  for (const Value& argument : arguments.values) objects.push_back(argument.object());
  Ref<> made = Ref<>::steal(PyObject_Vectorcall(type, objects.data(), objects.size(), nullptr));
  if (!made) return translator.raiseFromPython();
  if (!isConstant(made)) throw GraphBreak(GraphBreakKind::ClassWithNew, describe(callable));
  return Value::constant(made);
}

void registerOperatorCallables() {
  Ref<> module = checked(cpython::importModule("_operator"));
  const std::pair<const char*, BuiltinHandler> kinds[] = {
      {"itemgetter", getItems}, {"attrgetter", getAttributes}, {"methodcaller", callNamed}};
  for (const auto& [name, handler] : kinds) {
    // Kept: the registries know it by its identity.
    PyObject* type = PyObject_GetAttrString(module.get(), name);
    if (!type) clearException();
    if (!type || !PyType_Check(type)) continue;
    auto* kind = reinterpret_cast<PyTypeObject*>(type);
    registerConstantType(kind, {.same = sameNumberOfParts,
                                .hash = hashNumberOfParts,
                                .forEachPart = forEachPart,
                                .maker = makerOfReduced});
    registerObjectHandler(type, construct);
    registerInstanceHandler(kind, handler);
  }
}
ARMATURE_REGISTER_HANDLERS(registerOperatorCallables);

}  // namespace

}  // namespace armature
