// The public interface alone: what it returns, what it refuses, and that nothing is thrown.
#include "armature/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace armature::api {
namespace {

class EngineTest : public testing::Test {
 protected:
  void run(const char* program) {
    names_ = Object::steal(PyDict_New());
    PyDict_SetItemString(names_.get(), "__builtins__", PyEval_GetBuiltins());
    Object done = Object::steal(PyRun_String(program, Py_file_input, names_.get(), names_.get()));
    if (!done) PyErr_Print();
    ASSERT_TRUE(done);
  }
  PyObject* named(const char* name) { return PyDict_GetItemString(names_.get(), name); }
  long integer(const char* name) { return PyLong_AsLong(named(name)); }

  Engine engine(Options options = {}) {
    Result<Engine> engine = Engine::create(std::move(options));
    EXPECT_TRUE(engine);
    return *engine;
  }
  Object compiled(const Engine& engine, const char* name) {
    Result<Object> result = engine.compile(named(name));
    EXPECT_TRUE(result);
    return *result;
  }

  void TearDown() override { EXPECT_FALSE(PyErr_Occurred()); }

  Object names_;
};

Object tuple(std::initializer_list<long> values) {
  Object result = Object::steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  Py_ssize_t i = 0;
  for (long value : values) PyTuple_SET_ITEM(result.get(), i++, PyLong_FromLong(value));
  return result;
}

TEST_F(EngineTest, CapturesWithoutRunning) {
  run(R"(
log = []
def f(a, b=1):
    log.append(a)
    return a + b
)");
  Engine engine = this->engine();
  Object compiled = this->compiled(engine, "f");
  Result<Outcome> outcome = engine.capture(compiled.get(), tuple({3}).get());
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Outcome::Kind::Whole);
  EXPECT_TRUE(outcome->graph.empty());
  EXPECT_FALSE(outcome->reason);
  EXPECT_GT(outcome->instructions, 0u);
  EXPECT_NE(outcome->bytecode.find("RETURN_VALUE"), std::string::npos) << outcome->bytecode;
  EXPECT_GT(outcome->guards.size(), 0u);
  EXPECT_FALSE(outcome->guards.program().empty());
  EXPECT_EQ(PyList_GET_SIZE(named("log")), 0);

  Object result = Object::steal(PyObject_Call(compiled.get(), tuple({3}).get(), nullptr));
  ASSERT_TRUE(result);
  EXPECT_EQ(PyLong_AsLong(result.get()), 4);
  EXPECT_EQ(PyList_GET_SIZE(named("log")), 1);
  Result<std::vector<Outcome>> all = engine.translations(compiled.get());
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 1u);
}

TEST_F(EngineTest, TakesKeywords) {
  run("def f(a, *, b): return a - b\nkeywords = {'b': 1}\nwrong = {'c': 1}");
  Engine engine = this->engine();
  Object compiled = this->compiled(engine, "f");
  EXPECT_TRUE(engine.capture(compiled.get(), tuple({3}).get(), named("keywords")));
  Result<Outcome> refused = engine.capture(compiled.get(), tuple({3}).get(), named("wrong"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().type, "TypeError");
  EXPECT_EQ(refused.error().message, "f() takes no such arguments");
}

TEST_F(EngineTest, SaysWhyAGraphBreaks) {
  run(R"(
def f(a):
    b = a + 1
    print('', end='')
    return b * 2
)");
  Engine engine = this->engine();
  Object compiled = this->compiled(engine, "f");
  Result<Outcome> outcome = engine.capture(compiled.get(), tuple({3}).get());
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Outcome::Kind::Broken);
  ASSERT_TRUE(outcome->reason);
  EXPECT_NE(outcome->reason->explanation.find("effect"), std::string::npos);
  EXPECT_EQ(outcome->reason->function, "f");
  EXPECT_EQ(outcome->reason->line, 4);
  Object result = Object::steal(PyObject_Call(compiled.get(), tuple({3}).get(), nullptr));
  EXPECT_EQ(PyLong_AsLong(result.get()), 8);
  // That of the start, and of where it goes on.
  EXPECT_EQ(engine.translations(compiled.get())->size(), 2u);
  EXPECT_TRUE(engine.reset(compiled.get()));
  EXPECT_EQ(engine.translations(compiled.get())->size(), 0u);
}

TEST_F(EngineTest, AnOutcomeOutlivesWhatItTellsOf) {
  run("def f(a): return a + 1");
  Outcome outcome;
  {
    Engine engine = this->engine();
    Object compiled = this->compiled(engine, "f");
    outcome = *engine.capture(compiled.get(), tuple({3}).get());
  }
  names_ = Object();
  PyGC_Collect();
  EXPECT_FALSE(outcome.guards.texts().empty());
  EXPECT_EQ(outcome.graph.text(), "");
  EXPECT_EQ(outcome.graph.operationCount(), 0u);
}

TEST_F(EngineTest, EachTranslationIsAnOutcomeOfItsOwn) {
  run("def f(a): return 'small' if a < 10 else 'big'");
  Engine engine = this->engine();
  Object compiled = this->compiled(engine, "f");
  Outcome first = *engine.capture(compiled.get(), tuple({3}).get());
  Outcome again = *engine.capture(compiled.get(), tuple({3}).get());
  Outcome other = *engine.capture(compiled.get(), tuple({30}).get());
  EXPECT_EQ(first.guards.texts(), again.guards.texts());
  EXPECT_EQ(first.bytecode, again.bytecode);
  EXPECT_NE(first.guards.texts(), other.guards.texts());
  EXPECT_EQ(engine.translations(compiled.get())->size(), 2u);
}

TEST_F(EngineTest, RefusesWithAnErrorAndNoException) {
  run("def f(a): return a\ndef broken(a):\n  print('', end='')\nnumber = 3");
  Options options;
  options.fullGraph = true;
  Engine engine = this->engine(options);
  Result<Object> noFunction = engine.compile(named("number"));
  ASSERT_FALSE(noFunction);
  EXPECT_EQ(noFunction.error().type, "TypeError");
  Object compiled = this->compiled(engine, "broken");
  Result<Outcome> outcome = engine.capture(compiled.get(), tuple({3}).get());
  ASSERT_FALSE(outcome);
  EXPECT_FALSE(outcome.error().message.empty());
  EXPECT_FALSE(engine.capture(named("f"), tuple({3}).get()));
  EXPECT_FALSE(engine.capture(compiled.get(), nullptr));
  EXPECT_FALSE(engine.capture(compiled.get(), named("number")));
  EXPECT_FALSE(engine.translations(named("f")));
  EXPECT_FALSE(engine.reset(named("number")));
  // Whoever wants it as a Python exception has it.
  noFunction.error().raise();
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_TypeError));
  PyErr_Clear();
}

TEST_F(EngineTest, EnginesHaveSettingsOfTheirOwn) {
  run("def f(a):\n  print('', end='')\n  return a");
  Options strict;
  strict.fullGraph = true;
  Engine lax = engine(), whole = engine(strict);
  Object first = compiled(lax, "f"), second = compiled(whole, "f");
  EXPECT_TRUE(lax.capture(first.get(), tuple({1}).get()));
  EXPECT_FALSE(whole.capture(second.get(), tuple({1}).get()));
}

TEST_F(EngineTest, TellsItsListenerOfItsOwnTranslations) {
  run("def f(a):\n  print('', end='')\n  return a");
  Engine heard = engine(), other = engine();
  std::vector<Outcome::Kind> kinds;
  heard.onTranslation([&](const Outcome& outcome) { kinds.push_back(outcome.kind); });
  Object first = compiled(heard, "f"), second = compiled(other, "f");
  for (const Object& each : {first, second, first})
    EXPECT_TRUE(Object::steal(PyObject_Call(each.get(), tuple({1}).get(), nullptr)));
  // The function's start, and where it goes on.
  EXPECT_EQ(kinds, (std::vector{Outcome::Kind::Broken, Outcome::Kind::Whole}));
  heard.onTranslation(nullptr);
  EXPECT_TRUE(heard.reset(first.get()));
  EXPECT_TRUE(Object::steal(PyObject_Call(first.get(), tuple({1}).get(), nullptr)));
  EXPECT_EQ(kinds.size(), 2u);
}

int ignore(PyObject*, PyFrameObject*, int, PyObject*) { return 0; }

TEST_F(EngineTest, LeavesWhatADebuggerWatchesToPython) {
  run("def f(a): return a");
  Options options;
  options.compileWhileTracing = true;
  Engine respectful = engine(), insistent = engine(options);
  Object first = compiled(respectful, "f"), second = compiled(insistent, "f");
  PyEval_SetTrace(ignore, nullptr);
  for (const Object& each : {first, second})
    EXPECT_TRUE(Object::steal(PyObject_Call(each.get(), tuple({1}).get(), nullptr)));
  PyEval_SetTrace(nullptr, nullptr);
  EXPECT_EQ(respectful.translations(first.get())->size(), 0u);
  EXPECT_EQ(insistent.translations(second.get())->size(), 1u);
}

TEST_F(EngineTest, GraphsAreRunAlone) {
  run(R"(
import numpy
def f(x): return numpy.sqrt(x) + x
x = numpy.full(3, 4.0)
arguments = (x,)
)");
  Engine engine = this->engine();
  Object compiled = this->compiled(engine, "f");
  Result<Outcome> outcome = engine.capture(compiled.get(), named("arguments"));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->graph.operationCount(), 2u);
  EXPECT_EQ(outcome->graph.inputCount(), 1u);
  EXPECT_NE(outcome->graph.text().find("sqrt"), std::string::npos);
  EXPECT_EQ(outcome->graph.json().front(), '{');
  Result<Object> function = outcome->graph.toFunction();
  ASSERT_TRUE(function);
  Object outputs = Object::steal(PyObject_CallObject(function->get(), named("arguments")));
  ASSERT_TRUE(outputs);
  Object text = Object::steal(PyObject_Str(PyTuple_GetItem(outputs.get(), 0)));
  EXPECT_STREQ(PyUnicode_AsUTF8(text.get()), "[6. 6. 6.]");
}

}  // namespace
}  // namespace armature::api
