// Methods and operators of containers: traced ones against CPython's, on the same programs.
//
// A program is a list of steps on one container: (function, arguments…), where the function is a
// method of the container, or the name of a function of the module operator. After each step the
// result, the exception and the container itself must be what CPython has; and after rewinding the
// trail the container is what it was.
#include <gtest/gtest.h>

#include "tests/variables/test_translator.h"
#include "variables/protocol/object_protocol.h"

namespace armature {
namespace {

// The real outcome of a call: the repr of its result, or of its exception.
std::string outcome(Ref<> result) {
  if (result) {
    bool iterator = PyIter_Check(result.get()) || PyDictViewSet_Check(result.get()) ||
                    PyDictValues_Check(result.get());
    if (iterator) result = Ref<>::steal(PySequence_List(result.get()));
    if (result) return repr(result.get());
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref<> ownedType = Ref<>::steal(type), exception = Ref<>::steal(value);
  Py_XDECREF(traceback);
  Ref<> text = Ref<>::steal(PyObject_Str(exception.get()));
  return std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name) + ": " +
         PyUnicode_AsUTF8(text.get());
}

std::string outcome(TestTranslator& translator, const Value& result) {
  Ref<> object = result ? translator.real(result) : nullptr;
  if (object) return repr(object.get());
  return translator.takeError();
}

bool isOperator(const char* name) { return std::string(name).starts_with("operator."); }

Ref<> callReal(PyObject* container, PyObject* step) {
  const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(step, 0));
  Ref<> arguments = Ref<>::steal(PyTuple_GetSlice(step, 1, PyTuple_GET_SIZE(step)));
  Ref<> function;
  if (isOperator(name)) {
    Ref<> module = Ref<>::steal(PyImport_ImportModule("operator"));
    function = Ref<>::steal(PyObject_GetAttrString(module.get(), name + 9));
    Ref<> self = Ref<>::steal(PyTuple_Pack(1, container));
    arguments = Ref<>::steal(PySequence_Concat(self.get(), arguments.get()));
  } else {
    function = Ref<>::steal(PyObject_GetAttrString(container, name));
  }
  return Ref<>::steal(function ? PyObject_CallObject(function.get(), arguments.get()) : nullptr);
}

Value callTraced(TestTranslator& translator, const Value& container, PyObject* step) {
  const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(step, 0));
  llvm::SmallVector<Value, 4> arguments;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(step); ++i) {
    arguments.push_back(translator.traced(PyTuple_GET_ITEM(step, i)));
  }
  if (!isOperator(name)) return callMethod(translator, container, name, arguments);
  arguments.insert(arguments.begin(), container);
  Ref<> module = Ref<>::steal(PyImport_ImportModule("_operator"));
  Ref<> function = Ref<>::steal(PyObject_GetAttrString(module.get(), name + 9));
  return call(translator, Value::constant(function), arguments);
}

// Runs one program of the pair (container, steps).
void check(PyObject* program) {
  PyObject* initial = PyTuple_GET_ITEM(program, 0);
  PyObject* steps = PyTuple_GET_ITEM(program, 1);
  Ref<> copy = Ref<>::steal(PyImport_ImportModule("copy"));
  Ref<> container = Ref<>::steal(PyObject_CallMethod(copy.get(), "deepcopy", "(O)", initial));

  TestTranslator translator;
  Value traced = translator.traced(initial);
  translator.trail.cut();
  std::string before = repr(translator.real(traced).get());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(steps); ++i) {
    PyObject* step = PyList_GET_ITEM(steps, i);
    SCOPED_TRACE(repr(container.get()) + " " + repr(step));
    Ref<> arguments = Ref<>::steal(PyObject_CallMethod(copy.get(), "deepcopy", "(O)", step));
    std::string expected = outcome(callReal(container.get(), arguments.get()));
    Value result = callTraced(translator, traced, step);
    EXPECT_EQ(outcome(translator, result), expected);
    EXPECT_EQ(repr(translator.real(traced).get()), repr(container.get()));
    ASSERT_FALSE(PyErr_Occurred());
    ASSERT_FALSE(translator.exceptionPending());
    if (testing::Test::HasFailure()) return;
  }
  translator.trail.rewind();
  EXPECT_EQ(repr(translator.real(traced).get()), before) << repr(program);
}

// A Python program that makes programs: `make(random)` gives one.
void checkMany(const char* generator, int count) {
  Ref<> globals = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> done = Ref<>::steal(PyRun_String(generator, Py_file_input, globals.get(), globals.get()));
  if (!done) PyErr_Print();
  ASSERT_TRUE(done);
  PyObject* make = PyDict_GetItemString(globals.get(), "make");
  for (int seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    Ref<> program = Ref<>::steal(PyObject_CallFunction(make, "i", seed));
    if (!program) PyErr_Print();
    ASSERT_TRUE(program);
    check(program.get());
  }
}

TEST(ListMethods, AgreeWithCPython) {
  checkMany(R"(
import random

def make(seed):
    r = random.Random(seed)
    def item():
        return r.choice([1, 2, 3, 2.0, True, None, "a", "bc", (1, 2), [1], [2, 3], {"k": 1}])
    def items():
        return [item() for _ in range(r.randrange(5))]
    def number():
        return r.choice([0, 1, 2, 3, -1, -2, -7, 9, True, "x", None, 10**30])
    def bounds():
        def bound(): return r.choice([None, 0, 1, 2, -1, -3, 5, 10**20])
        return slice(bound(), bound(), r.choice([None, None, 1, 2, -1, -2, 3, 0]))
    def step():
        name = r.choice("append extend insert pop remove clear copy reverse sort index count "
                        "getitem setitem delitem getslice setslice delslice add iadd mul imul "
                        "contains eq lt __len__ __iter__ __reversed__ wrong".split())
        match name:
            case "append" | "remove" | "count": return (name, item())
            case "extend": return (name, r.choice([items(), tuple(items()), "xyz", {1: 2}, 5]))
            case "insert": return (name, number(), item())
            case "pop": return r.choice([(name,), (name, number())])
            case "index": return (name, item(), *[number() for _ in range(r.randrange(3))])
            case "getitem" | "delitem": return ("operator." + name, number())
            case "setitem": return ("operator.setitem", number(), item())
            case "getslice" | "delslice": return ("operator." + name[:3] + "item", bounds())
            case "setslice":
                return ("operator.setitem", bounds(), r.choice([items(), tuple(items()), 3, "ab"]))
            case "add" | "iadd": return ("operator." + name, r.choice([items(), (1, 2), 4]))
            case "mul" | "imul": return ("operator." + name, r.choice([0, 1, 2, -1, "x", 1.5, True]))
            case "contains": return ("operator.contains", item())
            case "eq" | "lt": return ("operator." + name, r.choice([items(), (1,), 5]))
            case "wrong": return (r.choice(["append", "clear", "insert", "pop", "sort"]), 1, 2, 3, 4)
        return (name,)
    return ([item() for _ in range(r.randrange(6))], [step() for _ in range(12)])
)",
            3000);
}

TEST(TupleMethods, AgreeWithCPython) {
  checkMany(R"(
import random

def make(seed):
    r = random.Random(seed)
    def item():
        return r.choice([1, 2, 3, 2.0, True, None, "a", (1, 2), [1], [2, 3], ([],)])
    def items():
        return tuple(item() for _ in range(r.randrange(4)))
    def number():
        return r.choice([0, 1, 2, 3, -1, -2, -7, 9, True, "x", None, 10**30, slice(None, 2), slice(None, None, -1)])
    def step():
        name = r.choice("index count getitem setitem add mul contains eq ne lt ge __len__ __iter__ "
                        "__hash__".split())
        match name:
            case "count": return (name, item())
            case "index": return (name, item(), *[number() for _ in range(r.randrange(3))])
            case "getitem": return ("operator." + name, number())
            case "setitem": return ("operator.setitem", 0, item())
            case "add": return ("operator.add", r.choice([items(), [1, 2], 4]))
            case "mul": return ("operator.mul", r.choice([0, 1, 2, -1, "x", True]))
            case "contains": return ("operator.contains", item())
            case "eq" | "ne" | "lt" | "ge": return ("operator." + name, r.choice([items(), [1], 5]))
        return (name,)
    return (items() + ([],), [step() for _ in range(10)])
)",
            1500);
}

TEST(DictMethods, AgreeWithCPython) {
  checkMany(R"(
import collections
import random

def make(seed):
    r = random.Random(seed)
    def key():
        return r.choice([1, 2, 3, 1.0, True, None, "a", "b", "c", (1, 2), [1], (1, [2])])
    def good():
        return r.choice([1, 2, 3, 1.0, True, None, "a", "b", "c", (1, 2), (1, (2, "x"))])
    def value():
        return r.choice([1, None, "v", [1], {"k": [2]}])
    def mapping():
        return {good(): value() for _ in range(r.randrange(4))}
    ordered = r.random() < 0.3
    def step():
        name = r.choice("get setdefault pop popitem update clear copy keys values items getitem "
                        "setitem delitem contains or_ ior eq ne __len__ __iter__ __reversed__ "
                        "move_to_end fromkeys lt".split())
        match name:
            case "get" | "setdefault" | "pop": return (name, key(), *[value() for _ in range(r.randrange(2))])
            case "move_to_end" if ordered: return (name, key(), r.choice([True, False]))
            case "update": return (name, r.choice([mapping(), [(good(), value())], [(1, 2, 3)], [5], 7, [[1, 2], "ab"]]))
            case "getitem" | "delitem" | "contains": return ("operator." + name, key())
            case "setitem": return ("operator.setitem", key(), value())
            case "or_" | "ior": return ("operator." + name, r.choice([mapping(), mapping(), [("x", 1)] if not ordered and name == "ior" else {}, 3]))
            case "eq" | "ne": return ("operator." + name, r.choice([mapping(), 5, []]))
            case "lt": return ("operator.lt", {})
            case "fromkeys": return (name, r.choice([[1, 2, 1], "aab", 5, [[]]]), value())
            case "popitem" if ordered and r.random() < 0.5: return (name, False)
        return (name,)
    initial = mapping()
    if ordered:
        initial = collections.OrderedDict(initial)
    return (initial, [step() for _ in range(12)])
)",
            3000);
}

TEST(SetMethods, AgreeWithCPython) {
  checkMany(R"(
import random

def make(seed):
    r = random.Random(seed)
    def item():
        return r.choice([1, 2, 3, 1.0, True, 8, 16, 33, 64, -1, None, "a", "b", "c", "dd", (1, 2)])
    def any_item():
        return [1] if r.random() < 0.05 else item()
    def items(n=7):
        return [item() for _ in range(r.randrange(n))]
    def other():
        kind = r.randrange(6)
        if kind == 0: return items()
        if kind == 1: return {i: 0 for i in items()}
        if kind == 2: return frozenset(items())
        if kind == 3: return 5
        return set(items(12))
    def step():
        name = r.choice("add discard remove pop clear copy update difference_update "
                        "intersection_update symmetric_difference_update union intersection "
                        "difference symmetric_difference issubset issuperset isdisjoint and_ or_ "
                        "sub xor iand ior isub ixor contains eq ne le lt ge gt __len__ "
                        "__iter__ add add add".split())
        match name:
            case "add" | "discard" | "remove": return (name, any_item())
            case "update" | "difference_update" | "intersection_update" | "union" | "intersection" | "difference":
                return (name, *[other() for _ in range(r.choice([1, 1, 1, 0, 2]))])
            case "symmetric_difference_update" | "symmetric_difference" | "issubset" | "issuperset" | "isdisjoint":
                return (name, other())
            case "and_" | "or_" | "sub" | "xor" | "iand" | "ior" | "isub" | "ixor" | "eq" | "ne" | "le" | "lt" | "ge" | "gt":
                return ("operator." + name, other())
            case "contains": return ("operator.contains", any_item())
        return (name,)
    return (set(items()), [step() for _ in range(14)])
)",
            3000);
}

}  // namespace
}  // namespace armature
