// Breaks the stages of a compilation on purpose, so that tests can see what becomes of the program.
//
// Code that can fail in the middle of a stage passes a site. Unless a test has armed a fault, that
// is one look at a flag.
#pragma once

#include <cstdint>

namespace armature {

// What happens at the armed site.
enum class Fault : uint8_t {
  Error,        // std::runtime_error, as an error of our own
  Break,        // a GraphBreak
  MemoryError,  // Python's, as CPython sets it where memory runs out
  OutOfMemory,  // std::bad_alloc
  BreakEvery,   // a GraphBreak, at each number-th site, until it is disarmed
};

// Where it happens.
enum class FaultSite : uint8_t {
  Step,           // a step of a stage: Error, Break and MemoryError
  CheckedResult,  // a result of CPython's that is checked: Error and MemoryError
  Allocation,     // memory for an object of C++: OutOfMemory
  Instruction,    // before an instruction of the program that Python could run instead: BreakEvery
};

// The `number`-th site from here at which such a fault can be, counted from 0, fails, once.
void armFault(Fault fault, uint64_t number);

struct FaultReport {
  bool happened;
  uint64_t sitesPassed;  // that could have failed, with the one that did
};
FaultReport disarmFault();

// While one stands, BreakEvery breaks nowhere: what is traced a second time must become what it
// was.
class NoInjectedBreaks {
 public:
  NoInjectedBreaks();
  ~NoInjectedBreaks();
  NoInjectedBreaks(const NoInjectedBreaks&) = delete;
  NoInjectedBreaks& operator=(const NoInjectedBreaks&) = delete;

 private:
  bool wasArmed_;
};

namespace fault_injection {
extern bool armed;
void pass(FaultSite site);
}  // namespace fault_injection

inline void faultSite(FaultSite site = FaultSite::Step) {
  if (fault_injection::armed) [[unlikely]] {
    fault_injection::pass(site);
  }
}

}  // namespace armature
