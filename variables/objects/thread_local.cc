#include "variables/objects/thread_local.h"

#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

PyTypeObject* threadLocalType() {
  static PyTypeObject* const type = [] {
    Ref<> module = checked(cpython::importModule("_thread"));
    return reinterpret_cast<PyTypeObject*>(
        checked(PyObject_GetAttrString(module.get(), "_local")).release());
  }();
  return type;
}

PyObject* dictName() {
  static PyObject* const name = staticName("__dict__");
  return name;
}

// The field of a threading.local that is its dict in the running thread: the type's own
// __getattribute__ finds it, no descriptor does.
PyObject* dictField() {
  static PyGetSetDef definition = {
      "__dict__ in this thread",
      [](PyObject* self, void*) { return threadLocalType()->tp_getattro(self, dictName()); },
      nullptr, nullptr, nullptr};
  static PyObject* const field =
      checked(PyDescr_NewGetSet(threadLocalType(), &definition)).release();
  return field;
}

// A data descriptor of the type comes before the thread's attributes.
bool isOfType(const Found& found) { return found && PyDescr_IsData(found.object); }

}  // namespace

DictVariable* threadDict(Translator& translator, const Value& object) {
  VariableTracker* tracker = object.tracker();
  bool isInput = tracker->source() && tracker->existing();
  if (!isInput || tracker->type() != threadLocalType()) return nullptr;
  Ref<> real = checked(threadLocalType()->tp_getattro(tracker->existing(), dictName()));
  const Source* source =
      translator.sources->item(SourceKind::Descriptor, tracker->source(), dictField());
  return trackerOf<DictVariable>(translator.realized(translator.wrap(source, real.get())));
}

// As reading or deleting what is not there does.
static Value raiseNoAttribute(Translator& translator, PyTypeObject* type, PyObject* name) {
  return translator.raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'",
                          nameOf(translator, type), name);
}

Value threadAttribute(Translator& translator, const Value& object, DictVariable* dict,
                      PyObject* name) {
  if (PyObject_RichCompareBool(name, dictName(), Py_EQ) == 1) return translator.dictValue(dict);
  PyTypeObject* type = object.tracker()->type();
  Found found = translator.heap.lookup(type, name);
  Value value = isOfType(found) ? Value() : dict->get(translator, name);
  if (value || translator.exceptionPending()) return value;
  if (found) return bindTypeAttribute(translator, found, object, type, name);
  return raiseNoAttribute(translator, type, name);
}

bool setThreadAttribute(Translator& translator, const Value& object, DictVariable* dict,
                        PyObject* name, const Value& value) {
  PyTypeObject* type = object.tracker()->type();
  bool isPlain = !isOfType(translator.heap.lookup(type, name)) &&
                 PyObject_RichCompareBool(name, dictName(), Py_EQ) == 0;
  if (!isPlain) return unimplemented::setAttribute(translator, object, name, value);
  if (value) return dict->set(translator, Value::constant(name), value);
  if (dict->remove(translator, Value::constant(name))) return true;
  if (translator.exceptionPending()) return false;
  raiseNoAttribute(translator, type, name);
  return false;
}

}  // namespace armature
