// Compiles the guards of one cache entry into a GuardProgram, runs it, explains it.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "guards/frame_locals_mapping.h"
#include "guards/guard.h"

namespace armature {

class GuardProgram;
struct GuardProgramState;

// One failed guard, for logs and for recompile reasons.
struct GuardFailure {
  std::string text;    // the guard as Python-like text: "L['n'] == 3"
  std::string actual;  // what was found: "4"
};

// The call that was traced does not pass a guard of its own: the trace has assumed what was not so,
// or what it has read was changed before it ended.
class FalseGuard : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class CheckFunctionManager {
 public:
  // `captures`: sources whose objects the generated code wants as inputs, in that order; each is
  // loaded on the same walk that checks the guards. `example` must be the call that was traced: it
  // passes all the guards, or the constructor throws FalseGuard naming the guard and what it found.
  // Objects tested by identity are held weakly; when one dies, valid() turns false for good.
  CheckFunctionManager(std::shared_ptr<SourceTable> sources, std::vector<Guard> guards,
                       std::vector<const Source*> captures, const FrameLocalsMapping& example);
  ~CheckFunctionManager();
  CheckFunctionManager(const CheckFunctionManager&) = delete;
  CheckFunctionManager& operator=(const CheckFunctionManager&) = delete;

  // The hit path: true if every guard holds; then captures[i] is the object of captures()[i].
  // The references are borrowed from the arguments, or owned by this manager until the next
  // check, releaseCaptures(), or takePins(), which gives them to the caller. Runs no Python code,
  // allocates no Python object except where a Descriptor source demands it. Sets no exception.
  bool check(const FrameLocalsMapping& locals, PyObject** captures);
  void releaseCaptures();
  // Gives the caller, who calls the generated code next, those captures of the last check that
  // nothing else holds, and lets go of all else that it has made: the generated code's own
  // references are to be the last ones where the program lets go of an object.
  void takePins(PyObject* const* captures, Pins& taken);
  size_t captureCount() const { return captures_.size(); }

  // The same program in explaining mode. Returns false and fills `failure` with the first guard
  // that fails; can never return true where check() returned false.
  bool checkVerbose(const FrameLocalsMapping& locals, GuardFailure& failure);

  // The values that were taken for constants and are others in this call, of the same types.
  std::vector<const Source*> variedValues(const FrameLocalsMapping& locals) const;

  bool valid() const;
  // Visits the objects held, but for those of the sources, for the garbage collector.
  int traverse(visitproc visit, void* arg) const;
  // Operands that are tested by identity are given up (null).
  const std::vector<Guard>& guards() const { return guards_; }
  // One guard a line, in evaluation order.
  std::string toString() const;
  // The instructions of the compiled program, one a line.
  std::string programText() const;

 private:
  void giveUpIdentities();
  std::string textOf(size_t guard) const;
  void addTensorTypes(const FrameLocalsMapping& example);
  bool runIn(GuardProgramState& state, const FrameLocalsMapping& locals, PyObject** captures);

  std::shared_ptr<SourceTable> sources_;
  std::vector<Guard> guards_;
  // The operands that guards_ gave up. Dangling once valid() is false.
  std::vector<PyObject*> identities_;
  std::vector<const Source*> captures_;
  std::unique_ptr<GuardProgram> program_;
  std::unique_ptr<GuardProgramState> state_;
  Pins pins_;  // what keeps the last captures alive
  bool running_ = false;
};

}  // namespace armature
