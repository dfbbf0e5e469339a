// Guards that no single instruction asks for: they hold the trace as a whole.
#pragma once

#include "interpreter/instruction_translator.h"

namespace armature {

// Tells the translator the state of libraries and of the thread in which the call is made.
void startGlobalState(InstructionTranslator& translator);
// A backend that gets example inputs has seen all their metadata.
void observeEverything(InstructionTranslator& translator);
// GLOBAL_STATE where the graph computes anything; and, for each object that the trace changes,
// that no other input is the same object.
void addFinalGuards(InstructionTranslator& translator);

}  // namespace armature
