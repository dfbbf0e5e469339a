// How a compilation fails, and what the user hears of it: nothing of ours, and at once what is
// theirs.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "core/pending_python_exception.h"
#include "core/ref.h"
#include "interpreter/instruction_translator.h"
#include "runtime/settings.h"

namespace armature {

// The exception that is set is meant for the user: an interrupt, an error of their backend, what
// fullgraph=True raises. Any other failure of a compilation is an internal error, after which the
// call runs as plain Python.
struct RaisedForUser : PendingPythonException {};

// Throws RaisedForUser with what fullgraph=True raises for this reason.
[[noreturn]] void raiseUnsupported(const Hooks& hooks, const BreakReason& reason);

// Judges the exception that is being handled: call it in `catch (...)`. True: a Python exception is
// set, for the user. False: `message` says what went wrong, and no exception is set. What is none
// of ours goes on (the unwinding of a thread that ends with the process).
bool isForUser(std::string& message);

// Sets the Python exception for the C++ exception that is being handled.
void setForPython();

// Runs what a C function does for Python: null with an exception set if it throws. What is none of
// ours is not even caught: a thread that ends with the process unwinds its stack through here.
template <class Function>
PyObject* forPython(Function function) {
  try {
    return function();
  } catch (const PendingPythonException&) {
    setForPython();
  } catch (const std::exception&) {
    setForPython();
  }
  return nullptr;
}

enum class FailureKind : uint8_t {
  Error,  // should never happen: config.strict raises it
  Limit,  // codegen has no bytecode for an object
};
// Tells the user, through the hook, why a function runs as plain Python. Leaves a Python exception
// set only if they are to see it.
void reportFailure(const Hooks& hooks, const Code& code, const std::string& message,
                   FailureKind kind);
void reportFailure(const Hooks& hooks, BorrowedRef<> code, BorrowedRef<> qualifiedName,
                   const std::string& message, FailureKind kind);

// The text of a str object, of any characters.
std::string textOf(BorrowedRef<> string);

// A dict of the reason's fields.
Ref<> describe(const BreakReason& reason);

}  // namespace armature
