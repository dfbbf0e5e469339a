// torch's modes while we try something, put back to what they were at the end: whatever happens in
// between, and however it ends.
#pragma once

#include <string>
#include <vector>

#include "libraries/torch/torch_module.h"

namespace armature {

// Remembers the modes of this thread that its functions, and Python code that runs meanwhile, can
// change. The destructor puts them back through C functions alone, so that no signal handler of the
// program runs while it does. It leaves a Python exception that is set; if none is, an interrupt
// that arrived in a context manager's __exit__ is set afterwards, for the caller to look at.
class ModeScope {
 public:
  ModeScope();
  ~ModeScope();
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

  // Each returns false with a Python exception set on failure.
  bool setGradEnabled(bool enabled);
  bool setAutocast(const char* device, bool enabled);
  // Of a device (str): whether, to which dtype, and whether what was cast is kept (bool).
  bool setAutocast(BorrowedRef<> device, BorrowedRef<> enabled, BorrowedRef<> dtype,
                   BorrowedRef<> cacheEnabled);
  bool pushFunctionMode(BorrowedRef<> mode);
  bool pushDispatchMode(BorrowedRef<> mode);
  // No function mode and no dispatch mode of the program sees what follows.
  bool leaveModes(bool keepFunctionModes);
  // Enters a context manager of torch._C's; making some of them already changes a mode.
  bool enterBinding(const char* name, PyObject* argument = nullptr);
  // Enters a Python context manager.
  bool enter(Ref<> contextManager);
  // The program's hooks on saved tensors are not called for what follows.
  bool leaveSavedTensorHooks();
  // Warnings that follow are ignored, and what torch warns of once is still to come. (It goes for a
  // warning of another thread, too.)
  bool ignoreWarnings() { return setWarnings("ignore"); }
  // The same, but heardWarning() tells whether there was any. (As errors, torch would print those
  // of an operation that fails.)
  bool hearWarnings();
  bool heardWarning() const;
  // What follows is not told to this logger of the logging module. (Nor what another thread does.)
  bool silence(BorrowedRef<> logger);
  // At the end, calls the C function so.
  void putBackBy(Ref<> function, Ref<> arguments, Ref<> keywords);
  // Random numbers drawn from now on are given back.
  bool keepRandomState();

 private:
  struct Autocast {
    Ref<> device, enabled, dtype;
  };

  struct Call {
    Ref<> function, arguments, keywords;
  };

  bool setWarnings(const char* action);

  void putBack();

  Ref<> gradEnabled_;
  Ref<> onlyLiftsCpu_;
  Ref<> currentDevice_;
  std::vector<Autocast> autocast_;  // in the order in which it was set
  Ref<> cacheEnabled_;
  std::vector<Ref<>> functionModes_;  // from the bottom of the stack
  std::vector<Ref<>> dispatchModes_;
  std::vector<Call> calls_;      // to be made, the last one first
  std::vector<Ref<>> contexts_;  // entered, to be left
  Ref<> randomState_;
  Ref<> hooksWereTracing_;
  Ref<> warnsAlways_;
  Ref<> filters_;        // the list in force of the warnings module, in which is
  Ref<> filter_;         // our filter
  Ref<> showsWarnings_;  // what shows them, where we hear them
  int64_t heardBefore_ = 0;
};

// Do hooks of the program's own see what operations save for their gradients? They may do anything.
// (Those of torch itself, for checkpoints, only keep it elsewhere.)
bool hasSavedTensorHooks();

}  // namespace armature
