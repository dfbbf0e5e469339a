#include "variables/functions/stand_ins.h"

#include <llvm/ADT/DenseMap.h>

#include <algorithm>

#include "core/checked.h"
#include "variables/functions/functions.h"
#include "variables/functions/library_calls.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// Both keep what they hold for the length of the process.
llvm::DenseMap<PyObject*, PyObject*>& standIns() {
  static auto* all = new llvm::DenseMap<PyObject*, PyObject*>();
  return *all;
}
PyObject* theirGlobals = nullptr;

bool fits(PyObject* function, const CallArguments& arguments) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  PyObject* defaults = PyFunction_GET_DEFAULTS(function);
  auto given = static_cast<Py_ssize_t>(arguments.positionalCount());
  Py_ssize_t positional = code->co_argcount, named = positional + code->co_kwonlyargcount;
  Py_ssize_t needed = positional - (defaults ? PyTuple_GET_SIZE(defaults) : 0);
  if (given > positional) return false;
  std::vector<bool> filled(static_cast<size_t>(named));
  std::fill_n(filled.begin(), given, true);
  Ref<> names = checked(PyCode_GetVarnames(code));
  for (size_t k = 0; k < arguments.keywordCount(); ++k) {
    Py_ssize_t i = code->co_posonlyargcount;
    while (i < named &&
           PyUnicode_Compare(PyTuple_GET_ITEM(names.get(), i), arguments.keywordName(k)) != 0) {
      ++i;
    }
    if (i == named || filled[static_cast<size_t>(i)]) return false;
    filled[static_cast<size_t>(i)] = true;
  }
  return std::all_of(filled.begin(), filled.begin() + needed, [](bool is) { return is; });
}

}  // namespace

void setStandIns(const std::vector<std::pair<Ref<>, Ref<>>>& functions) {
  for (const auto& [real, standIn] : functions) {
    standIns()[Ref<>(real).release()] = Ref<>(standIn).release();
    theirGlobals = PyFunction_GET_GLOBALS(standIn.get());
  }
}

PyObject* standInFor(const Value& callable) {
  PyObject* real = callable.isTracker() ? callable.tracker()->existing() : callable.objectOrNull();
  return real ? standInFor(BorrowedRef<>(real)) : nullptr;
}

PyObject* standInFor(BorrowedRef<> callable) { return standIns().lookup(callable.get()); }

Value standInValue(Translator& translator, PyObject* standIn) {
  return translator.wrapOnce(translator.sources->constant(standIn), standIn);
}

bool isOfStandIns(BorrowedRef<> globals) { return globals && globals.get() == theirGlobals; }

Value callStandIn(Translator& translator, const Value& callable, PyObject* standIn,
                  CallArguments& arguments) {
  guardObject(translator, callable);
  if (!fits(standIn, arguments)) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(callable));
  }
  arguments.tail = false;
  return call(translator, standInValue(translator, standIn), arguments);
}

}  // namespace armature
