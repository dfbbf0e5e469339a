#include "codegen/py_codegen.h"

#include <gtest/gtest.h>

#include <string>

#include "codegen/plain_function.h"
#include "tests/codegen/generated_code.h"

namespace armature {
namespace {

struct Program {
  const char* name;
  const char* source;
};

const Program kPrograms[] = {
    {"NewContainers", R"(
def f(a):
    shared = [a]
    return shared, {'k': shared, a: (shared, a)}, {1}, slice(a, None), shared
arguments = (3,)
)"},
    {"CyclesOfNewObjects", R"(
def f(a):
    items = [a]
    table = {'items': items}
    items.append(table)
    items.append(items)
    return items, table
arguments = (3,)
)"},
    {"ChangedArguments", R"(
def f(items, table, values):
    items.append(items[0])
    items[0] = 'first'
    table['new'] = items
    del table['old']
    values.add(3)
    return len(items)
arguments = ([1, 2], {'old': 0, 'kept': 1}, {1})
)"},
    {"ChangedGlobalsAndAttributes", R"(
class Point:
    def __init__(self, x): self.x = x
    def __repr__(self): return f'Point({self.__dict__})'
state = [Point(1)]
counter = 0
def f(point):
    global counter, made
    counter += 1
    made = Point(counter)
    point.y = point.x + 1
    del point.x
    state.append(made)
    state[0].x = made
    return made is state[-1], counter
arguments = (Point(5),)
)"},
    {"ClosuresAndCells", R"(
def f(n):
    total = n
    def add(k):
        nonlocal total
        total += k
        return total
    add(1)
    return add.__name__, add(2), [g() for g in (lambda: total, lambda: n)]
arguments = (3,)
)"},
    {"AliasesOfAnArgument", R"(
def f(a):
    b = [a, a]
    b[0].append(1)
    return b, b[0] is a
arguments = ([],)
)"},
    {"BreakInTheMiddle", R"(
state = []
def f(n):
    made = [n]
    state.append('before')
    print('', end='')
    made.append(n + 1)
    state.append(made)
    return made, n
arguments = (3,)
)"},
    {"BreakWithAStack", R"(
def f(n):
    return [n, (n + 1, len(str(n)), print('', end='') or 'printed'), n * 2]
arguments = (3,)
)"},
    {"BreakInInlinedFunctions", R"(
state = []
def innermost(items):
    items.append('in')
    print('', end='')
    return items
def middle(items, n):
    return innermost(items) + [n]
def f(n):
    items = ['start']
    result = middle(items, n=n)
    return result, items, n
arguments = (3,)
)"},
    {"BreakAtAJump", R"(
def f(first, second, n):
    n += 1
    if first: n += 10
    if not second: n += 100
    return n, (first and n), (second or n)
import array
arguments = (array.array('b', [1]), array.array('b'), 1)
)"},
    {"BreakInATry", R"(
state = []
def f(n):
    n += 1
    state.append(n)
    try:
        state.append('try')
        print('', end='')
        raise KeyError(n)
    except KeyError as error:
        state.append(str(error))
    finally:
        state.append('finally')
    return n
arguments = (1,)
)"},
    {"BreakInALoop", R"(
def f(items):
    done = []
    for i, item in enumerate(items):
        done.append((i, item))
        print('', end='')
    return done
arguments = (['a', 'b'],)
)"},
    {"BreakAtAMethod", R"(
class File:
    def __init__(self): self.lines = []
    def __repr__(self): return f'File({self.lines})'
    def write(self, *lines):
        print('', end='')
        self.lines += lines
def f(file, n):
    file.write(n, n + 1)
    return file.write.__name__, n
arguments = (File(), 1)
)"},
    {"UncaughtException", R"(
state = []
def f(n):
    state.append(n)
    made = {'n': n}
    return made['missing']
arguments = (1,)
)"},
    {"BreakInAClosure", R"(
def make(scale):
    def f(n):
        m = n * scale
        print('', end='')
        return m * scale
    return f
f = make(3)
arguments = (2,)
)"},
};

class GeneratedCodeTest : public testing::TestWithParam<Program> {};

TEST_P(GeneratedCodeTest, DoesWhatPythonDoes) { EXPECT_EQ(difference(GetParam().source), ""); }

INSTANTIATE_TEST_SUITE_P(Programs, GeneratedCodeTest, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

std::string program(const char* body) {
  return std::string("def f(a, b):\n    ") + body + "\narguments = (3, [1])\n";
}

// Opcode names and arguments, one a line, without offsets, constants' texts and lines.
std::string opcodes(const GeneratedFunction& generated) {
  std::string text;
  for (const Instruction& instruction : generated.code().canonical->instructions)
    text += std::string(opcodeName(instruction.opcode)) + "\n";
  return text;
}

TEST(PyCodegen, ReturnsWithoutDetours) {
  EXPECT_EQ(opcodes(GeneratedFunction(program("return 7"))), "RESUME\nLOAD_CONST\nRETURN_VALUE\n");
  EXPECT_EQ(opcodes(GeneratedFunction(program("return b"))), "RESUME\nLOAD_FAST\nRETURN_VALUE\n");
  EXPECT_EQ(opcodes(GeneratedFunction(program("c = [a, b, a]; return c"))),
            "RESUME\nLOAD_FAST\nLOAD_FAST\nLOAD_FAST\nBUILD_LIST\nRETURN_VALUE\n");
}

TEST(PyCodegen, LooksAtNothingThatIsOnlyMoved) {
  GeneratedFunction generated(program("c = (b, a); return c[0]"));
  EXPECT_TRUE(generated.trace().translator().guards().empty());
  EXPECT_EQ(opcodes(generated), "RESUME\nLOAD_FAST\nRETURN_VALUE\n");
}

TEST(PyCodegen, TakesWhatIsNoArgumentAsCaptures) {
  GeneratedFunction generated(R"(
table = {'key': [1, 2]}
def f(n): return table['key']
arguments = (1,)
)");
  ASSERT_EQ(generated.code().captures.size(), 1u);
  EXPECT_EQ(generated.code().captures[0]->name(), "G['table']['key']");
  EXPECT_EQ(generated.call(), "[1, 2]");
}

TEST(PyCodegen, BearsTheFunctionsNameAndPlace) {
  GeneratedFunction generated("\n\ndef f(n): return n\narguments = (1,)\n");
  const PyCodeObject* code = generated.code().code.get();
  EXPECT_STREQ(PyUnicode_AsUTF8(code->co_name), "f");
  EXPECT_STREQ(PyUnicode_AsUTF8(code->co_filename), "<string>");
  EXPECT_EQ(code->co_firstlineno, 3);
}

TEST(PyCodegen, ResumesBehindTheBreakWithLiveLocals) {
  GeneratedFunction generated(R"(
def f(a, b, c):
    dead = a + 1
    alive = b + 1
    print('', end='')
    return alive, c
arguments = (1, 2, 3)
)");
  ASSERT_EQ(generated.resumed().size(), 1u);
  const EntryPoint& entry = generated.resumed()[0];
  // The result of print() is dropped at once; `alive` and `c` are locals.
  EXPECT_TRUE(entry.stackIsNull.empty());
  EXPECT_FALSE(entry.movesInputs);
  ASSERT_EQ(entry.locals.size(), 2u);
  EXPECT_STREQ(PyUnicode_AsUTF8(entry.code->locals[entry.locals[0]].name.get()), "c");
  EXPECT_STREQ(PyUnicode_AsUTF8(entry.code->locals[entry.locals[1]].name.get()), "alive");
  EXPECT_EQ(entry.code->instructions[entry.start - 1].opcode, Opcode::POP_TOP);
  EXPECT_EQ(generated.call(), "(3, 3)");
}

TEST(PyCodegen, MovesInputsThatMayEndBeforeTheirFrame) {
  GeneratedFunction generated(R"(
def f(a):
    b = [a + 1]
    print('', end='')
    a = None
    return b
arguments = (1,)
)");
  ASSERT_EQ(generated.resumed().size(), 1u);
  // `a` is a number in every call that the guards let in; the list is not read by another name.
  EXPECT_FALSE(generated.resumed()[0].movesInputs);
  GeneratedFunction unknown(R"(
def f(a):
    b = [a]
    print('', end='')
    a = None
    return b
arguments = (1,)
)");
  ASSERT_EQ(unknown.resumed().size(), 1u);
  // Nobody has looked at it: in another call it may be an object.
  EXPECT_TRUE(unknown.resumed()[0].movesInputs);
  GeneratedFunction rebound(R"(
def f(a):
    b = [a]
    print(b, end='')
    c = len(b)
    b = None
    return c
arguments = ('',)
)");
  ASSERT_EQ(rebound.resumed().size(), 1u);
  EXPECT_TRUE(rebound.resumed()[0].movesInputs);
  EXPECT_EQ(rebound.call(), "1");
}

TEST(PyCodegen, ResumesEachFrameInnermostFirst) {
  GeneratedFunction generated(R"(
def innermost(n): return print('', end='') or n
def middle(n): return innermost(n) + 1
def f(n): return middle(n) + 1
arguments = (1,)
)");
  ASSERT_EQ(generated.resumed().size(), 3u);
  EXPECT_STREQ(PyUnicode_AsUTF8(generated.resumed()[0].code->name.get()), "innermost");
  EXPECT_STREQ(PyUnicode_AsUTF8(generated.resumed()[1].code->name.get()), "middle");
  EXPECT_STREQ(PyUnicode_AsUTF8(generated.resumed()[2].code->name.get()), "f");
  EXPECT_EQ(generated.call(), "3");
}

TEST(PyCodegen, ResumesOnBothSidesOfAJump) {
  GeneratedFunction generated(R"(
def f(hostile):
    if hostile:
        return 'yes'
    return 'no'
arguments = (memoryview(b'a'),)
)");
  ASSERT_EQ(generated.resumed().size(), 2u);
  EXPECT_NE(generated.resumed()[0].start, generated.resumed()[1].start);
  EXPECT_EQ(generated.call(), "'yes'");
}

TEST(PyCodegen, HasNoCodeWhereNothingWasTraced) {
  GeneratedFunction generated("def f(n):\n    locals()\n    return n\narguments = (1,)\n");
  EXPECT_FALSE(generated.code().code);
  EXPECT_EQ(generated.code().unsupported, "nothing was traced before the break");
  EXPECT_FALSE(PyErr_Occurred());
}

TEST(PlainFunction, StartsInTheMiddle) {
  GeneratedFunction generated(R"(
def f(n):
    scale = n * 10
    return [scale, print('', end=''), n]
arguments = (4,)
)");
  ASSERT_EQ(generated.resumed().size(), 1u);
  PlainCode plain = plainCode(generated.resumed()[0], nullptr);
  ASSERT_TRUE(plain.code);
  EXPECT_TRUE(plain.freeVariables.empty());
  Ref<> function = plainFunction(plain, generated.trace().globals(), nullptr);
  ASSERT_TRUE(function);
  // The first item, what the call returned, the live local, and what lets go of them.
  Ref<> globals = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> holder =
      Ref<>::steal(PyRun_String("type('Holder', (list,), {'__invert__': list.clear})([None])",
                                Py_eval_input, globals.get(), globals.get()));
  ASSERT_TRUE(holder);
  Ref<> result = Ref<>::steal(
      PyObject_CallFunction(function.get(), "ssiO", "first", "called", 9, holder.get()));
  ASSERT_TRUE(result);
  EXPECT_EQ(PyList_GET_SIZE(holder.get()), 0);
  Ref<> text = Ref<>::steal(PyObject_Repr(result.get()));
  EXPECT_STREQ(PyUnicode_AsUTF8(text.get()), "['first', 'called', 9]");
}

// Neither the trace, nor the code, nor what it made outlive their owners.
TEST(PyCodegen, LeavesNothingAlive) {
  for (const char* last : {"return made", "print('', end=''); return made", "made['missing']"}) {
    Ref<> weak;
    {
      GeneratedFunction generated(std::string(R"(
import weakref
class Thing: pass
def f(thing):
    made = {'thing': thing, 'call': lambda: thing}
    made['self'] = made
    )") + last + "\narguments = (Thing(),)\nweak = weakref.ref(arguments[0])\n");
      weak = Ref<>::create(generated.trace().named("weak"));
      generated.call();
      EXPECT_NE(PyWeakref_GetObject(weak.get()), Py_None);
      PyDict_Clear(generated.trace().globals());
    }
    PyGC_Collect();
    EXPECT_EQ(PyWeakref_GetObject(weak.get()), Py_None) << last;
  }
}

}  // namespace
}  // namespace armature
