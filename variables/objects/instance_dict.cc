#include "variables/objects/instance_dict.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/instance_attributes.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

const Source* dictSource(Translator& translator, const VariableTracker* object) {
  return object->source() ? translator.sources->path(SourceKind::InstanceDict, object->source())
                          : nullptr;
}

}  // namespace

DictVariable* existingInstanceDict(Translator& translator, VariableTracker* object) {
  PyObject** place = cpython::instanceDictPlace(object->existing());
  if (!place) return nullptr;
  Ref<> real = Ref<>::steal(PyObject_GenericGetDict(object->existing(), nullptr));
  if (!real) {
    clearException();
    return nullptr;
  }
  const Source* source = dictSource(translator, object);
  bool isKnown = static_cast<bool>(translator.known(real.get()));
  if (!isKnown && PyDict_CheckExact(real.get())) {
    auto* dict = translator.make<DictVariable>(source, real, object);
    translator.remember(real.get(), dict);
    return dict;
  }
  Value value = translator.realized(translator.wrap(source, real));
  if (auto* dict = partOf<DictVariable>(value)) return dict;
  throw GraphBreak(GraphBreakKind::UnsupportedInstanceDict, describe(value));
}

DictVariable* instanceDictOf(Translator& translator, VariableTracker* object, DictVariable*& kept) {
  if (kept) return kept;
  DictVariable* dict = nullptr;
  if (!object->existing()) {
    if (!cpython::hasInstanceDict(object->type())) return nullptr;
    dict = translator.make<DictVariable>(object);
  } else {
    PyObject** place = cpython::instanceDictPlace(object->existing());
    // Of inline values a dict can be made unseen.
    bool isThere = !place || *place || cpython::keepsInlineValues(Py_TYPE(object->existing()));
    dict = isThere ? existingInstanceDict(translator, object)
                   : translator.make<DictVariable>(dictSource(translator, object),
                                                   checked(PyDict_New()), object);
    if (!dict) return nullptr;
  }
  assignTrailed(translator.trail, kept, dict);
  return dict;
}

}  // namespace armature
