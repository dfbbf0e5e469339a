#include "runtime/argument_binding.h"

#include <algorithm>

#include "cpython/function_layout.h"

namespace armature {

namespace {

// The parameter that a keyword names, or -1. Names are interned as a rule.
int32_t findParameter(const Code& code, PyObject* name) {
  int32_t end = code.argumentCount + code.keywordOnlyCount;
  for (int32_t i = code.positionalOnlyCount; i < end; ++i) {
    if (code.locals[i].name.get() == name) return i;
  }
  for (int32_t i = code.positionalOnlyCount; i < end; ++i) {
    if (PyUnicode_Compare(code.locals[i].name.get(), name) == 0) return i;
  }
  return -1;
}

}  // namespace

bool bindArguments(const Code& code, BorrowedRef<> function, PyObject* const* arguments,
                   size_t positionalCount, PyObject* keywordNames, PyObject** slots,
                   BindingTemporaries& temporaries) {
  size_t positional = code.argumentCount;
  size_t total = positional + code.keywordOnlyCount;
  size_t taken = std::min(positionalCount, positional);
  std::copy_n(arguments, taken, slots);
  std::fill(slots + taken, slots + code.boundCount(), nullptr);
  if (positionalCount > positional && !code.hasVarPositional()) return false;
  if (code.hasVarPositional()) {
    Ref<> rest = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(positionalCount - taken)));
    if (!rest) return false;
    for (size_t i = taken; i < positionalCount; ++i) {
      PyTuple_SET_ITEM(rest.get(), i - taken, Py_NewRef(arguments[i]));
    }
    slots[total] = rest.get();
    temporaries.varPositional = std::move(rest);
  }
  if (code.hasVarKeyword()) {
    temporaries.varKeyword = Ref<>::steal(PyDict_New());
    if (!temporaries.varKeyword) return false;
    slots[total + code.hasVarPositional()] = temporaries.varKeyword.get();
  }
  size_t keywordCount = keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0;
  for (size_t i = 0; i < keywordCount; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keywordNames, i);
    PyObject* value = arguments[positionalCount + i];
    if (!PyUnicode_CheckExact(name)) return false;  // it may be equal to what it likes
    int32_t parameter = findParameter(code, name);
    if (parameter >= 0) {
      if (slots[parameter]) return false;
      slots[parameter] = value;
    } else if (!temporaries.varKeyword ||
               PyDict_SetItem(temporaries.varKeyword.get(), name, value) < 0) {
      return false;
    }
  }
  // Defaults.
  PyObject* defaults = cpython::read(function, cpython::FunctionField::Defaults);
  size_t defaultCount = defaults ? PyTuple_GET_SIZE(defaults) : 0;
  if (defaultCount > positional) return false;
  for (size_t i = taken; i < positional; ++i) {
    if (slots[i]) continue;
    size_t firstDefault = positional - defaultCount;
    if (i < firstDefault) return false;
    if (!temporaries.defaults) temporaries.defaults = Ref<>::create(defaults);
    slots[i] = PyTuple_GET_ITEM(defaults, i - firstDefault);
  }
  for (size_t i = positional; i < total; ++i) {
    if (slots[i]) continue;
    PyObject* keywordDefaults = cpython::read(function, cpython::FunctionField::KeywordDefaults);
    slots[i] = keywordDefaults ? PyDict_GetItemWithError(keywordDefaults, code.locals[i].name.get())
                               : nullptr;
    if (!slots[i]) return false;
    temporaries.keywordDefaults.push_back(Ref<>::create(slots[i]));
  }
  return true;
}

namespace {

// No parameters but plain ones: a call with one positional argument for each fits.
bool hasOnlyPositional(const Code& code) {
  return code.keywordOnlyCount == 0 && !code.hasVarPositional() && !code.hasVarKeyword();
}

}  // namespace

bool bindCall(BorrowedRef<> function, const EntryPoint& entry, PyObject* const* arguments,
              size_t positionalCount, PyObject* keywordNames, PyObject** slots,
              BindingTemporaries& temporaries) {
  size_t bound = entry.code->boundCount();
  if (hasOnlyPositional(*entry.code) && !keywordNames && positionalCount == bound) {
    std::copy_n(arguments, bound, slots);
  } else if (!bindArguments(*entry.code, function, arguments, positionalCount, keywordNames, slots,
                            temporaries)) {
    return false;
  }
  if (PyObject* closure = cpython::read(function, cpython::FunctionField::Closure)) {
    for (size_t i = bound; i < entry.locals.size(); ++i) {
      slots[i] = PyTuple_GET_ITEM(closure, i - bound);
    }
  }
  return true;
}

EntryPoint functionEntry(CodePtr code) {
  EntryPoint entry;
  int32_t bound = code->boundCount();
  for (int32_t i = 0; i < static_cast<int32_t>(code->locals.size()); ++i) {
    bool isFree = code->locals[i].kind == LocalKind::Free;
    if (i >= bound && !isFree) continue;
    entry.locals.push_back(i);
    entry.localIsCell.push_back(isFree);
  }
  entry.code = std::move(code);
  return entry;
}

}  // namespace armature
