// functools.cached_property.__get__, without the lock that it holds meanwhile before 3.12: which
// thread computes a value first is not seen by a trace anyway.
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Value get(Translator& translator, const Value&, CallArguments& arguments) {
  static PyObject* const nameOfAttribute = staticName("attrname");
  static PyObject* const function = staticName("func");
  static PyObject* const dictName = staticName("__dict__");
  bool fits = !arguments.keywordCount() && arguments.values.size() >= 2;
  Value property = fits ? translator.realized(arguments.values[0]) : Value();
  Value instance = fits ? translator.realized(arguments.values[1]) : Value();
  auto refuse = [&] {
    return GraphBreak(GraphBreakKind::UnsupportedDescriptor, "functools.cached_property");
  };
  if (!fits || !trackerOf<UserObjectVariable>(property)) throw refuse();
  if (instance.is(Py_None)) return property;
  Value name = translator.realized(getAttribute(translator, property, nameOfAttribute));
  if (!name) return name;
  // The errors of one without a name, and of objects that keep no attributes, are functools' own.
  auto* object = trackerOf<UserObjectVariable>(instance);
  PyObject* text = name.objectOrNull();
  if (!object || !text || !PyUnicode_CheckExact(text)) throw refuse();
  Value attributes = translator.realized(getOptionalAttribute(translator, instance, dictName));
  if (!attributes && translator.exceptionPending()) return attributes;
  auto* dict = trackerOf<DictVariable>(attributes);
  if (!dict || dict->type() != &PyDict_Type) throw refuse();
  if (Value known = dict->get(translator, name)) return known;
  Value compute = getAttribute(translator, property, function);
  Value result = compute ? call(translator, compute, {instance}) : Value();
  return result && dict->set(translator, name, result) ? result : Value();
}

void registerCachedProperty() {
  Ref<> module = Ref<>::steal(cpython::importModule("functools"));
  Ref<> type =
      Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "cached_property") : nullptr);
  // Kept: the registry knows it by its identity.
  PyObject* method = type ? PyObject_GetAttrString(type.get(), "__get__") : nullptr;
  clearException();
  if (method && PyFunction_Check(method)) registerObjectHandler(method, get);
}
ARMATURE_REGISTER_HANDLERS(registerCachedProperty);

}  // namespace

}  // namespace armature
