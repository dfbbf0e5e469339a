#include "variables/objects/weak_reference.h"

#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

bool mayBeSameReferences(const Value& left, const Value& right) {
  PyTypeObject* type = cpython::weakReferenceType();
  return (trackerOf<NewWeakReferenceVariable>(left) && typeOf(right) == type) ||
         (trackerOf<NewWeakReferenceVariable>(right) && typeOf(left) == type);
}

bool areSameReferences(Translator& translator, const Value& left, const Value& right) {
  auto* first = trackerOf<NewWeakReferenceVariable>(left);
  auto* second = trackerOf<NewWeakReferenceVariable>(right);
  if (first && second) return isSame(translator, first->referent, second->referent);
  // Whether the existing one has a callback, only C code sees.
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, "is: weak references");
}

PyObject* referentOfMade(const Value& value) {
  auto* made = trackerOf<NewWeakReferenceVariable>(value);
  if (!made) return nullptr;
  PyObject* object = made->referent.objectOrNull();
  return object ? object : static_cast<PyObject*>(made->referent.tracker()->existing());
}

namespace {

// Only what the trace knows has existed before can be told to be alive.
bool existed(const Value& object) {
  if (!object.isTracker()) return PyType_Check(object.object());
  return object.tracker()->source() || object.tracker()->existing();
}

// The referent, while it is known to live: when it ends is not traced.
Value referent(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* made = trackerOf<NewWeakReferenceVariable>(self);
  VariableTracker* reference = self.tracker();
  auto refuse = [&] {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, "call: " + describe(self));
  };
  if (!arguments.values.empty() || (!made && !reference->source())) refuse();
  Value object = made ? made->referent
                      : translator.wrap(
                            translator.sources->path(SourceKind::WeakReferent, reference->source()),
                            PyWeakref_GET_OBJECT(reference->existing()));
  if (translator.isHeldByFrames(object)) return object;
  // What lives at the start of the trace lives on, if the program lets go of nothing.
  if (!translator.keepsExisting()) refuse();
  // A value that nothing but the trace holds might have ended before.
  if (!translator.looseValues.all().empty()) throw EndIsHeard();
  return object;
}

// weakref.ref(object). One with a callback is Python's to make: it hears of the object's end.
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  size_t count = arguments.values.size();
  bool isPlain = !arguments.keywordCount() && count >= 1 && count <= 2 &&
                 (count == 1 || translator.realized(arguments.values[1]).is(Py_None));
  if (!isPlain) throw GraphBreak(GraphBreakKind::UnknownCFunction, "weakref.ref with a callback");
  Value object = wholeOf(translator.realized(arguments.values[0]));
  PyTypeObject* type = typeOf(object);
  if (!PyType_SUPPORTS_WEAKREFS(type)) {
    return translator.raise(PyExc_TypeError, "cannot create weak reference to '%s' object",
                            nameOf(translator, type));
  }
  // The end of what the trace has made is heard from now on, and frames that exceptions hold may
  // put it off.
  if (!existed(object)) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, "weakref.ref of " + describe(object));
  }
  return translator.make<NewWeakReferenceVariable>(object);
}

// What it refers to is its __new__'s business: this checks arguments that are there, and does
// nothing.
Value initialize(Translator&, const Value&, CallArguments& arguments) {
  bool fits =
      !arguments.keywordCount() && arguments.values.size() >= 1 && arguments.values.size() <= 2;
  if (!fits) throw GraphBreak(GraphBreakKind::UnknownCFunction, "weakref.ref.__init__");
  return Value::none();
}

void registerWeakReferences() {
  registerObjectHandler(reinterpret_cast<PyObject*>(cpython::weakReferenceType()), construct);
  registerInstanceHandler(cpython::weakReferenceType(), referent);
  registerMovingMethodHandler(cpython::weakReferenceType(), "__init__", initialize);
}
ARMATURE_REGISTER_HANDLERS(registerWeakReferences);

}  // namespace

}  // namespace armature
