#include "variables/objects/instance_dict.h"

#include "core/pending_python_exception.h"
#include "cpython/instance_attributes.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

DictVariable* existingInstanceDict(Translator& translator, VariableTracker* object) {
  PyObject** place = cpython::instanceDictPlace(object->existing());
  if (!place) return nullptr;
  Ref<> real = Ref<>::steal(PyObject_GenericGetDict(object->existing(), nullptr));
  if (!real) {
    clearException();
    return nullptr;
  }
  const Source* source = object->source()
                             ? translator.sources->path(SourceKind::InstanceDict, object->source())
                             : nullptr;
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

}  // namespace armature
