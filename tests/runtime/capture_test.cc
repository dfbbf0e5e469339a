// Whole captures without any array library: programs run plainly and captured must agree. Under the
// sanitizers this is the test of the memory that tracing, codegen and guards share.
#include <gtest/gtest.h>

#include <string>

#include "core/ref.h"
#include "runtime/compiled_function.h"

namespace armature {
namespace {

// Each program defines f and `calls`, a list of argument tuples made anew by every call of it.
struct Program {
  const char* name;
  const char* source;
};

constexpr Program kPrograms[] = {
    {"Arithmetic", R"(
def f(a, b):
    return a + b * 2 - a // 3, a ** 2, a / 4, -a, a << 1, a % 5, a < b, a == b, not a
def calls(): return [(7, 2), (7, 2), (8, 2), (2.5, 1)]
)"},
    {"Containers", R"(
def f(xs, d):
    xs.append(len(xs)); xs[0] = 'first'; d['new'] = xs; d.pop('old', None)
    return xs[::-1], dict(d), {k: v for k, v in d.items()}, [*xs, *(1, 2)], (xs is d['new'])
def calls(): return [([1, 2], {'old': 1}), ([1, 2], {'old': 1}), ([], {}) if False else ([3], {})]
)"},
    {"Closures", R"(
def f(n):
    total = 0
    def add(k):
        nonlocal total
        total += k
        return lambda: (total, k)
    made = [add(i) for i in range(n)]
    return [m() for m in made], total, made[0].__name__
def calls(): return [(3,), (3,), (4,)]
)"},
    {"Classes", R"(
class Base:
    shared = []
    def __init__(self, value): self.value = value
    def double(self): return self.value * 2
    @property
    def half(self): return self.value / 2
    @classmethod
    def make(cls, value): return cls(value)
    def __add__(self, other): return type(self)(self.value + getattr(other, 'value', other))
    def __repr__(self): return f'{type(self).__name__}({self.value})'
class Derived(Base):
    __slots__ = ('extra',)
    def __init__(self, value):
        super().__init__(value)
        self.extra = [value]
    def double(self): return super().double() + 1
def f(given):
    made = Derived.make(3)
    given.value += 1
    given.note = 'seen'
    return repr(made + given), made.double(), made.half, made.extra, given.double(), made
def calls(): return [(Base(1),), (Base(1),), (Derived(2),)]
)"},
    {"Exceptions", R"(
def fail(kind):
    raise kind('inside') from ValueError('cause')
def f(kind, log):
    try:
        log.append('try')
        fail(kind)
    except (KeyError, RuntimeError) as error:
        log.append((type(error).__name__, error.args, type(error.__cause__).__name__))
    finally:
        log.append('finally')
    try:
        return {}['missing']
    except KeyError as error:
        return str(error)
def calls(): return [(KeyError, []), (KeyError, []), (RuntimeError, [])]
)"},
    {"Uncaught", R"(
def f(xs):
    xs.append(1)
    return xs[10]
def calls(): return [([],), ([],)]
)"},
    {"Generators", R"(
def count(n):
    for i in range(n):
        got = yield i
    return 'end'
def both(n):
    end = yield from count(n)
    yield end
def f(n):
    return list(both(n)), sum(i * i for i in range(n)), sorted(both(2), key=str), dict(zip('ab', count(2)))
def calls(): return [(3,), (3,), (0,)]
)"},
    {"Breaks", R"(
out = []
def show(*values): out.append(values); print(*values, end='')
def inner(k):
    kept = [k, k + 1]
    print('', end='')
    kept.append(sum(kept))
    return kept
def f(n):
    state = {'n': n}
    for i in range(3):
        state[i] = inner(i) + [len(state)]
        if i == 1: print('', end='')
    return [inner(n), state, (lambda: n)()]
def calls(): return [(3,), (3,), (4,)]
)"},
    {"BreakInsideTry", R"(
def f(log):
    log.append(0)
    try:
        print('', end='')
        log.append(1)
        raise KeyError('x')
    except KeyError:
        log.append(2)
    with open('/dev/null') as file:
        log.append(file.closed)
    return log
def calls(): return [([],), ([],)]
)"},
    {"Globals", R"(
counter = 0
def f(n):
    global counter, fresh
    counter += n
    fresh = [counter]
    return counter, fresh
def calls(): return [(1,)]
)"},
    {"Strings", R"(
def f(n, s):
    return f'{n:>4}|{s!r}|{n + 1}', '%s-%d' % (s, n), s.upper().split('B'), ','.join([s, s]), s[1:], s * 2
def calls(): return [(3, 'abc'), (3, 'abc'), (4, 'xbz')]
)"},
    {"Calls", R"(
def g(a, b=2, *rest, c, d=4, **more): return a, b, rest, c, d, more
def f(args, kwargs):
    first = g(1, c=3)
    try:
        g()
    except TypeError as error:
        message = str(error)
    return first, g(*args, **kwargs), message, max(args), sorted(kwargs)
def calls(): return [((1, 2, 3), {'c': 1, 'z': 2}), ((1, 2, 3), {'c': 1, 'z': 2}), ((9,), {'c': 0})]
)"},
    {"Aliases", R"(
def f(a, b):
    a.append(len(b))
    c = [a, a]
    c.append(c)
    return a is b, len(b), c[2] is c, c[0] is c[1]
def calls():
    same = [1]
    return [([1], [2]), (same, same), ([1], [2, 3])]
)"},
    {"DeepRecursion", R"(
def down(n): return 0 if n == 0 else 1 + down(n - 1)
def f(n): return down(n)
def calls(): return [(50,), (50,), (300,)]
)"},
};

constexpr const char* kHarness = R"(
import copy
def outcome(function, arguments):
    try:
        result = ('returned', function(*arguments))
    except Exception as error:
        result = ('raised', type(error), error.args)
    return repr(result), repr(arguments)
def compare(source, CompiledFunction):
    def load():
        namespace = {'__name__': 'program', '__builtins__': __builtins__}
        exec(source, namespace)
        return namespace
    plain, captured = load(), load()
    compiled = CompiledFunction(captured['f'])
    problems = []
    for expected, given in zip(plain['calls'](), captured['calls']()):
        want, got = outcome(plain['f'], expected), outcome(compiled, given)
        # Addresses of functions differ from run to run.
        import re
        want, got = (re.sub('0x[0-9a-f]+', '', str(side)) for side in (want, got))
        if want != got:
            problems.append(f'plain {want}\ncaptured {got}')
    for name, value in plain.items():
        if isinstance(value, (int, list)) and captured.get(name) != value:
            problems.append(f'global {name}: plain {value!r}, captured {captured.get(name)!r}')
    return '\n'.join(problems)
)";

class CaptureTest : public testing::TestWithParam<Program> {};

TEST_P(CaptureTest, AgreesWithPython) {
  Ref<> module = Ref<>::steal(PyModule_New("capture_test"));
  ASSERT_TRUE(module);
  ASSERT_EQ(addCompiledFunctionTypes(module.get()), 0);
  Ref<> globals = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> loaded = Ref<>::steal(PyRun_String(kHarness, Py_file_input, globals.get(), globals.get()));
  ASSERT_TRUE(loaded);
  PyObject* compare = PyDict_GetItemString(globals.get(), "compare");
  Ref<> type = Ref<>::steal(PyObject_GetAttrString(module.get(), "CompiledFunction"));
  Ref<> problems =
      Ref<>::steal(PyObject_CallFunction(compare, "sO", GetParam().source, type.get()));
  if (!problems) PyErr_Print();
  ASSERT_TRUE(problems);
  EXPECT_STREQ(PyUnicode_AsUTF8(problems.get()), "");
}

INSTANTIATE_TEST_SUITE_P(Programs, CaptureTest, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace armature
