// Code as text and as JSON.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bytecode/json.h"
#include "core/constant.h"
#include "core/describe.h"
#include "tests/bytecode/helpers.h"

namespace armature::testing {
namespace {

TEST(Printer, ShowsRegionsAndMeanings) {
  const CodePtr code = lifted(R"(
def outer(free):
    def f(argument):
        try:
            return free.name
        except:
            pass
    return f
f = outer(1)
)");
  EXPECT_EQ(toString(*code),
            "      0  COPY_FREE_VARS  1\n"
            "      1  RESUME  0   # line 3\n"
            "      2  NOP   # line 4\n"
            "      3  LOAD_DEREF  1 (free)   # line 5\n"
            "      4  LOAD_ATTR  0 (name)\n"
            "      5  RETURN_VALUE\n"
            ">>    6  PUSH_EXC_INFO\n"
            "      7  POP_TOP   # line 6\n"
            "      8  POP_EXCEPT   # line 7\n"
            "      9  LOAD_CONST  0 (None)\n"
            "     10  RETURN_VALUE\n"
            ">>   11  COPY  3\n"
            "     12  POP_EXCEPT\n"
            "     13  RERAISE  1\n"
            "exception regions:\n"
            "  [3, 5) -> 6, depth 0\n"
            "  [6, 8) -> 11, depth 1, lasti\n");
}

TEST(Printer, ShowsConstantsTheSameEveryTime) {
  const auto shown = [](const char* expression) { return constantText(evaluate(expression)); };
  EXPECT_EQ(shown("(1, 'two', b'3', 4.5, None, ..., (True,))"),
            "(1, 'two', b'3', 4.5, None, Ellipsis, (True,))");
  EXPECT_EQ(shown("frozenset({'c', 'a', 'b'})"), "frozenset({'a', 'b', 'c'})");
  EXPECT_EQ(shown("(lambda: 1).__code__"), "<code <lambda>>");
  EXPECT_EQ(shown("object()"), "<object object>");
  EXPECT_EQ(shown("type('Loud', (), {'__repr__': lambda self: 1 / 0})()"), "<Loud object>");
  EXPECT_EQ(shown("1 << 100000"), "<int too long to print>");
  EXPECT_EQ(shown("'é' * 500"), shown("'é' * 501"));
  EXPECT_FALSE(PyErr_Occurred());
}

TEST(Printer, SurvivesIncompleteCode) {
  Code code;
  code.instructions = {
      {Opcode::LOAD_CONST, 3}, {Opcode::LOAD_FAST, -1}, {Opcode::CALL, 1, 9}, {Opcode::JUMP, 77}};
  EXPECT_EQ(toString(code),
            "      0  LOAD_CONST  3 (?)\n"
            "      1  LOAD_FAST  -1 (?)\n"
            "      2  CALL  1 (names ?)\n"
            "      3  JUMP  77\n");
  EXPECT_EQ(toJson(code)["instructions"].size(), 4u);
}

TEST(Json, HoldsEverything) {
  const CodePtr code = lifted("def f(x, *, k):\n    return len(x, k=k)\n");
  const nlohmann::ordered_json json = toJson(*code);
  EXPECT_EQ(json["name"], "f");
  EXPECT_EQ(json["argument_count"], 1);
  EXPECT_EQ(json["keyword_only_count"], 1);
  EXPECT_EQ(json["locals"].dump(), R"([{"name":"x","kind":"local"},{"name":"k","kind":"local"}])");
  EXPECT_EQ(json["constants"].dump(), R"json(["None","('k',)"])json");
  EXPECT_EQ(json["instructions"][0].dump(),
            R"({"opcode":"RESUME","argument":0,"position":[1,1,0,0]})");
  EXPECT_EQ(json["instructions"][5].dump(),
            R"({"opcode":"CALL","argument":2,"keyword_names":1,"position":[2,2,11,22]})");
  EXPECT_EQ(json["exception_regions"].size(), 0u);
}

}  // namespace
}  // namespace armature::testing
