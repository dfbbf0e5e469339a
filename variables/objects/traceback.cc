#include "variables/objects/traceback.h"

#include "variables/kind_slots.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

TracebackVariable* tracebackOf(const Value& self) { return requireKind<TracebackVariable>(self); }

PyObject* const kTracebackType = reinterpret_cast<PyObject*>(&PyTraceBack_Type);

// tb_lasti is one of the original code's.
constexpr BuiltinAttribute kTracebackAttributes[] = {
    {&kTracebackType, "tb_next",
     [](Translator&, const Value& self) {
       const Value& next = tracebackOf(self)->next;
       return next ? next : Value::none();
     },
     nullptr},
    {&kTracebackType, "tb_frame",
     [](Translator&, const Value& self) { return Value(tracebackOf(self)->frame); }, nullptr},
    {&kTracebackType, "tb_lineno",
     [](Translator&, const Value& self) {
       return Value::integer(tracebackOf(self)->position().line);
     },
     nullptr},
};

TypeSlots makeTracebackSlots() {
  TypeSlots slots;
  slots.getset = kTracebackAttributes;
  slots.tp_hash = unimplemented::unary;
  return slots;
}

PyObject* const kFrameType = reinterpret_cast<PyObject*>(&PyFrame_Type);

constexpr BuiltinAttribute kFrameAttributes[] = {
    {&kFrameType, "f_globals",
     [](Translator&, const Value& self) {
       return Value(requireKind<TracedFrameVariable>(self)->globals);
     },
     nullptr},
};

Value frameAttribute(Translator& translator, const Value& self, PyObject* name) {
  bool isGlobals = PyUnicode_CompareWithASCIIString(name, "f_globals") == 0;
  return isGlobals ? genericGetAttribute(translator, self, name)
                   : unimplemented::getAttribute(translator, self, name);
}

// Nobody looks further into one: it has no locals and no caller.
TypeSlots makeTracedFrameSlots() {
  TypeSlots slots;
  slots.tp_hash = unimplemented::unary;
  slots.getset = kFrameAttributes;
  slots.tp_getattro = frameAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  return slots;
}

}  // namespace

const TypeSlots kTracebackSlots = makeTracebackSlots();
const TypeSlots kTracedFrameSlots = makeTracedFrameSlots();

}  // namespace armature
