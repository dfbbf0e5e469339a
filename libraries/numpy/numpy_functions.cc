#include "libraries/numpy/numpy_functions.h"

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/function_layout.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"

namespace armature {

namespace {

constexpr const char* kUnknown = "this function of NumPy is not known to the trace";

// By the number of arguments of a universal function.
constexpr std::array<FunctionRule, 4> kUniversalFunctions = {
    FunctionRule{}, FunctionRule{.arrays = 0b1}, FunctionRule{.arrays = 0b11},
    FunctionRule{.arrays = 0b111}};
// numpy.float32(x) and its like: an array, or a scalar of that type.
constexpr FunctionRule kScalarType = {.sizes = NumPySizes::Computed};

bool isNumPysName(std::string_view module) {
  return module == "numpy" || module.starts_with("numpy.");
}

// The module or class that a family belongs to; null where this NumPy lacks it.
Ref<> ownerNamed(const NumPyModule& numpy, std::string_view name) {
  constexpr std::string_view kPrefix = "numpy.";
  if (name.starts_with(kPrefix)) return numpy.attribute(name.substr(kPrefix.size()).data());
  Ref<> module = Ref<>::steal(cpython::importModule(name.data()));
  clearException();
  return module;
}

CallRule callRule(const FunctionRule& rule) {
  if (*rule.reason) return {.kind = CallKind::Unsupported, .reason = rule.reason};
  return {.kind = CallKind::GraphOperation};
}

}  // namespace

NumPyFunctions::NumPyFunctions(const NumPyModule& numpy) : numpy_(numpy) {
  for (const FunctionFamily& family : functionFamilies()) addFamily(family);
  addUniversalFunctions();
  for (PyTypeObject* type : numpy.scalarTypes) {
    if (type) add(functions_, Ref<>::create(reinterpret_cast<PyObject*>(type)), &kScalarType);
  }
}

void NumPyFunctions::add(Rules& rules, Ref<> callable, const FunctionRule* rule) {
  if (!callable || !rules.try_emplace(callable.get(), rule).second) return;
  kept_.push_back(std::move(callable));
}

void NumPyFunctions::addFamily(const FunctionFamily& family) {
  std::string_view ownerName = family.owner;
  Ref<> owner = ownerNamed(numpy_, ownerName);
  if (!owner) return;
  bool isMethods = ownerName == "numpy.ndarray";
  Rules& rules = isNumPysName(ownerName) ? functions_ : operators_;
  for (std::string_view names = family.names; !names.empty();) {
    size_t space = std::min(names.find(' '), names.size());
    std::string name(names.substr(0, space));
    names.remove_prefix(std::min(space + 1, names.size()));
    Ref<> callable = Ref<>::steal(PyObject_GetAttrString(owner.get(), name.c_str()));
    clearException();
    // What a program has put in the place of NumPy's own is not what the rule is about.
    if (!callable || (&rules == &functions_ && !isFromNumPy(callable))) continue;
    if (isMethods) methods_[name] = &family.rule;
    add(rules, std::move(callable), &family.rule);
  }
}

void NumPyFunctions::addUniversalFunctions() {
  PyObject *name, *value;
  for (Py_ssize_t i = 0; PyDict_Next(PyModule_GetDict(numpy_.numpy.get()), &i, &name, &value);) {
    if (Py_TYPE(value) != numpy_.ufuncType.get()) continue;
    Ref<> count = Ref<>::steal(PyObject_GetAttrString(value, "nin"));
    size_t inputs = count ? PyLong_AsSize_t(count.get()) : kUniversalFunctions.size();
    clearException();
    if (inputs >= kUniversalFunctions.size()) continue;
    add(functions_, Ref<>::create(value), &kUniversalFunctions[inputs]);
  }
}

CallRule NumPyFunctions::classify(BorrowedRef<> callable) const {
  if (auto found = functions_.find(callable.get()); found != functions_.end()) {
    return callRule(*found->second);
  }
  if (isOfLimits(callable)) return {.kind = CallKind::Inline};
  if (isFromNumPy(callable)) return {.kind = CallKind::Unsupported, .reason = kUnknown};
  return {};
}

// finfo and iinfo are plain Python, and what they have found out once they keep.
bool NumPyFunctions::isOfLimits(BorrowedRef<> callable) const {
  constexpr std::string_view kModule = "numpy._core.getlimits";
  PyObject* object = callable;
  if (PyFunction_Check(object)) {
    return modules_.definedIn(object) == kModule;
  }
  PyObject* limits = PyType_Check(object) ? modules_.dictOf(kModule) : nullptr;
  for (const char* name : {"finfo", "iinfo"}) {
    if (limits && PyDict_GetItemString(limits, name) == object) return true;
  }
  return false;
}

bool NumPyFunctions::isFromNumPy(BorrowedRef<> callable) const {
  PyObject* object = callable;
  PyTypeObject* type = Py_TYPE(object);
  if (PyFunction_Check(object)) {
    return !modules_.definedIn(object).empty();
  }
  if (PyCFunction_Check(object)) {
    PyObject* self = PyCFunction_GET_SELF(object);
    if (!self) return false;
    if (PyModule_Check(self)) return !modules_.moduleOf(PyModule_GetDict(self)).empty();
    return modules_.holdsClass(Py_TYPE(self));
  }
  if (PyType_Check(object)) return modules_.holdsClass(reinterpret_cast<PyTypeObject*>(object));
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) {
    return modules_.holdsClass(PyDescr_TYPE(object));
  }
  return modules_.holdsClass(type);
}

CallRule NumPyFunctions::classifyMethod(BorrowedRef<> name) const {
  auto found = methods_.find(printable(name));
  if (found == methods_.end()) return {.kind = CallKind::Unsupported};
  CallRule rule = callRule(*found->second);
  rule.mutates = found->second->effect == NumPyEffect::Mutates;
  return rule;
}

const FunctionRule& NumPyFunctions::of(const Node& node) const {
  const FunctionRule* rule = nullptr;
  if (node.operation == NodeOperation::CallMethod) {
    auto found = methods_.find(printable(node.target));
    if (found != methods_.end()) rule = found->second;
  } else if (auto found = functions_.find(node.target.get()); found != functions_.end()) {
    rule = found->second;
  } else if (auto operation = operators_.find(node.target.get()); operation != operators_.end()) {
    rule = operation->second;
  }
  if (!rule) throw std::logic_error("not an operation of NumPy's: " + printable(node.target));
  return *rule;
}

}  // namespace armature
