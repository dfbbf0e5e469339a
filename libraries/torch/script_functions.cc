#include "libraries/torch/script_functions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "libraries/package_modules.h"

namespace armature {

namespace {

// Nodes of a script that are no operators: they make up values and choose what comes next.
constexpr std::array<std::string_view, 13> kHarmless = {
    "prim::Constant",     "prim::If",          "prim::ListConstruct",  "prim::ListUnpack",
    "prim::Loop",         "prim::NumToTensor", "prim::TupleConstruct", "prim::TupleIndex",
    "prim::TupleUnpack",  "prim::device",      "prim::dtype",          "prim::unchecked_cast",
    "prim::Uninitialized"};

Ref<> attribute(const Ref<>& object, const char* name) {
  return Ref<>::steal(object ? PyObject_GetAttrString(object.get(), name) : nullptr);
}

Ref<> answer(const Ref<>& object, const char* method) {
  return Ref<>::steal(object ? PyObject_CallMethod(object.get(), method, nullptr) : nullptr);
}

// An operator that changes no argument and draws no random numbers.
bool onlyComputes(const Ref<>& node, std::string_view kind) {
  static PyObject* const parse =
      Py_XNewRef(cpython::importedAttribute("torch._C", "parse_schema").get());
  if (!kind.starts_with("aten::") || !parse) return false;
  Ref<> text = answer(node, "schema");
  if (!text || !PyUnicode_Check(text.get()) || stringView(text) == "(no schema)") return false;
  Ref<> schema = Ref<>::steal(PyObject_CallOneArg(parse, text.get()));
  if (!schema) return false;
  Ref<> isMutable = attribute(schema, "is_mutable");
  Ref<> isRandom = answer(node, "isNondeterministic");
  return isMutable.get() == Py_False && isRandom.get() == Py_False;
}

// Of the nodes of a graph or block, and what is in them.
bool isPure(const Ref<>& block) {
  Ref<> iterator = answer(block, "nodes");
  if (!iterator) return false;
  while (Ref<> node = Ref<>::steal(PyIter_Next(iterator.get()))) {
    Ref<> kind = answer(node, "kind");
    if (!kind || !PyUnicode_Check(kind.get())) return false;
    if (std::ranges::find(kHarmless, stringView(kind)) == kHarmless.end()) {
      if (!onlyComputes(node, stringView(kind))) return false;
      continue;
    }
    Ref<> inner = answer(node, "blocks");
    Ref<> blocks = Ref<>::steal(inner ? PyObject_GetIter(inner.get()) : nullptr);
    if (!blocks) return false;
    while (Ref<> each = Ref<>::steal(PyIter_Next(blocks.get()))) {
      if (!isPure(each)) return false;
    }
  }
  return !PyErr_Occurred();
}

}  // namespace

bool isScriptFunction(BorrowedRef<> callable) {
  static PyObject* const type =
      Py_XNewRef(cpython::importedAttribute("torch._C", "ScriptFunction").get());
  return type && reinterpret_cast<PyObject*>(Py_TYPE(callable.get())) == type;
}

CallRule scriptFunctionRule(BorrowedRef<> function) {
  bool computes = isPure(attribute(Ref<>::create(function), "inlined_graph"));
  clearUnlessInterrupted();
  if (computes) return {.kind = CallKind::GraphOperation};
  return {.kind = CallKind::Unsupported,
          .reason = "the script may change its arguments, draw random numbers or write"};
}

}  // namespace armature
