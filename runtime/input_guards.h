// Guards that no single instruction asks for: they hold the trace as a whole.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "guards/array_library.h"
#include "interpreter/instruction_translator.h"

namespace armature {

// Tells the translator the state of libraries and of the thread in which the call is made.
void startGlobalState(InstructionTranslator& translator);
// A backend that gets example inputs has seen all their metadata.
void observeEverything(InstructionTranslator& translator);

// What a trace has seen of the libraries' states. A backend may change one while it compiles; the
// guards, which are made after that, must not expect what nobody has traced.
class SeenState {
 public:
  explicit SeenState(const InstructionTranslator& translator);
  // Throws FalseGuard, which names the state, if it is another one now.
  void requireSame() const;

 private:
  std::vector<std::pair<const ArrayLibrary*, std::string>> states_;
};

// GLOBAL_STATE where the graph computes anything; and, for each object that the trace changes,
// that no other input is the same object.
void addFinalGuards(InstructionTranslator& translator);

}  // namespace armature
