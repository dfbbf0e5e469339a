// Which objects and graph results have to exist when the trace is over. What is not reached from
// the result, the stacks, the live locals and the side effects is never built.
#include "bytecode/liveness.h"
#include "codegen/py_codegen.h"
#include "codegen/unsupported.h"
#include "variables/containers/dict.h"
#include "variables/containers/iterators.h"
#include "variables/functions/functions.h"
#include "variables/objects/context_manager.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

void PyCodegen::collectRoots() {
  collect(outcome_.result);
  for (const FrameState& frame : outcome_.frames) {
    for (const Value& value : frame.stack) collect(value);
    bool isInnermost = &frame == &outcome_.frames.back();
    Liveness liveness(*frame.code);
    // What the frame's continuation may read: from this instruction on for the innermost frame
    // (its jump targets included), from the next one on for callers.
    const llvm::BitVector& live = liveness.liveBefore(frame.pc + (isInnermost ? 0 : 1));
    for (int i = live.find_first(); i >= 0; i = live.find_next(i)) collect(frame.locals[i]);
  }
  for (VariableTracker* tracker : translator_.sideEffects().mutated()) collectMutation(tracker);
}

void PyCodegen::collect(const Value& value) {
  if (!value.isTracker()) return;
  VariableTracker* tracker = value.tracker();
  if (tracker->kind() == VariableKind::Lazy) return;
  if (tracker->source() || tracker->existing()) return;
  if (++references_[tracker] > 1) return;
  if (auto* tensor = llvm::dyn_cast<TensorVariable>(tracker)) {
    outputs_.insert({tensor->node, -1});
    return;
  }
  collectParts(tracker);
}

void PyCodegen::collectParts(VariableTracker* tracker) {
  auto collectDict = [&](DictVariable* dict) {
    if (!dict) return;
    dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
      collect(entry.key);
      collect(entry.value);
    });
  };
  switch (tracker->kind()) {
    case VariableKind::List:
    case VariableKind::Tuple:
    case VariableKind::NamedTuple:
      for (const Value& item : llvm::cast<SequenceVariable>(tracker)->items()) collect(item);
      break;
    case VariableKind::Dict:
      collectDict(llvm::cast<DictVariable>(tracker));
      break;
    case VariableKind::Set:
      llvm::cast<SetVariable>(tracker)->forEach([&](const Value& key) { collect(key); });
      break;
    case VariableKind::Slice: {
      auto* slice = llvm::cast<SliceVariable>(tracker);
      collect(slice->start), collect(slice->stop), collect(slice->step);
      break;
    }
    case VariableKind::DictView:
      collect(llvm::cast<DictViewVariable>(tracker)->dict);
      break;
    case VariableKind::SequenceIterator:
      collect(llvm::cast<SequenceIteratorVariable>(tracker)->sequence);
      break;
    case VariableKind::DictIterator: {
      collect(llvm::cast<DictIteratorVariable>(tracker)->container);
      break;
    }
    case VariableKind::Enumerate:
      collect(llvm::cast<EnumerateVariable>(tracker)->iterator);
      break;
    case VariableKind::Zip:
      for (const Value& item : llvm::cast<ZipVariable>(tracker)->iterators) collect(item);
      break;
    case VariableKind::Map:
      collect(llvm::cast<MapVariable>(tracker)->function);
      for (const Value& item : llvm::cast<MapVariable>(tracker)->iterators) collect(item);
      break;
    case VariableKind::Filter:
      collect(llvm::cast<FilterVariable>(tracker)->function);
      collect(llvm::cast<FilterVariable>(tracker)->iterator);
      break;
    case VariableKind::UserFunction: {
      auto* function = llvm::cast<UserFunctionVariable>(tracker);
      collect(function->defaults);
      collect(function->keywordDefaults);
      collect(function->annotations);
      for (NewCellVariable* cell : function->closure) collect(cell);
      collectDict(function->attributes);
      break;
    }
    case VariableKind::BoundMethod:
      collect(llvm::cast<BoundMethodVariable>(tracker)->function);
      collect(llvm::cast<BoundMethodVariable>(tracker)->self);
      break;
    case VariableKind::UserObject: {
      auto* object = llvm::cast<UserObjectVariable>(tracker);
      collectDict(object->container);
      collectDict(object->dict);
      collectDict(object->memberValues);
      break;
    }
    case VariableKind::Exception: {
      auto* exception = llvm::cast<ExceptionVariable>(tracker);
      for (const Value& argument : exception->arguments) collect(argument);
      collect(exception->cause);
      collect(exception->context);
      collectDict(exception->dict);
      break;
    }
    case VariableKind::NewCell:
      collect(llvm::cast<NewCellVariable>(tracker)->contents());
      break;
    case VariableKind::ContextExit:
      collect(llvm::cast<ContextExitVariable>(tracker)->manager);
      break;
    case VariableKind::Super:
      collect(llvm::cast<SuperVariable>(tracker)->startClass);
      collect(llvm::cast<SuperVariable>(tracker)->self);
      break;
    default:
      break;
  }
}

void PyCodegen::collectMutation(VariableTracker* tracker) {
  switch (tracker->kind()) {
    case VariableKind::List:
      for (const Value& item : llvm::cast<ListVariable>(tracker)->items()) collect(item);
      break;
    case VariableKind::Dict: {
      const OrderedValueMap& entries = llvm::cast<DictVariable>(tracker)->entries();
      for (int32_t i = 0; i < entries.entryCount(); ++i) {
        if (!entries[i].changed) continue;
        collect(entries[i].key);
        collect(entries[i].value);
      }
      break;
    }
    case VariableKind::Set:
      llvm::cast<SetVariable>(tracker)->forEach([&](const Value& key) { collect(key); });
      break;
    case VariableKind::NewCell:
      collect(llvm::cast<NewCellVariable>(tracker)->contents());
      break;
    case VariableKind::UserObject: {
      auto* object = llvm::cast<UserObjectVariable>(tracker);
      if (!object->memberValues) break;
      const OrderedValueMap& entries = object->memberValues->entries();
      for (int32_t i = 0; i < entries.entryCount(); ++i) collect(entries[i].value);
      break;
    }
    default:
      break;
  }
}

}  // namespace armature
