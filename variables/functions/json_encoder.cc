#include "variables/functions/json_encoder.h"

#include <cstring>

#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/stand_ins.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

// What the parts must be, so that the class takes them as they are.
bool isTakenAsItIs(JsonEncoderVariable::Part part, const Value& value) {
  PyObject* object = value.objectOrNull();
  switch (part) {
    case JsonEncoderVariable::kMarkers:
      return object == Py_None || (trackerOf<DictVariable>(value) && typeOf(value) == &PyDict_Type);
    case JsonEncoderVariable::kKeySeparator:
    case JsonEncoderVariable::kItemSeparator:
      return object && PyUnicode_Check(object);
    case JsonEncoderVariable::kSortKeys:
    case JsonEncoderVariable::kSkipKeys:
    case JsonEncoderVariable::kAllowNan:
      return object && PyBool_Check(object);
    default:
      return true;
  }
}

// encoder_new
Value construct(Translator& translator, const Value& callable, CallArguments& arguments) {
  bool isUsual =
      arguments.keywordCount() == 0 && arguments.values.size() == JsonEncoderVariable::kPartCount;
  JsonEncoderVariable::Parts parts;
  for (size_t i = 0; isUsual && i < parts.size(); ++i) {
    parts[i] = translator.realized(arguments.values[i]);
    isUsual = isTakenAsItIs(static_cast<JsonEncoderVariable::Part>(i), parts[i]);
  }
  if (!isUsual) return unimplemented::call(translator, callable, arguments);
  auto* type = reinterpret_cast<PyTypeObject*>(callable.tracker()->existing());
  return translator.make<JsonEncoderVariable>(type, std::move(parts));
}

// encoder_call. The indentation is for the encoder in Python; this one leaves it out. What stands
// in has no need of markers.
Value encode(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* encoder = requireKind<JsonEncoderVariable>(self);
  PyObject* method = cpython::ownAttribute(encoder->type(), "__call__");
  PyObject* standIn = method ? standInFor(BorrowedRef<>(method)) : nullptr;
  if (!standIn || arguments.keywordCount() || arguments.values.size() != 2) {
    return unimplemented::call(translator, self, arguments);
  }
  const JsonEncoderVariable::Parts& parts = encoder->parts;
  ValueVector given;
  for (size_t i = JsonEncoderVariable::kDefault; i < parts.size(); ++i) {
    if (i != JsonEncoderVariable::kIndent) given.push_back(parts[i]);
  }
  given.push_back(arguments.values[0]);
  return call(translator, standInValue(translator, standIn), given);
}

PyObject* encoderType = nullptr;

template <size_t kPart>
Value part(Translator&, const Value& self) {
  return requireKind<JsonEncoderVariable>(self)->parts[kPart];
}

const BuiltinAttribute kAttributes[] = {
    {&encoderType, "markers", part<JsonEncoderVariable::kMarkers>, nullptr},
    {&encoderType, "default", part<JsonEncoderVariable::kDefault>, nullptr},
    {&encoderType, "encoder", part<JsonEncoderVariable::kEncoder>, nullptr},
    {&encoderType, "indent", part<JsonEncoderVariable::kIndent>, nullptr},
    {&encoderType, "key_separator", part<JsonEncoderVariable::kKeySeparator>, nullptr},
    {&encoderType, "item_separator", part<JsonEncoderVariable::kItemSeparator>, nullptr},
    {&encoderType, "sort_keys", part<JsonEncoderVariable::kSortKeys>, nullptr},
    {&encoderType, "skipkeys", part<JsonEncoderVariable::kSkipKeys>, nullptr}};

void registerJsonEncoder() {
  // A program without json has none; where it has put another in its place, that is called.
  BorrowedRef<> type = cpython::importedAttribute("_json", "make_encoder");
  bool isOwn =
      type && PyType_Check(type.get()) &&
      std::strcmp(reinterpret_cast<PyTypeObject*>(type.get())->tp_name, "_json.Encoder") == 0;
  if (!isOwn) return;
  encoderType = Py_NewRef(type.get());
  registerObjectHandler(encoderType, construct);
}
ARMATURE_REGISTER_HANDLERS(registerJsonEncoder);

TypeSlots makeJsonEncoderSlots() {
  TypeSlots slots;
  slots.tp_call = encode;
  slots.getset = kAttributes;
  slots.tp_repr = unimplemented::unary;
  return slots;
}

}  // namespace

const TypeSlots kJsonEncoderSlots = makeJsonEncoderSlots();

}  // namespace armature
