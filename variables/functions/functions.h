// Python functions, bound methods, cells and generators.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "bytecode/code.h"
#include "variables/variable_tracker.h"

namespace armature {

class DictVariable;
class Translator;

// The one model of a cell: made by the trace, captured by the root frame, or found in the closure
// of an existing function.
class NewCellVariable : public VariableTracker {
 public:
  ARMATURE_KIND(NewCell)
  explicit NewCellVariable(Value contents, const Source* source = nullptr,
                           BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::NewCell, &PyCell_Type, source, existing),
        contents_(std::move(contents)) {}

  // What the program finds in the cell; null: nothing. Of what an existing cell holds, that it
  // holds something, or nothing, is guarded.
  const Value& read(Translator& translator) const;
  const Value& contents() const { return contents_; }
  void store(Translator& translator, Value contents);
  void replaceRealized(Value contents) { contents_ = std::move(contents); }

 private:
  Value contents_;
};

class UserFunctionVariable : public VariableTracker {
 public:
  ARMATURE_KIND(UserFunction)
  // An existing function. Its parts are read from the function object when they are needed.
  UserFunctionVariable(CodePtr code, DictVariable* globals, const Source* source,
                       BorrowedRef<> existing)
      : VariableTracker(VariableKind::UserFunction, &PyFunction_Type, source, existing),
        code(std::move(code)),
        globals(globals) {}
  // One that MAKE_FUNCTION made.
  UserFunctionVariable(CodePtr code, DictVariable* globals)
      : VariableTracker(VariableKind::UserFunction, &PyFunction_Type),
        code(std::move(code)),
        globals(globals) {}

  const CodePtr code;
  DictVariable* const globals;
  // Null where there are none. Tuple and dict variables (or constant tuples). For an existing
  // function they are filled in by the builder with lazy elements.
  Value defaults;
  Value keywordDefaults;
  Value annotations;
  llvm::SmallVector<NewCellVariable*, 2> closure;
  // What it has chosen as its builtins, if the trace has made its globals; they hold it.
  DictVariable* builtins = nullptr;
  // Of a function that the trace made: what it has put where descriptors of function look
  // (`__name__`, as functools.wraps does), and the __dict__. Made on demand. Trailed.
  DictVariable* members = nullptr;
  DictVariable* dict = nullptr;
};

// A callable with its first argument: Python methods, C methods ("abc".join), classmethods.
class BoundMethodVariable : public VariableTracker {
 public:
  ARMATURE_KIND(BoundMethod)
  BoundMethodVariable(PyTypeObject* type, Value function, Value self,
                      const Source* source = nullptr, BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::BoundMethod, type, source, existing),
        function(std::move(function)),
        self(std::move(self)) {}
  const Value function;
  const Value self;
};

// What the interpreter keeps of a suspended frame.
class SuspendedFrame {
 public:
  virtual ~SuspendedFrame() = default;
};

class GeneratorVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Generator)
  explicit GeneratorVariable(std::unique_ptr<SuspendedFrame> frame, const Source* source = nullptr,
                             BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Generator, &PyGen_Type, source, existing),
        frame(std::move(frame)) {}
  std::unique_ptr<SuspendedFrame> frame;
  enum class State : uint8_t { Created, Suspended, Running, Finished };
  State state = State::Created;  // trailed
  Value returned;                // what the finished frame returned; trailed
};

// What __next__ gives when the frame, run by an instruction, has yielded, returned or raised: the
// rest of gen_send_ex. Where it has returned, StopIteration is pending.
Value leaveGenerator(Translator& translator, const Value& generator, Value result);
// _PyGen_FetchStopIterationValue: what an iterator has returned that is at its end, if that is not
// known. False: another exception is pending.
bool takeStopIteration(Translator& translator, Value& returned);
// The operand of OnReturn::EndDelegation's; null with an exception pending that it does not take.
Value endDelegation(Translator& translator, Value item);

class SuperVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Super)
  SuperVariable(Value startClass, Value self, PyTypeObject* selfType)
      : VariableTracker(VariableKind::Super, &PySuper_Type),
        startClass(std::move(startClass)),
        self(std::move(self)),
        selfType(selfType) {}
  const Value startClass;  // lookups begin after this class in the MRO of selfType
  const Value self;
  PyTypeObject* const selfType;
};

}  // namespace armature
