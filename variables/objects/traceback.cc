#include "variables/objects/traceback.h"

#include "variables/kind_slots.h"
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

// Nobody looks into one: it has no locals and no caller.
TypeSlots makeTracedFrameSlots() {
  TypeSlots slots;
  slots.tp_hash = unimplemented::unary;
  slots.tp_getattro = unimplemented::getAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  return slots;
}

}  // namespace

const TypeSlots kTracebackSlots = makeTracebackSlots();
const TypeSlots kTracedFrameSlots = makeTracedFrameSlots();

}  // namespace armature
