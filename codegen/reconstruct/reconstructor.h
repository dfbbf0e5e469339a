// How one kind of value comes to exist in generated code, and how what the trace did to existing
// objects of that kind is done again. One per kind, in a file of its own; a kind without one does
// not link.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "bytecode/instruction.h"
#include "interpreter/parts.h"
#include "variables/side_effects.h"
#include "variables/variable_tracker.h"

namespace armature {

class InstructionTranslator;
class PyCodegen;

class Reconstructor {
 public:
  virtual ~Reconstructor() = default;

  enum class Steps : uint8_t {
    One,       // the object is made whole
    OneOrTwo,  // it can be made empty and filled later: where a cycle passes through it
    Two,       // it is always made first and filled when everything else exists
  };
  virtual Steps steps(VariableTracker*) const { return Steps::One; }

  // --- Collect. Every part is visited as often as it is loaded.
  // What has to exist before the object does.
  virtual void needs(Translator&, VariableTracker*, PartVisitor) const {}
  // What can be put in later: by fill(), in two steps.
  virtual void holds(Translator&, VariableTracker*, PartVisitor) const {}
  // Of what it needs, what must have its parts in it before the object is made.
  virtual void filledBefore(VariableTracker*, PartVisitor) const {}
  // It shows the state of an existing object, so it is made before the effects are replayed.
  virtual bool showsState() const { return false; }
  // The object whose state it shows when the effects on that one were replayed; null: none.
  virtual VariableTracker* showsReplayed(Translator&, VariableTracker*) const { return nullptr; }

  // --- Build.
  // Leaves the whole object on the stack. The default throws UnsupportedReconstruction.
  virtual void build(PyCodegen& codegen, VariableTracker* tracker) const;
  // The first of two steps: leaves the object in a local.
  virtual void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const;
  // The second; the object is loaded like any other.
  virtual void fill(PyCodegen& codegen, VariableTracker* tracker) const;
  // Of a two-step object: what it is called in generated code, and how it is loaded.
  virtual const char* localName() const { return "tmp"; }
  virtual Opcode loadOpcode() const { return Opcode::LOAD_FAST; }

  // --- Replay.
  // The values that an effect on an existing object stores.
  virtual void storedBy(Translator&, const Effect&, PartVisitor) const {}
  virtual void replay(PyCodegen& codegen, const Effect& effect) const;
  // Replays the effect of that index, and those behind it that go with it; where the rest begins.
  virtual int32_t replayRun(PyCodegen& codegen, const SideEffects& effects, int32_t first) const {
    replay(codegen, effects[first]);
    return first + 1;
  }
};

const Reconstructor& reconstructorOf(VariableKind kind);

// What needs() and holds() visit, and storedBy().
const Parts& reconstructedParts();

// Does a new object, or a result of the graph, lead to one of which that is true, or is it one?
bool leadsTo(InstructionTranslator& translator, const Value& value,
             llvm::function_ref<bool(const VariableTracker*)> isWanted);

// The code that a generator which is made anew runs, of the program's own: that whose calls are
// captured, if there is one.
Ref<PyCodeObject> codeOfGenerator(PyCodegen& codegen, BorrowedRef<PyCodeObject> original);

// One function for each kind, defined in the kind's file.
#define KIND(name) const Reconstructor& name##Reconstruction();
#include "variables/variable_kinds.def"

#define ARMATURE_RECONSTRUCTOR(name)                \
  const Reconstructor& name##Reconstruction() {     \
    static const name##Reconstructor reconstructor; \
    return reconstructor;                           \
  }

}  // namespace armature
