#include "variables/protocol/ascii_text.h"

#include "core/checked.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

Value toAscii(Translator& translator, Value value) {
  Value text = toRepr(translator, std::move(value));
  if (!text || PyUnicode_IS_ASCII(text.object())) return text;
  Ref<> bytes = checked(PyUnicode_AsEncodedString(text.object(), "ascii", "backslashreplace"));
  return translator.fromPython(PyUnicode_DecodeASCII(PyBytes_AS_STRING(bytes.get()),
                                                     PyBytes_GET_SIZE(bytes.get()), nullptr));
}

}  // namespace armature
