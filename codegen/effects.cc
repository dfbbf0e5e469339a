// The graph call, and what Python must see changed after it.
#include "codegen/py_codegen.h"
#include "codegen/unsupported.h"
#include "core/pending_python_exception.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

void PyCodegen::callGraph() {
  if (translator_.graph->empty() && outputs_.empty()) return;
  Ref<> compiled = environment_.compileGraph(*translator_.graph);
  if (!compiled) throw PendingPythonException();
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(compiled);
  std::vector<Node*> inputs = translator_.graph->placeholders();
  for (Node* input : inputs) loadSource(input->source);
  assembler_.emitCall(static_cast<int32_t>(inputs.size()));
  if (outputs_.empty()) {
    assembler_.emit(Opcode::POP_TOP);
    return;
  }
  assembler_.emit(Opcode::UNPACK_SEQUENCE, static_cast<int32_t>(outputs_.size()));
  for (auto& [node, local] : outputs_) {
    local = freshLocal("graph_out");
    assembler_.emit(Opcode::STORE_FAST, local);
  }
}

void PyCodegen::replayEffects() {
  for (VariableTracker* tracker : translator_.sideEffects().mutated()) replay(tracker);
}

void PyCodegen::replay(VariableTracker* tracker) {
  switch (tracker->kind()) {
    case VariableKind::List: {
      const ValueVector& items = llvm::cast<ListVariable>(tracker)->items();
      for (const Value& item : items) load(item);
      assembler_.emit(Opcode::BUILD_LIST, static_cast<int32_t>(items.size()));
      load(tracker);
      assembler_.emitLoadConst(Ref<>::steal(PySlice_New(nullptr, nullptr, nullptr)));
      assembler_.emit(Opcode::STORE_SUBSCR);
      return;
    }
    case VariableKind::Dict: {
      auto* dict = llvm::cast<DictVariable>(tracker);
      const OrderedValueMap& entries = dict->entries();
      for (int32_t i = 0; i < entries.entryCount(); ++i) {
        const OrderedValueMap::Entry& entry = entries[i];
        if (!entry.changed) continue;
        if (!entry.live()) {
          if (!entry.existed) continue;
          if (dict->owner()) {
            load(dict->owner());
            assembler_.emitName(Opcode::LOAD_ATTR, "__dict__");
          } else if (dict->type()->tp_flags & Py_TPFLAGS_HEAPTYPE) {
            // A subclass may override __delitem__; only the final effect is replayed.
            assembler_.emit(Opcode::PUSH_NULL);
            assembler_.emitLoadConst(dictMethod(dict->type(), "__delitem__"));
            load(dict);
            load(entry.key);
            assembler_.emitCall(2);
            assembler_.emit(Opcode::POP_TOP);
            continue;
          } else {
            load(dict);
          }
          load(entry.key);
          assembler_.emit(Opcode::DELETE_SUBSCR);
        } else if (dict->owner()) {
          setAttribute(dict->owner(), entry.key.object(), entry.value);
        } else {
          setDictItem(dict, entry.key, entry.value);
        }
      }
      return;
    }
    case VariableKind::Set: {
      auto* set = llvm::cast<SetVariable>(tracker);
      load(set);
      assembler_.emitName(Opcode::LOAD_METHOD, "clear");
      assembler_.emitCall(0);
      assembler_.emit(Opcode::POP_TOP);
      set->forEach([&](const Value& key) {
        load(set);
        assembler_.emitName(Opcode::LOAD_METHOD, "add");
        load(key);
        assembler_.emitCall(1);
        assembler_.emit(Opcode::POP_TOP);
      });
      return;
    }
    case VariableKind::NewCell: {
      auto* cell = llvm::cast<NewCellVariable>(tracker);
      const Source* source = cell->source();
      if (source->kind() == SourceKind::LocalCell) {
        auto index = static_cast<int32_t>(source->index());
        if (cell->contents()) {
          load(cell->contents());
          assembler_.emit(Opcode::STORE_DEREF, index);
        } else {
          assembler_.emit(Opcode::DELETE_DEREF, index);
        }
        return;
      }
      if (cell->contents()) {
        load(cell->contents());
        load(cell);
        assembler_.emitName(Opcode::STORE_ATTR, "cell_contents");
      } else {
        load(cell);
        assembler_.emitName(Opcode::DELETE_ATTR, "cell_contents");
      }
      return;
    }
    case VariableKind::UserObject: {
      auto* object = llvm::cast<UserObjectVariable>(tracker);
      if (!object->memberValues) return;
      const OrderedValueMap& entries = object->memberValues->entries();
      for (int32_t i = 0; i < entries.entryCount(); ++i) {
        if (!entries[i].changed || !entries[i].live()) continue;
        assembler_.emitLoadConst(entries[i].key.object());
        assembler_.emitName(Opcode::LOAD_METHOD, "__set__");
        load(object);
        load(entries[i].value);
        assembler_.emitCall(2);
        assembler_.emit(Opcode::POP_TOP);
      }
      return;
    }
    case VariableKind::Tensor:
      return;  // The graph itself has mutated it.
    default:
      throw UnsupportedReconstruction("a change of " + describe(tracker));
  }
}

}  // namespace armature
