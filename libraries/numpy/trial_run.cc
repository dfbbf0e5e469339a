#include "libraries/numpy/trial_run.h"

#include <string>
#include <string_view>

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include "core/checked.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "core/set_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "guards/array_library.h"
#include "libraries/mentions_node.h"
#include "libraries/numpy/stand_ins.h"
#include "variables/constants/constant.h"

namespace armature {

namespace {

// Inputs with no more elements than this stand for themselves.
constexpr Dimension kFewElements = 256;

ResultStructure failed() {
  ResultStructure result;
  result.kind = ResultStructure::Kind::Constant;
  return result;
}

ResultStructure none() {
  ResultStructure result = failed();
  result.constant = Ref<>::create(Py_None);
  return result;
}

ResultStructure same(Node* node) {
  ResultStructure result;
  result.metadata = node->metadata;
  result.same = node;
  return result;
}

// While one lives, NumPy does about floating-point errors what `handling` says. The variable is set
// and its token kept in one step: a failure in between would leave it set for ever.
class FloatingPointErrors {
 public:
  // Throws PendingPythonException, and has then set nothing.
  FloatingPointErrors(const NumPyModule& numpy, const Ref<>& handling) : numpy_(numpy) {
    token_ = Ref<>::steal(PyContextVar_Set(numpy.errorHandling.get(), handling.get()));
    if (!token_) throw PendingPythonException();
  }
  ~FloatingPointErrors() {
    SetException kept;
    PyContextVar_Reset(numpy_.errorHandling.get(), token_.get());
  }
  FloatingPointErrors(const FloatingPointErrors&) = delete;
  FloatingPointErrors& operator=(const FloatingPointErrors&) = delete;

 private:
  const NumPyModule& numpy_;
  Ref<> token_;
};

// While one lives, NumPy reports no floating-point error and Python shows no warning.
class Silence {
 public:
  // Throws PendingPythonException. May leave an interrupt set; nothing else.
  Silence(const NumPyModule& numpy, bool warnings) : errors_(numpy, numpy.ignoreErrors) {
    if (warnings) silenceWarnings();
  }
  ~Silence() {
    SetException kept;
    if (filters_) setFilters(filters_);
    clearException();
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  // What warnings.catch_warnings and simplefilter("ignore") do, without Python code, in whose midst
  // a signal could arrive.
  void silenceWarnings() {
    warningsModule_ = Ref<>::steal(cpython::importModule("warnings"));
    Ref<> filters = Ref<>::steal(
        warningsModule_ ? PyObject_GetAttrString(warningsModule_.get(), "filters") : nullptr);
    Ref<> ignore =
        Ref<>::steal(Py_BuildValue("[(sOOOi)]", "ignore", Py_None, PyExc_Warning, Py_None, 0));
    if (filters && ignore) {
      filters_ = std::move(filters);
      setFilters(ignore);
    }
    if (!interrupted()) clearException();
  }

  void setFilters(const Ref<>& filters) {
    PyObject_SetAttrString(warningsModule_.get(), "filters", filters.get());
    Ref<>::steal(PyObject_CallMethod(warningsModule_.get(), "_filters_mutated", nullptr));
  }

  FloatingPointErrors errors_;
  Ref<> warningsModule_;
  Ref<> filters_;  // the program's
};

class TrialRun {
 public:
  TrialRun(const NumPyModule& numpy, const Node& node, const FunctionRule& rule)
      : numpy_(numpy), node_(node), rule_(rule) {}

  ResultStructure run() {
    checkForm();
    if (rule_.effect == NumPyEffect::Mutates) return none();
    if (rule_.effect == NumPyEffect::MutatesAndReturns) return same(node_.arguments[0].node());
    if (Node* out = outArgument()) return same(out);
    if (rule_.sizes == NumPySizes::Kept && hasManyElements() && !givesSizes()) {
      StandIns small(numpy_, node_, rule_.data, StandInLayout::Small);
      ResultStructure result;
      if (Ref<> object = call(small); object && structure(object, small, result)) return result;
      clearUnlessInterrupted();  // The real sizes tell the real message.
    }
    StandIns exact(numpy_, node_, rule_.data, StandInLayout::Sizes);
    ResultStructure result;
    Ref<> object = call(exact);
    if (!object || !structure(object, exact, result)) return failed();
    return result;
  }

  Ref<> callOnTrueLayout() {
    StandIns standIns(numpy_, node_, rule_.data, StandInLayout::True);
    return call(standIns);
  }

  // Only forms of the call are let through in which nothing but data depends on data.
  void checkForm() const {
    size_t count = node_.arguments.size();
    if (count < rule_.fewest || count > rule_.most) {
      breakOnForm("The function is not traced with this number of arguments.");
    }
    for (size_t i = 0; i < count; ++i) {
      if (!mayHoldArrays(i) && !isPositionalOut(i) && mentionsNode(node_.arguments[i]))
        breakOnData();
    }
    for (const auto& [name, argument] : node_.keywordArguments) {
      const std::string keyword = printable(name);
      if (isRefused(keyword)) {
        breakOnForm("The function is not traced with one of the keyword arguments given.");
      }
      if (keyword == "out") {
        if (mentionsNode(argument) && argument.kind() != Argument::Kind::Node) {
          breakOnForm(
              "The call writes into several output arrays at once; write into one at a time.");
        }
      } else if (!keywordMayHoldArrays(keyword.c_str()) && mentionsNode(argument)) {
        breakOnData();
      }
    }
    if (rule_.effect == NumPyEffect::Mutates) return;
    for (const Argument& argument : node_.arguments) checkIndexes(argument);
    checkUniversalFunction();
  }

  Node* outArgument() const {
    for (const auto& [name, argument] : node_.keywordArguments) {
      if (argument.kind() == Argument::Kind::Node &&
          PyUnicode_CompareWithASCIIString(name.get(), "out") == 0) {
        return argument.node();
      }
    }
    size_t last = node_.arguments.size();
    return last > 0 && isPositionalOut(last - 1) ? node_.arguments[last - 1].node() : nullptr;
  }

 private:
  [[noreturn]] void breakOnForm(const char* why) const {
    throw GraphBreak(GraphBreakKind::UnsupportedNumPyCall, targetName(node_.target), why);
  }
  [[noreturn]] void breakOnData() const {
    throw GraphBreak(GraphBreakKind::DataDependentOperator, targetName(node_.target));
  }

  bool mayHoldArrays(size_t position) const {
    return position < 8 ? (rule_.arrays >> position) & 1 : rule_.arrays == 0xff;
  }

  bool isRefused(std::string_view keyword) const {
    std::string refused = std::string(" ") + rule_.refused + " ";
    return refused.find(" " + std::string(keyword) + " ") != std::string::npos;
  }

  // Slices with bounds from data, and masks, have results whose shape is data.
  void checkIndexes(const Argument& argument) const {
    static PyObject* const getitem = [] {
      Ref<> module = checked(cpython::importModule("_operator"));
      return PyObject_GetAttrString(module.get(), "getitem");
    }();
    if (argument.kind() == Argument::Kind::Slice && mentionsNode(argument)) breakOnData();
    if (argument.kind() != Argument::Kind::Slice) {
      for (const Argument& element : argument.elements()) checkIndexes(element);
    }
    if (node_.target.get() != getitem || &argument != &node_.arguments[1]) return;
    forEachInput(argument, [&](Node* input) {
      if (isMask(*input->metadata)) breakOnData();
    });
  }

  // Methods of universal functions: those of functions that run the program's code are not known.
  void checkUniversalFunction() const {
    if (Py_TYPE(node_.target.get()) != &PyMethodDescr_Type ||
        PyDescr_TYPE(node_.target.get()) != numpy_.ufuncType.get()) {
      return;
    }
    PyObject* function = node_.arguments.empty() ? nullptr : node_.arguments[0].object().get();
    Ref<> name = Ref<>::steal(function ? PyObject_GetAttrString(function, "__name__") : nullptr);
    const std::string text = name ? printable(name) : "";
    bool isKnown = !text.empty() && numpy_.attribute(text.c_str()).get() == function;
    clearException();
    if (!isKnown) breakOnForm("The universal function was not made by NumPy.");
  }

  // np.add(a, b, c): the argument after the last input is the output.
  bool isPositionalOut(size_t index) const {
    if (Py_TYPE(node_.target.get()) != numpy_.ufuncType.get()) return false;
    auto number = [&](const char* name) {
      Ref<> value = Ref<>::steal(PyObject_GetAttrString(node_.target.get(), name));
      return value ? PyLong_AsLong(value.get()) : -1;
    };
    return number("nin") == static_cast<long>(index) && number("nout") == 1 &&
           node_.arguments[index].kind() == Argument::Kind::Node;
  }

  bool hasManyElements() const {
    Dimension elements = 0;
    forEachInput(node_, [&](Node* input) { elements += input->metadata->numel(); });
    return elements > kFewElements;
  }

  // True if data of the program's own, beside arrays, could have a say in the result's sizes.
  bool givesSizes() const {
    auto isSequence = [](const Argument& argument) {
      return argument.kind() != Argument::Kind::Node &&
             (argument.kind() != Argument::Kind::Constant ||
              PyTuple_Check(argument.object().get()));
    };
    for (size_t i = 0; i < node_.arguments.size(); ++i) {
      if (mayHoldArrays(i) && isSequence(node_.arguments[i])) return true;
    }
    for (const auto& [name, argument] : node_.keywordArguments) {
      if (keywordMayHoldArrays(printable(name).c_str()) && isSequence(argument)) return true;
    }
    return false;
  }

  // Universal functions and operators issue no warnings but those of floating-point errors.
  bool mayWarn() const {
    if (node_.operation == NodeOperation::CallMethod) return true;
    if (Py_TYPE(node_.target.get()) == numpy_.ufuncType.get()) return false;
    static PyObject* const operators = checked(cpython::importModule("_operator")).release();
    bool isOperator = Py_TYPE(node_.target.get()) == &PyCFunction_Type &&
                      PyCFunction_GET_SELF(node_.target.get()) == operators;
    return !isOperator;
  }

  Ref<> call(StandIns& standIns) const {
    bool isMethod = node_.operation == NodeOperation::CallMethod;
    size_t first = isMethod ? 1 : 0;
    Ref<> callable = node_.target;
    if (isMethod) {
      Ref<> self = standIns.argument(node_.arguments[0]);
      if (!self) return nullptr;
      callable = Ref<>::steal(PyObject_GetAttr(self.get(), node_.target.get()));
    }
    size_t count = node_.arguments.size() - first;
    Ref<> arguments = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
    Ref<> keywords = Ref<>::steal(PyDict_New());
    if (!callable || !arguments || !keywords) return nullptr;
    for (size_t i = 0; i < count; ++i) {
      Ref<> value = standIns.argument(node_.arguments[first + i]);
      if (!value) return nullptr;
      PyTuple_SET_ITEM(arguments.get(), i, value.release());
    }
    for (const auto& [name, argument] : node_.keywordArguments) {
      Ref<> value = standIns.argument(argument);
      if (!value || PyDict_SetItem(keywords.get(), name.get(), value.get()) < 0) return nullptr;
    }
    Silence silence(numpy_, mayWarn());
    if (PyErr_Occurred()) return nullptr;
    return Ref<>::steal(PyObject_Call(callable.get(), arguments.get(), keywords.get()));
  }

  // False if the sizes of small stand-ins do not tell those of the result.
  bool structure(BorrowedRef<> object, const StandIns& standIns, ResultStructure& result) const {
    PyTypeObject* type = Py_TYPE(object.get());
    if (rule_.effect == NumPyEffect::Tells) {
      if (!isConstantObject(object)) breakOnResult(type);
      result.kind = ResultStructure::Kind::Constant;
      result.constant = Ref<>::create(object);
      return true;
    }
    if (PyTuple_Check(object.get()) || PyList_CheckExact(object.get())) {
      bool isTuple = PyTuple_Check(object.get());
      result.kind = isTuple ? ResultStructure::Kind::Tuple : ResultStructure::Kind::List;
      if (isTuple) result.type = Ref<>::create(reinterpret_cast<PyObject*>(type));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.get()); ++i) {
        ResultStructure element;
        if (!structure(PySequence_Fast_GET_ITEM(object.get(), i), standIns, element)) return false;
        result.elements.push_back(std::move(element));
      }
      return true;
    }
    if (Node* node = standIns.nodeOf(object)) {
      result = same(node);
      return true;
    }
    auto metadata = std::make_shared<TensorMetadata>();
    metadata->library = ArrayLibraryKind::NumPy;
    if (auto found = numpy_.numberOfScalarType.find(type);
        found != numpy_.numberOfScalarType.end()) {
      metadata->dtype = found->second;
      metadata->isScalar = true;
    } else {
      const ArrayLibrary* reader = arrayLibrary(ArrayLibraryKind::NumPy);
      if (type != numpy_.arrayType.get() || !reader || !reader->read(object, *metadata, nullptr)) {
        breakOnResult(type);
      }
      if (!standIns.restore(metadata->sizes)) return false;
      setContiguousStrides(*metadata);
    }
    result.metadata = std::move(metadata);
    return true;
  }

  [[noreturn]] void breakOnResult(PyTypeObject* type) const {
    throw GraphBreak(GraphBreakKind::UnsupportedNumPyResult,
                     targetName(node_.target) + " returns " + type->tp_name);
  }

  const NumPyModule& numpy_;
  const Node& node_;
  const FunctionRule& rule_;
};

}  // namespace

ResultStructure tryOut(const NumPyModule& numpy, const Node& node, const FunctionRule& rule) {
  return TrialRun(numpy, node, rule).run();
}

Ref<> resultOnTrueLayout(const NumPyModule& numpy, const Node& node, const FunctionRule& rule) {
  return TrialRun(numpy, node, rule).callOnTrueLayout();
}

bool dependsOnlyOnData(const NumPyModule& numpy, const Node& node, const FunctionRule& rule,
                       bool isOperator) {
  TrialRun run(numpy, node, rule);
  run.checkForm();
  bool isOnZeros = rule.data == NumPyData::Zeros;
  bool computes = rule.effect == NumPyEffect::None || rule.effect == NumPyEffect::Computes;
  return isOnZeros && (computes || isOperator) && !run.outArgument();
}

namespace {

// The functions of the operator module that compute numbers of numbers.
bool isArithmetic(BorrowedRef<> target) {
  static const auto* functions = [] {
    auto* found = new llvm::SmallPtrSet<PyObject*, 8>();
    Ref<> module = checked(cpython::importModule("_operator"));
    for (const char* name : {"add", "floordiv", "mod", "mul", "neg", "pow", "sub", "truediv"}) {
      found->insert(checked(PyObject_GetAttrString(module.get(), name)).release());
    }
    return found;
  }();
  return functions->contains(target.get());
}

// Does the node compute a number of numbers that are all known?
bool computesAKnownNumber(const NumPyModule& numpy, const Node& node, int depth) {
  constexpr int kDeepest = 8;
  bool isCall = node.operation == NodeOperation::CallFunction && node.keywordArguments.empty() &&
                node.library == ArrayLibraryKind::NumPy && !node.mixesLibraries;
  bool computes =
      isCall && (Py_TYPE(node.target.get()) == numpy.ufuncType.get() || isArithmetic(node.target));
  return computes && depth <= kDeepest && llvm::all_of(node.arguments, [&](const Argument& each) {
           if (each.kind() == Argument::Kind::Node)
             return computesAKnownNumber(numpy, *each.node(), depth + 1);
           if (each.kind() != Argument::Kind::Constant) return false;
           return PyLong_CheckExact(each.object()) || PyFloat_CheckExact(each.object());
         });
}

// The number that such a node computes. Null, with no exception set, where it raises.
Ref<> knownNumber(const NumPyModule& numpy, const Node& node) {
  Ref<> arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(node.arguments.size())));
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const Argument& argument = node.arguments[i];
    Ref<> number = argument.kind() == Argument::Kind::Node ? knownNumber(numpy, *argument.node())
                                                           : Ref<>::create(argument.object());
    if (!number) return nullptr;
    PyTuple_SET_ITEM(arguments.get(), i, number.release());
  }
  Ref<> result = Ref<>::steal(PyObject_CallObject(node.target.get(), arguments.get()));
  if (!result && interrupted()) throw PendingPythonException();
  clearException();
  bool isNumber = result && PyObject_TypeCheck(result.get(), numpy.scalarBase.get());
  return isNumber ? std::move(result) : nullptr;
}

}  // namespace

bool succeedsOnConstants(const NumPyModule& numpy, const Node& node) {
  if (!computesAKnownNumber(numpy, node, 0)) return false;
  FloatingPointErrors errors(numpy, numpy.raiseErrors);
  return static_cast<bool>(knownNumber(numpy, node));
}

Ref<> callSilently(const NumPyModule& numpy, BorrowedRef<> callable, BorrowedRef<> arguments,
                   BorrowedRef<> keywords) {
  Silence silence(numpy, false);
  if (PyErr_Occurred()) return nullptr;
  return Ref<>::steal(PyObject_Call(callable.get(), arguments.get(), keywords.get()));
}

}  // namespace armature
