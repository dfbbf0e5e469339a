// Whatever lift() and lower() are given, they answer or raise ValueError: random changes to good
// input, the same ones in every run. Worth most under the sanitizers.

#include <gtest/gtest.h>

#include <random>

#include "bytecode/code_units.h"
#include "bytecode/exception_table.h"
#include "bytecode/liveness.h"
#include "bytecode/location_table.h"
#include "tests/bytecode/helpers.h"

namespace armature::testing {
namespace {

const char* const source = R"(
def outer(free):
    def f(argument, *others, key=1, **options):
        cell = [free for free in others if free and key]
        try:
            with argument(key=cell, **options) as opened, free:
                for item in opened:
                    if item is None: continue
                    yield item.attribute, f'{item!r:>{key}}', lambda: (cell, argument, free)
        except (ValueError, *others) as error:
            raise error.__class__(1, 2, x=3) from None
        finally:
            del options
        yield from cell
    return f
f = outer(1)
)";

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  int32_t below(size_t count) {
    return static_cast<int32_t>(std::uniform_int_distribution<size_t>(0, count - 1)(random_));
  }

  int32_t number() {
    static const int32_t interesting[] = {-1, 0,   1,   2,     3,         4,         7,
                                          15, 255, 256, 65536, INT32_MAX, INT32_MIN, 1 << 24};
    return below(2) == 0 ? interesting[below(std::size(interesting))] : below(40);
  }

  void change(Code& code) {
    Instruction& instruction = code.instructions[below(code.instructions.size())];
    switch (below(9)) {
      case 0:
        instruction.opcode = static_cast<Opcode>(below(opcodeCount));
        break;
      case 1:
      case 2:
        instruction.argument = number();
        break;
      case 3:
        instruction.names = number();
        break;
      case 4:
        std::swap(instruction, code.instructions[below(code.instructions.size())]);
        break;
      case 5:
        changeRegion(code.regions[below(code.regions.size())]);
        break;
      case 6:
        code.locals[below(code.locals.size())].kind = static_cast<LocalKind>(below(3));
        break;
      case 7:
        code.positions[below(code.positions.size())] = {number(), number(), number(), number()};
        break;
      case 8:
        changeHeader(code);
        break;
    }
  }

  std::string changed(std::string bytes) {
    for (int times = below(3) + 1; times > 0; --times) {
      bytes[below(bytes.size())] = static_cast<char>(below(256));
    }
    if (below(4) == 0) bytes.resize(below(bytes.size()));
    return bytes;
  }

 private:
  static constexpr size_t opcodeCount = 0
#define OPCODE(name, kind) +1
#include "bytecode/opcodes.def"
      ;

  void changeRegion(ExceptionRegion& region) {
    int32_t* const fields[] = {&region.start, &region.end, &region.target, &region.depth};
    *fields[below(std::size(fields))] = number();
  }

  void changeHeader(Code& code) {
    int32_t* const fields[] = {&code.argumentCount, &code.positionalOnlyCount,
                               &code.keywordOnlyCount, &code.flags, &code.firstLine};
    *fields[below(std::size(fields))] = number();
  }

  std::mt19937 random_;
};

void expectValueErrorAtMost(unsigned seed) {
  if (!PyErr_Occurred()) return;
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_ValueError)) << "seed " << seed;
  PyErr_Clear();
}

TEST(Mutation, LowersOrRefuses) {
  const CodePtr original = lifted(source);
  int accepted = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    Mutator mutator(seed);
    Code code = *original;
    for (int times = mutator.below(3) + 1; times > 0; --times) mutator.change(code);
    const Ref<PyCodeObject> result = lower(code);
    EXPECT_EQ(!result, PyErr_Occurred() != nullptr);
    expectValueErrorAtMost(seed);
    toString(code);
    if (!result) continue;
    ++accepted;
    Liveness(code).liveBefore(0);
    EXPECT_TRUE(lift(result)) << "seed " << seed;
    expectValueErrorAtMost(seed);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(Mutation, DecodesOrRefuses) {
  const Ref<PyCodeObject> original = codeOf(source);
  const std::string code = bytes(Ref<>::steal(PyCode_GetCode(original.get())));
  for (unsigned seed = 0; seed < 20000; ++seed) {
    native::DecodedUnits decoded;
    if (native::decodeUnits(Mutator(seed).changed(code), decoded)) {
      const std::vector<Position> positions(decoded.instructions.size());
      std::vector<Instruction> instructions;
      std::vector<int32_t> origin;
      native::toCanonical(decoded.instructions, positions, decoded.isTarget, instructions, origin);
      EXPECT_EQ(instructions.size(), origin.size());
    }
    expectValueErrorAtMost(seed);
  }
}

TEST(Mutation, ReadsTablesOrRefuses) {
  const Ref<PyCodeObject> original = codeOf(source);
  for (unsigned seed = 0; seed < 20000; ++seed) {
    Mutator mutator(seed);
    parseExceptionTable(mutator.changed(bytes(original->co_exceptiontable)));
    const auto positions =
        parseLocationTable(mutator.changed(bytes(original->co_linetable)), mutator.number(), 300);
    EXPECT_TRUE(!positions || positions->size() == 300);
  }
}

}  // namespace
}  // namespace armature::testing
