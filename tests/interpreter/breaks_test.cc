// Where a graph break takes a trace back to, and how the frames stand there.
#include <gtest/gtest.h>

#include <string>

#include "tests/interpreter/trace.h"

namespace armature {
namespace {

constexpr Outcome::Kind kBreak = Outcome::Kind::Break;
constexpr Outcome::Kind kResumePlain = Outcome::Kind::ResumePlain;

TEST(Breaks, LeaveTheInstructionItsOperands) {
  Trace trace(R"(
def f(n):
    text = f'{n} times'
    print(text, 'end', sep='')
    return text
arguments = (3,)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  ASSERT_EQ(trace.outcome().frames.size(), 1u);
  const FrameState& frame = trace.innermost();
  EXPECT_EQ(trace.brokenAt(), Opcode::CALL);
  EXPECT_EQ(Trace::lineOf(frame), 4);
  // NULL, the callable, and three arguments.
  ASSERT_EQ(frame.stack.size(), 5u);
  EXPECT_FALSE(frame.stack[0]);
  EXPECT_EQ(Trace::text(frame.stack[1]), "<built-in function print>");
  EXPECT_EQ(Trace::text(frame.stack[2]), "'3 times'");
  EXPECT_EQ(Trace::text(frame.stack[4]), "''");
  EXPECT_EQ(Trace::local(frame, "text"), "'3 times'");
  EXPECT_FALSE(trace.translator().exceptionPending());
}

TEST(Breaks, SayWhereAndWhy) {
  Trace trace(R"(
def g(n):
    print(n)
def f(n):
    g(n)
arguments = (3,)
)");
  ASSERT_TRUE(trace.outcome().reason);
  const BreakReason& reason = *trace.outcome().reason;
  EXPECT_FALSE(reason.gbType.empty());
  EXPECT_FALSE(reason.explanation.empty());
  EXPECT_EQ(reason.function, "g");
  EXPECT_EQ(reason.line, 3);
  EXPECT_EQ(reason.filename, "<string>");
}

TEST(Breaks, OfInlinedFunctionsKeepTheirCallers) {
  Trace trace(R"(
def innermost(c):
    d = c + 1
    print(d)
    return d
def middle(b, *, scale):
    return innermost(b * scale) + b
def f(a):
    return [a, middle(a, scale=2)]
arguments = (3,)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  const std::vector<FrameState>& frames = trace.outcome().frames;
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_STREQ(PyUnicode_AsUTF8(frames[0].code->name.get()), "f");
  EXPECT_STREQ(PyUnicode_AsUTF8(frames[2].code->name.get()), "innermost");
  EXPECT_EQ(Trace::local(frames[2], "d"), "7");
  EXPECT_EQ(Trace::local(frames[1], "b"), "3");
  // Each caller stands at its call, whose operands are still there: NULL, callable, arguments.
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(frames[i].code->instructions[frames[i].pc].opcode, Opcode::CALL);
  EXPECT_EQ(frames[0].operandCount, 4);
  EXPECT_EQ(frames[0].stack.size(), 5u);  // and the list's first item
  EXPECT_EQ(frames[1].operandCount, 3);
}

TEST(Breaks, InASpecialMethodAreItsOwn) {
  Trace trace(R"(
class Hostile:
    def __bool__(self):
        LOG.append('asked')
        print('asked')
        return True
LOG = []
def f(hostile, n):
    n += 1
    if hostile:
        n += 1
    return n
arguments = (Hostile(), 1)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  ASSERT_EQ(trace.outcome().frames.size(), 2u);
  EXPECT_EQ(trace.brokenAt(), Opcode::CALL);
  const FrameState& caller = trace.outcome().frames[0];
  EXPECT_EQ(caller.code->instructions[caller.pc].opcode, Opcode::POP_JUMP_IF_FALSE);
  // The operand lives while the method runs.
  EXPECT_EQ(caller.stack.size(), 1u);
  EXPECT_EQ(caller.operandCount, 0);
  ASSERT_EQ(trace.innermost().continuations.size(), 1u);
  EXPECT_EQ(trace.innermost().continuations[0].kind, OnReturn::CheckBool);
  EXPECT_FALSE(trace.translator().effects.empty());
}

// The method that is asked next takes the place of the one that has returned.
TEST(Breaks, InWhatIsLeftToDoAreThoseOfItsFrame) {
  Trace trace(R"(
class Hostile:
    def __contains__(self, item):
        return Answer()
class Answer:
    def __bool__(self):
        LOG.append('asked')
        print('asked')
        return True
LOG = []
def f(hostile, n):
    return n in hostile
arguments = (Hostile(), 1)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  ASSERT_EQ(trace.outcome().frames.size(), 2u);
  EXPECT_EQ(trace.brokenAt(), Opcode::CALL);
  ASSERT_EQ(trace.innermost().continuations.size(), 1u);
  EXPECT_EQ(trace.innermost().continuations[0].kind, OnReturn::CheckBool);
  EXPECT_FALSE(trace.translator().effects.empty());
}

TEST(Breaks, InsideASlotGoBackToTheInstructionThatRunsIt) {
  Trace trace(R"(
class Item:
    def __lt__(self, other):
        LOG.append('asked')
        print('asked')
        return True
LOG = []
def f(items, n):
    n += 1
    items.sort()
    return n
# More than a sort compares in frames of their own.
arguments = ([Item() for _ in range(40)], 1)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  ASSERT_EQ(trace.outcome().frames.size(), 1u);
  EXPECT_EQ(trace.brokenAt(), Opcode::CALL);
  EXPECT_EQ(Trace::local(trace.innermost(), "n"), "2");
  // What the slot had done is undone: Python will do it.
  EXPECT_TRUE(trace.translator().effects.empty());
  EXPECT_EQ(PyList_GET_SIZE(trace.named("LOG")), 0);
}

TEST(Breaks, InsideASlotUndoChangesOfNewObjects) {
  Trace trace(R"(
def items(log):
    log['count'] = 1
    yield 'a'
    log['count'] = 2
    print('b')
    yield 'b'
def f(n):
    log = {'count': 0}
    log['before'] = n
    joined = frozenset(items(log))
    return joined
arguments = (1,)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  EXPECT_EQ(trace.brokenAt(), Opcode::CALL);
  EXPECT_EQ(Trace::local(trace.innermost(), "joined"), "");
  // The dict is as it was before the call.
  Value log = trace.innermost().locals[1];
  ASSERT_TRUE(log.isTracker());
  EXPECT_EQ(Trace::local(trace.innermost(), "log"), "<dict variable>");
  EXPECT_TRUE(trace.translator().trail.empty());
}

TEST(Breaks, InsideATryAreResumedThere) {
  Trace trace(R"(
LOG = []
def f(n):
    n += 1
    try:
        n += 10
        LOG.append(n)
        print(n)
    except ValueError:
        n = 0
    return n
arguments = (1,)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  ASSERT_EQ(trace.outcome().frames.size(), 1u);
  EXPECT_EQ(trace.brokenAt(), Opcode::CALL);
  EXPECT_EQ(Trace::local(trace.innermost(), "n"), "12");
  EXPECT_FALSE(trace.innermost().handled);
  EXPECT_FALSE(trace.translator().effects.empty());
  EXPECT_EQ(Trace::lineOf(trace.innermost()), 8);
  EXPECT_EQ(trace.outcome().reason->line, 8);
}

TEST(Breaks, InsideAHandlerKnowWhatItHandles) {
  Trace trace(R"(
def f(n):
    n += 1
    try:
        raise ValueError(n)
    except ValueError as error:
        n += 100
        print(error)
    return n
arguments = (1,)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  EXPECT_EQ(Trace::local(trace.innermost(), "n"), "102");
  EXPECT_TRUE(trace.innermost().handled);
  EXPECT_FALSE(trace.translator().exceptionPending());
}

TEST(Breaks, OfAFunctionCalledInsideATryAreItsOwn) {
  Trace trace(R"(
def g(n):
    n += 100
    print(n)
    return n
def f(n):
    try:
        m = g(n)
    finally:
        n = 5
    return n
arguments = (1,)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  ASSERT_EQ(trace.outcome().frames.size(), 2u);
  EXPECT_EQ(Trace::local(trace.innermost(), "n"), "101");
  EXPECT_EQ(Trace::local(trace.outcome().frames[0], "n"), "1");
  EXPECT_EQ(trace.outcome().reason->function, "g");
}

TEST(Breaks, AnExceptionThatNobodyCatchesIsLeftToPython) {
  Trace trace(R"(
LOG = []
def g(n):
    LOG.append('before')
    raise ValueError(n)
def f(n):
    try:
        n += 1
    finally:
        n += 1
    g(n)
    LOG.append('never')
arguments = (1,)
)");
  ASSERT_EQ(trace.outcome().kind, kBreak);
  ASSERT_EQ(trace.outcome().frames.size(), 2u);
  EXPECT_EQ(trace.brokenAt(), Opcode::RAISE_VARARGS);
  EXPECT_EQ(trace.outcome().reason->gbType, "Observed exception");
  EXPECT_EQ(Trace::local(trace.outcome().frames[0], "n"), "3");
  EXPECT_FALSE(trace.translator().effects.empty());  // LOG, to be replayed
  EXPECT_EQ(PyList_GET_SIZE(trace.named("LOG")), 0);
  EXPECT_FALSE(trace.translator().exceptionPending());
}

TEST(Breaks, BeforeAnythingIsDoneGoBackToTheBeginning) {
  Trace trace(R"(
def f(n):
    locals()
    return n
arguments = (1,)
)");
  EXPECT_EQ(trace.outcome().kind, kResumePlain);
  EXPECT_EQ(trace.innermost().pc, 0);
  EXPECT_TRUE(trace.innermost().stack.empty());
}

TEST(EntryPoints, StartInsideAFunctionWithItsStack) {
  Trace first(R"(
def f(n):
    scale = n * 10
    return [scale, print('', end='') or n, scale]
arguments = (4,)
)");
  ASSERT_EQ(first.outcome().kind, kBreak);
  const FrameState& frame = first.innermost();
  // Behind the call: the list's first item and the call's result are on the stack.
  EntryPoint entry;
  entry.code = frame.code;
  entry.start = frame.pc + 1;
  entry.stackIsNull = {false, false};
  entry.locals = {0, 1};
  entry.localIsCell = {false, false};
  auto number = [](long value) { return Ref<>::steal(PyLong_FromLong(value)); };
  std::vector<Ref<>> inputs = {number(7), number(0), number(4), number(50)};
  Trace second(entry, first.globals(), std::move(inputs));
  ASSERT_EQ(second.outcome().kind, Outcome::Kind::Return);
  EXPECT_EQ(Trace::text(second.outcome().result), "<list variable>");
  // The stack's entries are inputs, before the locals.
  EXPECT_EQ(second.translator().entry().inputCount(), 4u);
}

}  // namespace
}  // namespace armature
