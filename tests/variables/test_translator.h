// A translator without an interpreter: enough for tests of variables by themselves.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "variables/translator.h"

namespace armature {

class TestTranslator : public Translator {
 public:
  TestTranslator();

  // What stands for a real object that the trace makes: lists, dicts, sets and tuples become new
  // variables, with all that is in them; anything else must be a constant.
  Value traced(PyObject* object);
  // The real object that a value stands for, made anew. Lazy values are realized.
  Ref<> real(const Value& value);
  // An input: the object as it would be found in the local variable `name`.
  Value input(const char* name, PyObject* object);

  // The pending exception as "TypeError: message", which is taken; "" if there is none.
  std::string takeError();
  // The guards as "TYPE L['x']", one a line.
  std::string guardText() const;

  Value callUserFunction(UserFunctionVariable* function, CallArguments& arguments) override;
  void forEachPart(VariableTracker*, llvm::function_ref<void(const Value&)>) override {}
  Value runBody(UserFunctionVariable*, const Value&) override { std::abort(); }
  void onReturn(Continuation) override { std::abort(); }
  Value existingGenerator(const Source*, BorrowedRef<>) override { return Value(); }
  Value resumeGenerator(GeneratorVariable* generator, const Value& sent, bool tail) override;
  Value throwInto(GeneratorVariable* generator, llvm::ArrayRef<Value> thrown, bool tail) override;
  bool closeGenerator(GeneratorVariable* generator) override;
  Value handledInTrace() const override { return Value(); }
  Value handledByCaller() override { return Value::none(); }
  Value runningFirstArgument() override;
  NewCellVariable* runningClassCell() override;
  bool isHeldByFrames(const Value& object) override;
  void holdValuesForFailure() override {}
  ProgramLocation location() const override { return {}; }
  void noteFramesInBody() override {}
  DictVariable* runningGlobals() override;
};

// Python's value of an expression, and its repr(); both abort the test program on an exception.
Ref<> evaluate(const std::string& expression);
std::string repr(PyObject* object);

}  // namespace armature
