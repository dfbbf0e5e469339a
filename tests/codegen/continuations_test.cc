#include "codegen/continuations.h"

#include <gtest/gtest.h>

#include "tests/interpreter/trace.h"
#include "variables/loops.h"
#include "variables/type_slots.h"

namespace armature {

namespace {

Ref<> evaluate(const std::string& expression) {
  PyObject* globals = PyModule_GetDict(PyImport_AddModule("__main__"));
  Ref<> value = Ref<>::steal(PyRun_String(expression.c_str(), Py_eval_input, globals, globals));
  if (!value) PyErr_Print();
  return value;
}

std::string repr(PyObject* object) {
  Ref<> text = Ref<>::steal(PyObject_Repr(object));
  return text ? PyUnicode_AsUTF8(text.get()) : "";
}

// repr() of what a continuation gives for the value of an expression, or "TypeError: message".
std::string give(OnReturn kind, const std::string& value, std::vector<Ref<>> operands = {}) {
  Ref<> result;
  if (value.rfind("raise ", 0) == 0) {
    Ref<> error = evaluate(value.substr(6));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  } else {
    result = evaluate(value);
  }
  std::vector<PyObject*> borrowed;
  for (const Ref<>& operand : operands) borrowed.push_back(operand.get());
  result = continueWith(kind, std::move(result), borrowed, nullptr);
  if (result) return result.get() == endOfIteration().get() ? "end" : repr(result.get());
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  Ref<> ownedType = Ref<>::steal(type), ownedTraceback = Ref<>::steal(traceback);
  Ref<> raised = Ref<>::steal(error);
  return repr(raised.get());
}

std::vector<Ref<>> values(std::initializer_list<const char*> expressions) {
  std::vector<Ref<>> result;
  for (const char* expression : expressions) result.push_back(evaluate(expression));
  return result;
}

}  // namespace

TEST(Continuations, CheckWhatSpecialMethodsReturn) {
  EXPECT_EQ(give(OnReturn::CheckInit, "None", values({"7"})), "7");
  EXPECT_EQ(give(OnReturn::CheckInit, "3", values({"7"})),
            "TypeError(\"__init__() should return None, not 'int'\")");
  EXPECT_EQ(give(OnReturn::CheckBool, "True"), "True");
  EXPECT_EQ(give(OnReturn::CheckBool, "1"),
            "TypeError('__bool__ should return bool, returned int')");
  EXPECT_EQ(give(OnReturn::CheckHash, "-1"), "-2");
  EXPECT_EQ(give(OnReturn::CheckHash, "2**64"), "8");
  EXPECT_EQ(give(OnReturn::CheckHash, "'a'"),
            "TypeError('__hash__ method should return an integer')");
  EXPECT_EQ(give(OnReturn::CheckIndex, "7"), "7");
  EXPECT_EQ(give(OnReturn::CheckIndex, "0.5"),
            "TypeError('__index__ returned non-int (type float)')");
  EXPECT_EQ(give(OnReturn::CheckInt, "0.5"), "TypeError('__int__ returned non-int (type float)')");
  EXPECT_EQ(give(OnReturn::CheckFloat, "0.5", values({"'self'"})), "0.5");
  EXPECT_EQ(give(OnReturn::CheckFloat, "7", values({"'self'"})),
            "TypeError('str.__float__ returned non-float (type int)')");
  EXPECT_EQ(give(OnReturn::CheckLength, "True"), "1");
  EXPECT_EQ(give(OnReturn::CheckLength, "-1"), "ValueError('__len__() should return >= 0')");
  EXPECT_EQ(give(OnReturn::CheckLength, "1.0"),
            "TypeError(\"'float' object cannot be interpreted as an integer\")");
  EXPECT_EQ(give(OnReturn::CheckIterator, "[]"),
            "TypeError(\"iter() returned non-iterator of type 'list'\")");
  EXPECT_EQ(give(OnReturn::CheckStr, "1"), "TypeError('__str__ returned non-string (type int)')");
}

TEST(Continuations, MakeSomethingElseOfIt) {
  EXPECT_EQ(give(OnReturn::Truth, "[]"), "False");
  EXPECT_EQ(give(OnReturn::Negate, "False"), "True");
  EXPECT_EQ(give(OnReturn::Differ, "[]"), "True");
  EXPECT_EQ(give(OnReturn::Differ, "NotImplemented"), "NotImplemented");
  EXPECT_EQ(give(OnReturn::Give, "1", values({"2"})), "2");
  EXPECT_EQ(give(OnReturn::Format, "1.5"), "'1.5'");
}

TEST(Continuations, GoOnWithTheProtocol) {
  // The left operand has been asked; Fraction's reflected method answers.
  std::string half = "__import__('fractions').Fraction(1, 2)";
  std::string step = std::to_string(static_cast<int>(OperandStep::Right));
  EXPECT_EQ(
      give(OnReturn::NextOperand, "NotImplemented", values({"1", half.c_str(), "0", step.c_str()})),
      "Fraction(3, 2)");
  EXPECT_EQ(give(OnReturn::NextOperand, "NotImplemented", values({"1", "''", "0", step.c_str()})),
            "TypeError(\"unsupported operand type(s) for +: 'int' and 'str'\")");
  EXPECT_EQ(give(OnReturn::NextOperand, "7", values({"1", "''", "0", "3"})), "7");
  std::string right = std::to_string(static_cast<int>(ComparisonStep::Right));
  EXPECT_EQ(give(OnReturn::NextComparison, "NotImplemented",
                 values({"1", "1.0", std::to_string(Py_EQ).c_str(), right.c_str()})),
            "True");
  EXPECT_EQ(give(OnReturn::NextComparison, "NotImplemented",
                 values({"1", "''", std::to_string(Py_LT).c_str(), right.c_str()})),
            "TypeError(\"'<' not supported between instances of 'int' and 'str'\")");
}

TEST(Continuations, HandleExceptions) {
  EXPECT_EQ(give(OnReturn::EndIteration, "raise StopIteration()"), "end");
  EXPECT_EQ(give(OnReturn::EndIteration, "raise KeyError(1)"), "KeyError(1)");
  EXPECT_EQ(give(OnReturn::Instead, "raise StopIteration()", values({"StopIteration", "5"})), "5");
  EXPECT_EQ(give(OnReturn::Instead, "raise KeyError(1)", values({"StopIteration", "5"})),
            "KeyError(1)");
  EXPECT_EQ(give(OnReturn::AskGetattr, "raise AttributeError(1)", values({"3", "'a'", "len"})),
            "1");
  EXPECT_EQ(give(OnReturn::TellAttribute, "raise AttributeError(1)", values({"3", "'a'"})),
            "AttributeError(1)");
  EXPECT_EQ(give(OnReturn::CheckBool, "raise KeyError(1)"), "KeyError(1)");
}

TEST(Continuations, GoOnWithLoops) {
  auto sort = [](const char* key, const char* target) {
    return values({"[3, 1, 2]", "[]", key, "False", target});
  };
  EXPECT_EQ(give(OnReturn::NextKey, "-3", sort("lambda x: -x", "None")), "[3, 2, 1]");
  std::vector<Ref<>> operands = sort("lambda x: -x", "[]");
  EXPECT_EQ(give(OnReturn::NextKey, "-3", operands), "None");
  EXPECT_EQ(repr(operands[4].get()), "[3, 2, 1]");
  operands = sort("lambda x: x / 0", "[]");
  EXPECT_EQ(give(OnReturn::NextKey, "-3", operands), "ZeroDivisionError('division by zero')");
  EXPECT_EQ(repr(operands[4].get()), "[3, 1, 2]");
  operands = sort("abs", "[]");
  EXPECT_EQ(give(OnReturn::NextKey, "raise KeyError(5)", operands), "KeyError(5)");
  EXPECT_EQ(repr(operands[4].get()), "[3, 1, 2]");
  EXPECT_EQ(give(OnReturn::NextKey, "-3", sort("abs", "[7]")),
            "ValueError('list modified during sort')");

  auto least = [](const char* iterator, const char* best) {
    return values({iterator, "abs", "0", "()", best, "-7"});
  };
  EXPECT_EQ(give(OnReturn::NextExtreme, "7", least("iter([5, -3, 4])", "()")), "-3");
  EXPECT_EQ(give(OnReturn::NextExtreme, "7", least("iter([])", "(8, 8)")), "-7");
  EXPECT_EQ(give(OnReturn::NextExtreme, "7", least("iter([])", "(2, 2)")), "2");
  EXPECT_EQ(give(OnReturn::NextExtreme, "'a'", least("iter([])", "(2, 2)")),
            "TypeError(\"'<' not supported between instances of 'str' and 'int'\")");

  auto leastItem = [](const char* iterator, const char* best) {
    return values({iterator, "abs", "0", "()", best});
  };
  EXPECT_EQ(give(OnReturn::NextExtreme, "-7", leastItem("iter([5, -3, 4])", "()")), "-3");
  EXPECT_EQ(give(OnReturn::NextExtreme, "7", leastItem("iter([])", "(2, 2)")), "2");
}

TEST(Continuations, GoOnReducing) {
  auto item = [](const char* iterator, const char* soFar) {
    return values({iterator, "max", soFar});
  };
  EXPECT_EQ(give(OnReturn::NextReduction, "7", item("iter([5, 9])", "(8,)")), "9");
  EXPECT_EQ(give(OnReturn::NextReduction, "7", item("iter([5])", "()")), "7");
  auto called = [](const char* iterator) { return values({iterator, "max", "()", "True"}); };
  EXPECT_EQ(give(OnReturn::NextReduction, "7", called("iter([9])")), "9");
  EXPECT_EQ(give(OnReturn::NextReduction, "7", called("iter([])")), "7");
  EXPECT_EQ(give(OnReturn::NextReduction, "7", called("iter(['a'])")),
            "TypeError(\"'>' not supported between instances of 'str' and 'int'\")");
}

TEST(Continuations, GoOnWithItems) {
  auto walk = [](ItemStep step, const char* iterator, const char* soFar, const char* argument) {
    std::string number = std::to_string(static_cast<int>(step));
    return values({iterator, number.c_str(), soFar, argument});
  };
  auto append = [&](const char* iterator, const char* list) {
    return walk(ItemStep::Gather, iterator, list, "None");
  };
  EXPECT_EQ(give(OnReturn::NextItem, "7", append("map(abs, [-1, -2])", "[8]")), "[8, 7, 1, 2]");
  EXPECT_EQ(give(OnReturn::NextItem, "7", append("map(len, [[], 3])", "[]")),
            "TypeError(\"object of type 'int' has no len()\")");
  auto pass = [&](const char* call) { return walk(ItemStep::Gather, "iter('bd')", "['c']", call); };
  EXPECT_EQ(give(OnReturn::NextItem, "'a'", pass("(str.join, None, '-')")), "'c-a-b-d'");
  EXPECT_EQ(give(OnReturn::NextItem, "'a'", pass("(sorted, ('reverse',), 1)")),
            "['d', 'c', 'b', 'a']");
  EXPECT_EQ(give(OnReturn::NextItem, "7", walk(ItemStep::Extend, "iter([5])", "[]", "None")),
            "None");
  auto add = [&](const char* items) { return walk(ItemStep::Add, items, "{8}", "None"); };
  EXPECT_EQ(give(OnReturn::NextItem, "7", add("iter([8, 7])")), "{8, 7}");
  EXPECT_EQ(give(OnReturn::NextItem, "[]", add("iter([8])")),
            "TypeError(\"unhashable type: 'list'\")");
  auto sum = [&](const char* iterator, const char* total, const char* waiting) {
    return walk(ItemStep::Sum, iterator, total, waiting);
  };
  EXPECT_EQ(give(OnReturn::NextItem, "7", sum("iter([0.5, 2])", "1", "[3]")), "13.5");
  EXPECT_EQ(give(OnReturn::NextItem, "(7,)", sum("iter([(5,)])", "()", "[]")), "(7, 5)");
  EXPECT_EQ(give(OnReturn::NextItem, "'a'", sum("iter([])", "1", "[3]")),
            "TypeError(\"unsupported operand type(s) for +: 'int' and 'str'\")");
  EXPECT_EQ(give(OnReturn::NextItem, "0", walk(ItemStep::Any, "iter([[], 5])", "0", "0")), "True");
  EXPECT_EQ(give(OnReturn::NextItem, "0", walk(ItemStep::Any, "iter([[]])", "0", "0")), "False");
  EXPECT_EQ(give(OnReturn::NextItem, "1", walk(ItemStep::All, "iter([[]])", "0", "0")), "False");
  EXPECT_EQ(give(OnReturn::NextItem, "1", walk(ItemStep::All, "iter([5])", "0", "0")), "True");
  EXPECT_EQ(give(OnReturn::NextItem, "1", walk(ItemStep::Find, "iter([5])", "0", "5")), "True");
  EXPECT_EQ(give(OnReturn::NextItem, "1", walk(ItemStep::Find, "iter([5])", "0", "6")), "False");
}

// The class, the names of keywords, the tuple that the call was given, the arguments.
TEST(Continuations, InitializeWhatNewHasMade) {
  auto made = [](const char* object, std::initializer_list<const char*> operands) {
    return give(OnReturn::InitMade, object, values(operands));
  };
  EXPECT_EQ(made("3", {"str", "None", "None", "7"}), "3");
  EXPECT_EQ(made("[3]", {"list", "None", "None", "(5, 6)"}), "[5, 6]");
  EXPECT_EQ(made("{}", {"dict", "('a',)", "None", "7"}), "{'a': 7}");
  EXPECT_EQ(made("[3]", {"list", "('a',)", "None", "7"}),
            "TypeError('list() takes no keyword arguments')");
  EXPECT_EQ(made("ValueError(3)", {"ValueError", "None", "(1, 2)", "1", "2"}), "ValueError(1, 2)");
  // One that holds something else than the arguments is not theirs.
  EXPECT_EQ(made("ValueError(3)", {"ValueError", "None", "(1, 2)", "1"}), "ValueError(1)");
  EXPECT_EQ(made("ValueError(3)", {"ValueError", "None", "(1, 2)", "1", "3"}), "ValueError(1, 3)");
}

}  // namespace armature
