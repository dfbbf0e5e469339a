// lift, lower, and back.

#include <gtest/gtest.h>

#include <algorithm>

#include "bytecode/code_units.h"
#include "tests/bytecode/helpers.h"

namespace armature::testing {
namespace {

std::string attribute(BorrowedRef<PyCodeObject> code, const char* name) {
  const auto value =
      Ref<>::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code.get()), name));
  return text(value);
}

// Lifts and lowers; everything about the result must be as CPython's compiler made it.
Ref<PyCodeObject> expectRoundTrip(const std::string& source) {
  const Ref<PyCodeObject> original = codeOf(source);
  const CodePtr code = lift(original);
  EXPECT_TRUE(code);
  if (!code) return nullptr;
  EXPECT_EQ(code->positions.size(), code->instructions.size());
  EXPECT_EQ(code->regionOf.size(), code->instructions.size());
  Ref<PyCodeObject> result = lowered(*code);
  if (!result) return nullptr;
  for (const char* name :
       {"co_code", "co_linetable", "co_exceptiontable", "co_stacksize", "co_varnames",
        "co_cellvars", "co_freevars", "co_names", "co_consts", "co_flags", "co_nlocals",
        "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_firstlineno", "co_name",
        "co_qualname", "co_filename"}) {
    EXPECT_EQ(attribute(result, name), attribute(original, name)) << name;
  }
  return result;
}

size_t count(const Code& code, Opcode opcode) {
  return static_cast<size_t>(
      std::count_if(code.instructions.begin(), code.instructions.end(),
                    [&](const Instruction& each) { return each.opcode == opcode; }));
}

TEST(RoundTrip, KeepsFunctionsOfAllShapes) {
  expectRoundTrip("def f(): pass");
  expectRoundTrip("def f(a, b, /, c, *d, e, g=1, **h): return a, b, c, d, e, g, h");
  expectRoundTrip(R"(
def f(argument, *arguments):
    cell = [x for x in arguments]
    return lambda: (argument, arguments, cell)
)");
  expectRoundTrip(R"(
def outer(one, two):
    def f(three):
        nonlocal one
        one = three
        return lambda: (one, two, three)
    return f
f = outer(1, 2)
)");
  expectRoundTrip(R"(
def f(path, **options):
    try:
        with open(path) as file, open(path) as other:
            for number, line in enumerate(file, start=1):
                while line and not (yield number, line):
                    line = line[1:] if line[0] is None else f'{line!r:>{number}}'
                else:
                    continue
    except (OSError, ValueError) as error:
        raise KeyError from error
    finally:
        del options
)");
  expectRoundTrip(R"(
async def f(things):
    async with things as all:
        async for thing in all:
            try:
                await thing
                yield [x async for x in thing if await x]
            except* ValueError as group:
                print(*group, **group)
)");
  expectRoundTrip(R"(
def f(x):
    match x:
        case [1, *rest] | {'rest': rest}: return rest
        case complex(real=r) if r > 0: return r
        case {'a': a, **others}: return a, others
)");
}

TEST(RoundTrip, ExtendsArguments) {
  for (const int names : {255, 256, 257, 300}) {
    std::string source = "def f(x):\n";
    for (int i = 0; i < names; ++i) {
      const std::string number = std::to_string(i + 1000);
      source += "    x.a" + number + " = g" + number + "(" + number + ", k=x)\n";
    }
    expectRoundTrip(source + "    return x\n");
  }
  std::string large = "def f():\n    return [";
  for (int i = 0; i < 65540; ++i) large += std::to_string(i + 300) + (i % 100 == 0 ? ",\n" : ",");
  // A list display of constants would be one constant, but for the call at its end.
  const Ref<PyCodeObject> code = expectRoundTrip(large + "len('')]");
  const Ref<> result = call(code);
  ASSERT_TRUE(result);
  EXPECT_EQ(PyList_GET_SIZE(result.get()), 65541);
  EXPECT_EQ(text(PyList_GET_ITEM(result.get(), 65539)), "65839");
}

// A loop with a body of that many units, and a branch around it.
TEST(RoundTrip, ExtendsJumpsInBothDirections) {
  for (int statements = 45; statements < 60; ++statements) {
    std::string source = "def f(n):\n    t = 0\n    while n:\n        n -= 1\n";
    for (int i = 0; i < statements; ++i) source += "        t += n\n";
    const Ref<PyCodeObject> code = expectRoundTrip(source + "    return t\n");
    EXPECT_EQ(text(call(code, {evaluate("3")})), std::to_string(3 * statements));
  }
  std::string source =
      "def f(n):\n    t = 0\n    for i in range(n):\n        if i == 1: continue\n";
  for (int i = 0; i < 17000; ++i) source += "        t += i\n";
  const Ref<PyCodeObject> code = expectRoundTrip(source + "    return t\n");
  EXPECT_EQ(text(call(code, {evaluate("3")})), std::to_string(2 * 17000));
}

TEST(RoundTrip, LandsJumpsOnExtendedInstructions) {
  // Jumps that land on EXTENDED_ARG: the targets load constants beyond 255.
  std::string source = "def f(x):\n    y = [";
  for (int i = 0; i < 300; ++i) source += "x + " + std::to_string(1000 + i) + ", ";
  source +=
      "]\n    while x:\n        x = 90000 if x == 1 else 90001\n        if x > 1: return 90002\n";
  expectRoundTrip(source + "    return 90003\n");
}

TEST(RoundTrip, KeepsNestedRegions) {
  const std::string source = R"(
def f(x):
    try:
        try:
            try:
                return 1 / x
            finally:
                x = x + 1
        except ZeroDivisionError:
            return 'inner', 1 / (x - 1)
    except ArithmeticError as error:
        return 'outer', type(error).__name__, x
)";
  const Ref<PyCodeObject> code = expectRoundTrip(source);
  EXPECT_EQ(text(call(code, {evaluate("0")})), "('outer', 'ZeroDivisionError', 1)");
  EXPECT_EQ(text(call(code, {evaluate("4")})), "0.25");
}

TEST(RoundTrip, KeepsTheLineOfKeywordNames) {
  // The names are on another line than the call.
  const std::string source =
      "def f(x):\n    return (x\n        .y(\n            a=1,\n            b=2))\n";
  const Ref<PyCodeObject> original = codeOf(source);
  expectRoundTrip(source);
  EXPECT_EQ(count(*lift(original), Opcode::NOP), 1u);
}

TEST(RoundTrip, InterruptsLoopsButNotDelegation) {
  const Ref<PyCodeObject> code = expectRoundTrip("def f(x):\n    while x: yield from x\n");
  EXPECT_EQ(text(evaluate("__import__('dis').opmap['JUMP_BACKWARD_NO_INTERRUPT']")), "134");
  EXPECT_NE(attribute(code, "co_code").find("\\x86"), std::string::npos);
}

TEST(Lift, SplitsAndFolds) {
  const CodePtr code = lifted("def f(x):\n    return len(x, key=x) if x else None\n");
  EXPECT_EQ(toString(*code),
            "      0  RESUME  0   # line 1\n"
            "      1  LOAD_FAST  0 (x)   # line 2\n"
            "      2  POP_JUMP_IF_FALSE  9\n"
            "      3  PUSH_NULL\n"
            "      4  LOAD_GLOBAL  0 (len)\n"
            "      5  LOAD_FAST  0 (x)\n"
            "      6  LOAD_FAST  0 (x)\n"
            "      7  CALL  2 (names ('key',))\n"
            "      8  JUMP  10\n"
            ">>    9  LOAD_CONST  0 (None)\n"
            ">>   10  RETURN_VALUE\n");
  EXPECT_EQ(toString(*code, 7), "      7  CALL  2 (names ('key',))");
}

TEST(Lift, UndoesSpecialization) {
  const Ref<PyCodeObject> code = codeOf(R"(
def f(x, y=2.0):
    for i in range(100):
        x = x + i
        y = y * 2.0
        z = [x, len('x')]
        z[0]
    return x
)");
  const CodePtr fresh = lift(codeOf(R"(
def f(x, y=2.0):
    for i in range(100):
        x = x + i
        y = y * 2.0
        z = [x, len('x')]
        z[0]
    return x
)"));
  for (int i = 0; i < 10; ++i) call(code, {evaluate("1"), evaluate("2.0")});
  EXPECT_EQ(lift(code)->instructions, fresh->instructions);
}

TEST(Lift, HappensOncePerCodeObject) {
  Ref<PyCodeObject> code = codeOf("def f(): return 1");
  CodePtr first = lift(code);
  EXPECT_EQ(lift(code), first);
  EXPECT_EQ(first->original.get(), code.get());
  const auto weak =
      Ref<>::steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(code.get()), nullptr));
  code = nullptr;
  EXPECT_NE(PyWeakref_GetObject(weak.get()), Py_None);  // the lifted form keeps it
  EXPECT_EQ(toString(*first), toString(*lift(first->original)));
  first = nullptr;
  PyGC_Collect();                                       // f and its globals hold each other
  EXPECT_EQ(PyWeakref_GetObject(weak.get()), Py_None);  // but not for ever
}

// f's code object, with some attributes replaced.
Ref<PyCodeObject> malformed(const std::string& replacement) {
  return codeOf("def g(x): return x\ndef f(): pass\nf.__code__ = g.__code__.replace(" +
                replacement + ")\n");
}

TEST(Lift, RefusesMalformedCode) {
  for (const char* replacement : {
           "co_code=b'\\x00\\x00'",  // a cache of nothing
           "co_code=b'\\xff\\x00'",  // no opcode
           "co_code=b'\\x90\\x01'",  // EXTENDED_ARG of nothing
           "co_code=b'\\x90\\x01' * 4 + b'\\x64\\x00\\x53\\x00'",
           "co_code=b'\\x90\\xff' * 3 + b'\\x64\\xff\\x53\\x00'",
           "co_code=b'\\x64\\x63\\x53\\x00'",            // no such constant
           "co_code=b'\\x7c\\x63\\x53\\x00'",            // no such local
           "co_code=b'\\x6e\\x00'",                      // a jump to the end
           "co_code=b'\\x8c\\x09'",                      // a jump before the start
           "co_code=b'\\xac\\x00\\x53\\x00'",            // KW_NAMES without a call
           "co_exceptiontable=b'\\x01'",                 //
           "co_exceptiontable=b'\\x80\\x09\\x00\\x00'",  // beyond the end
           "co_exceptiontable=b'\\x80\\x01\\x09\\x00'",  // no such handler
           "co_linetable=b'\\x01'",                      //
       }) {
    EXPECT_FALSE(lift(malformed(replacement))) << replacement;
    EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_ValueError)) << replacement;
    PyErr_Clear();
  }
}

TEST(Lift, RefusesUnitsWithoutTheirCaches) {
  // Not by way of a code object: CPython itself would write beyond the end of its copy.
  native::DecodedUnits decoded;
  EXPECT_FALSE(native::decodeUnits({"\x74\x00", 2}, decoded));
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_ValueError));
  PyErr_Clear();
}

}  // namespace
}  // namespace armature::testing
