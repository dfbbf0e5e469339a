#include "variables/objects/traceback.h"

#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

TracebackVariable* tracebackOf(const Value& self) { return requireKind<TracebackVariable>(self); }

PyObject* const kTracebackType = reinterpret_cast<PyObject*>(&PyTraceBack_Type);

// tb_frame and tb_lasti are not known: there was no frame.
constexpr BuiltinAttribute kTracebackAttributes[] = {
    {&kTracebackType, "tb_next",
     [](Translator&, const Value& self) {
       const Value& next = tracebackOf(self)->next;
       return next ? next : Value::none();
     },
     nullptr},
    {&kTracebackType, "tb_lineno",
     [](Translator&, const Value& self) {
       TracebackVariable* traceback = tracebackOf(self);
       return Value::integer(traceback->code->positions[traceback->pc].line);
     },
     nullptr},
};

TypeSlots makeTracebackSlots() {
  TypeSlots slots;
  slots.getset = kTracebackAttributes;
  slots.tp_hash = unimplemented::unary;
  return slots;
}

}  // namespace

const TypeSlots kTracebackSlots = makeTracebackSlots();

}  // namespace armature
