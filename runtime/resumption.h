// How a frame goes on after a graph break: by a jump, not by a call.
//
// Generated code returns a Resumption, an entry point with its inputs, to whoever called it; that
// is the runtime, which runs the entry point's translation next, in the same C frame. So neither
// stack grows with the number of breaks, and the frame is one frame to all who look at it.
#pragma once

#include <Python.h>

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <memory>
#include <vector>

#include "codegen/continuations.h"
#include "runtime/code_cache.h"

namespace armature {

// A call's inputs and captures stand side by side: they are the generated function's arguments.
constexpr size_t kInlineSlots = 24;

// Finds or makes the translation for the inputs, runs it, and follows where it resumes, to the end
// of the frame. `arguments` has the entry's arguments (EntryPoint::argumentCount), borrowed;
// `plain` runs the function as it is. `chosen` hears first which entry runs, or because of which
// `plain` does (null: there is none). Null with an exception set.
using ChosenEntry = llvm::function_ref<void(const CacheEntry*)>;
PyObject* runFrame(CodeCache& cache, llvm::SmallVectorImpl<PyObject*>& arguments,
                   llvm::function_ref<PyObject*()> plain, ChosenEntry chosen = {});

// A callable of an entry point's inputs, which returns a Resumption there. Null with an exception
// set. Where it runs plain Python, that makes its calls by `pythonCalls`.
Ref<> makeResumeFunction(std::shared_ptr<CodeCache> cache, Ref<> pythonCalls);
// The same in plain Python only, which counts for a break (break_statistics.h), if one is given.
Ref<> makePlainResumeFunction(const EntryPoint& entry, BorrowedRef<> globals, Ref<> pythonCalls,
                              Ref<> breakStatistics = nullptr);
// Runs a resume function whose entry moves its inputs, from there to the end of its frame. `letGo`
// releases what else holds the inputs. Null with an exception set.
PyObject* runMoving(BorrowedRef<> resumeFunction, llvm::ArrayRef<PyObject*> inputs,
                    llvm::function_ref<void()> letGo);
// The object whose `~` lets go of the inputs of the resumed frame that this thread runs, but for
// those that the frame holds. Immortal; null where there was no memory for it.
BorrowedRef<> inputsOfFrame();
// A callable that passes its first argument to `function`, generated code of a frame, runs the
// frame to its end, and does the continuations, whose operands are its other arguments, to the
// result; what they call is called by `pythonCalls`. Null with an exception set.
Ref<> makeFrameFunction(BorrowedRef<> function, std::vector<RealContinuation> continuations,
                        Ref<> pythonCalls);

// Fails where C code has used up the thread's stack, which Python's recursion limit may not
// prevent: false with CPython's RecursionError set.
bool hasStackLeft();

// Prepares the types. -1 with an exception set.
int readyResumptionTypes();

}  // namespace armature
