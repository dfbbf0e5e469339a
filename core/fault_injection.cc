#include "core/fault_injection.h"

#include <Python.h>

#include <new>
#include <stdexcept>

#include "core/graph_break.h"
#include "core/pending_python_exception.h"

namespace armature {

namespace fault_injection {

bool armed = false;

namespace {

Fault armedFault = Fault::Error;
uint64_t armedNumber = 0;
uint64_t sitesPassed = 0;
bool happened = false;

bool canHappen(Fault fault, FaultSite site) {
  switch (site) {
    case FaultSite::Step:
      return fault != Fault::OutOfMemory && fault != Fault::BreakEvery;
    case FaultSite::CheckedResult:
      return fault == Fault::Error || fault == Fault::MemoryError;
    case FaultSite::Allocation:
      return fault == Fault::OutOfMemory;
    case FaultSite::Instruction:
      return fault == Fault::BreakEvery;
  }
  return false;
}

}  // namespace

void pass(FaultSite site) {
  if (!canHappen(armedFault, site)) return;
  if (armedFault == Fault::BreakEvery) {
    if (++sitesPassed % armedNumber != 0) return;
    happened = true;
    throw GraphBreak(GraphBreakKind::InjectedFault);
  }
  if (sitesPassed++ != armedNumber) return;
  // What is thrown passes sites itself.
  armed = false;
  happened = true;
  switch (armedFault) {
    case Fault::Error:
      throw std::runtime_error("injected fault");
    case Fault::Break:
    case Fault::BreakEvery:
      throw GraphBreak(GraphBreakKind::InjectedFault);
    case Fault::MemoryError:
      PyErr_NoMemory();
      throw PendingPythonException();
    case Fault::OutOfMemory:
      throw std::bad_alloc();
  }
}

}  // namespace fault_injection

void armFault(Fault fault, uint64_t number) {
  fault_injection::armedFault = fault;
  fault_injection::armedNumber = number;
  fault_injection::sitesPassed = 0;
  fault_injection::happened = false;
  fault_injection::armed = true;
}

NoInjectedBreaks::NoInjectedBreaks()
    : wasArmed_(fault_injection::armed && fault_injection::armedFault == Fault::BreakEvery) {
  if (wasArmed_) fault_injection::armed = false;
}

NoInjectedBreaks::~NoInjectedBreaks() {
  if (wasArmed_) fault_injection::armed = true;
}

FaultReport disarmFault() {
  fault_injection::armed = false;
  return {fault_injection::happened, fault_injection::sitesPassed};
}

}  // namespace armature
