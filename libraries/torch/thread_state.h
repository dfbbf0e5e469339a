// torch's thread-local state, read where it lies.
//
// torch's functions cost 5 ns each, because each finds its thread's variables anew. Here their
// addresses are found once a thread, and the variables are compared whole.
#pragma once

#include <cstdint>

namespace armature {

// What a thread's modes are, in a form that is only good for comparing. Two threads, or two times,
// with equal words are in the same modes.
struct ThreadWords {
  uint64_t includedKeys = 0;   // c10::impl::raw_local_dispatch_key_set: dispatch modes, autocast,
  uint64_t excludedKeys = 0;   //   inference mode, function transforms
  uint64_t autograd = 0;       // the flags of c10::AutogradState: grad mode, inference mode, …
  uint64_t torchFunction = 0;  // whether overriding is disabled
  uint64_t functionModes = 0;  // a fingerprint of their kinds; 0 for none
  bool operator==(const ThreadWords&) const = default;
};

// Finds the variables and proves, by changing the modes for a moment, that they show every mode.
// False if they don't; then the words say nothing.
bool prepareThreadWords();

ThreadWords threadWords();

// What distinguishes the torch function modes that are active: their types in order and, for those
// that `with torch.device(...)` pushes, the device. 0 for none. By torch's Python interface.
uint64_t askFunctionModes();

}  // namespace armature
