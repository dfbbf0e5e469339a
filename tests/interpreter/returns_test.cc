// Functions that are traced to their end: calls, exceptions, generators, argument errors. Each
// program returns a string, so that the trace's result is a constant.
#include <gtest/gtest.h>

#include <string>

#include "tests/interpreter/trace.h"

namespace armature {
namespace {

struct Program {
  const char* name;
  const char* source;
};

const Program kPrograms[] = {
    {"Loops", R"(
def f(n):
    text = ''
    for i in range(n):
        if i == 2: continue
        if i == 5: break
        text += str(i)
    else:
        text += 'else'
    while n > 0:
        n -= 3
    return f'{text} {n}'
arguments = (7,)
)"},
    {"FramesOfCalls", R"(
def inner(a, b=2, *rest, c, **more): return repr((a, b, rest, c, sorted(more.items())))
def middle(*args, **kwargs): return inner(*args, c=3, **kwargs) + inner(0, c=1)
def f(x): return middle(x) + middle(x, 1, 5, 6, d=4, e=5)
arguments = ('x',)
)"},
    {"Closures", R"(
def f(n):
    total = 0
    def add(k):
        nonlocal total
        total += k
        return lambda: f'{total}{k}'
    made = [add(i) for i in range(n)]
    return ' '.join(m() for m in made)
arguments = (3,)
)"},
    {"UnwindingThroughFrames", R"(
def raises(kind): raise kind('inside')
def passes(kind, log):
    try:
        raises(kind)
    except ValueError:
        log.append('not here')
    finally:
        log.append('finally')
def f(n):
    log = []
    try:
        passes(KeyError, log)
    except LookupError as error:
        log.append(f'{type(error).__name__} {error} {error.__context__}')
    return repr(log)
arguments = (1,)
)"},
    {"ContextOfAnException", R"(
def f(n):
    try:
        try:
            raise KeyError('first')
        except KeyError:
            raise ValueError('second')
    except ValueError as error:
        return f'{error} after {error.__context__!r} from {error.__cause__!r}'
)"},
    {"ReRaiseAndElse", R"(
def f(n):
    log = ''
    for kind in (KeyError, None, ValueError):
        try:
            try:
                if kind: raise kind(1)
            except KeyError:
                log += 'k'
                raise
            else:
                log += 'e'
            finally:
                log += 'f'
        except Exception as error:
            log += type(error).__name__
    return log
arguments = (1,)
)"},
    {"FinallyReturns", R"(
def g(log):
    try:
        return 'try'
    finally:
        log.append('finally')
def f(n):
    log = []
    return g(log) + repr(log)
arguments = (1,)
)"},
    {"StopOfAGenerator", R"(
def inner():
    got = yield 'a'
    yield repr(got)
    return 'returned'
def outer():
    value = yield from inner()
    yield value
def f(n):
    generator = outer()
    return next(generator) + ' '.join(generator) + next(generator, 'over')
)"},
    {"UnboundLocal", R"(
def f(n):
    try:
        del n
        return n
    except UnboundLocalError as error:
        return str(error)
arguments = (1,)
)"},
    {"DeepCalls", R"(
def down(n): return '' if n == 0 else down(n - 1) + 'x'
def f(n): return down(n)
arguments = (200,)
)"},
    {"UnpackingErrors", R"(
def f(n):
    text = ''
    for values in ((1,), (1, 2, 3)):
        try:
            a, b = values
        except ValueError as error:
            text += str(error)
    return text
arguments = (1,)
)"},
};

class ReturnsTest : public testing::TestWithParam<Program> {};

TEST_P(ReturnsTest, WhatPythonReturns) {
  std::string program = GetParam().source;
  if (program.find("arguments =") == std::string::npos) program += "arguments = (0,)\n";
  Trace trace(program);
  ASSERT_EQ(trace.outcome().kind, Outcome::Kind::Return)
      << trace.outcome().reason->gbType << ": " << trace.outcome().reason->context;
  EXPECT_FALSE(trace.outcome().reason);
  EXPECT_FALSE(trace.translator().exceptionPending());
  EXPECT_EQ(Trace::text(trace.outcome().result), trace.plain());
}

INSTANTIATE_TEST_SUITE_P(Programs, ReturnsTest, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

// Calls that do not fit their function raise CPython's TypeError, word for word.
struct BadCall {
  const char* signature;
  const char* call;
};

const BadCall kBadCalls[] = {
    {"a", "g()"},
    {"a, b", "g()"},
    {"a, b, c", "g()"},
    {"a, b", "g(1)"},
    {"a", "g(1, 2)"},
    {"", "g(1)"},
    {"a, b=2", "g(1, 2, 3)"},
    {"a, *, k", "g(1)"},
    {"a, *, k, l", "g(1)"},
    {"a, *, k=1", "g(1, 2)"},
    {"a, *, k=1", "g(1, 2, k=3)"},
    {"a", "g(1, a=2)"},
    {"a", "g(b=2)"},
    {"a", "g(1, b=2)"},
    {"a, /", "g(a=1)"},
    {"a, b, /, c", "g(1, b=2, c=3)"},
    {"a, /, **more", "g(a=1)"},
    {"*rest, k", "g(1, 2)"},
    {"a", "g(*(1, 2))"},
    {"a", "g(**{'a': 1, 'b': 2})"},
    {"a", "g(1, **{'a': 2})"},
};

class ArgumentBindingTest : public testing::TestWithParam<BadCall> {};

TEST_P(ArgumentBindingTest, RaisesPythonsOwnError) {
  Trace trace(std::string("def g(") + GetParam().signature +
              "): return 'called'\n"
              "def f(n):\n"
              "    try:\n"
              "        return " +
              GetParam().call +
              "\n"
              "    except TypeError as error:\n"
              "        return str(error)\n"
              "arguments = (1,)\n");
  ASSERT_EQ(trace.outcome().kind, Outcome::Kind::Return)
      << trace.outcome().reason->gbType << ": " << trace.outcome().reason->context;
  EXPECT_EQ(Trace::text(trace.outcome().result), trace.plain());
  EXPECT_NE(trace.plain(), "'called'");
}

INSTANTIATE_TEST_SUITE_P(Calls, ArgumentBindingTest, testing::ValuesIn(kBadCalls));

TEST(InstructionTranslator, CountsInstructionsAndKeepsTheTrailShort) {
  Trace trace(R"(
def f(n):
    total, seen = 0, {}
    for i in range(n):
        seen[i % 7] = i
        total += i
    return total
arguments = (20000,)
)");
  ASSERT_EQ(trace.outcome().kind, Outcome::Kind::Return);
  EXPECT_EQ(Trace::text(trace.outcome().result), "199990000");
  EXPECT_GT(trace.translator().instructionCount(), 200000u);
  EXPECT_LT(trace.translator().trail.size(), 100u);
}

// The objects that the traced program made, and those that it was given, live no longer than the
// trace.
TEST(InstructionTranslator, LeavesNothingAlive) {
  const char* program = R"(
import sys, weakref
class Thing:
    def __init__(self, value): self.value = value
def work(thing, fail):
    made = [thing, {'thing': thing}, (thing,), lambda: thing]
    def generate():
        yield thing
        yield made
    first = next(generate())
    if fail == 'break': print(end='')
    if fail == 'raise': raise ValueError(thing)
    return [first, made]
def f(thing, fail): return work(thing, fail)
)";
  for (const char* how : {"'return'", "'break'", "'raise'"}) {
    Ref<> weak;
    {
      Trace trace(std::string(program) + "arguments = (Thing(1), " + how +
                  ")\nweak = weakref.ref(arguments[0])\n");
      weak = Ref<>::create(trace.named("weak"));
      EXPECT_EQ(trace.outcome().kind == Outcome::Kind::Return, std::string(how) == "'return'");
      EXPECT_NE(PyWeakref_GetObject(weak.get()), Py_None);
      PyDict_Clear(trace.globals());
    }
    PyGC_Collect();
    EXPECT_EQ(PyWeakref_GetObject(weak.get()), Py_None) << how;
  }
}

}  // namespace
}  // namespace armature
