#include "variables/constants/digit_limit.h"

#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "core/set_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "cpython/integers.h"

namespace armature {

namespace {

// sys.int_info.str_digits_check_threshold, below which there is no limit; and that in bits.
constexpr int kLowestLimit = 640;
constexpr size_t kLowestLimitBits = 2126;

// Parts of tuples are operands; those of what is rarer are not looked at.
bool mayBeLong(PyObject* operand) {
  if (PyTuple_CheckExact(operand)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(operand); ++i) {
      if (mayBeLong(PyTuple_GET_ITEM(operand, i))) return true;
    }
    return false;
  }
  if (PyLong_Check(operand)) return cpython::bitLength(operand) >= kLowestLimitBits;
  if (PyUnicode_Check(operand)) return PyUnicode_GET_LENGTH(operand) > kLowestLimit;
  if (PyBytes_Check(operand)) return PyBytes_GET_SIZE(operand) > kLowestLimit;
  return operand != Py_None && !PyFloat_Check(operand) && !PyType_Check(operand) &&
         !PyCFunction_Check(operand);
}

Ref<> functionOfSys(const char* name) {
  Ref<> module = checked(cpython::importModule("sys"));
  return checked(PyObject_GetAttrString(module.get(), name));
}

// Lets the lowest limit be in force.
class LowestDigitLimit {
 public:
  LowestDigitLimit() {
    static PyObject* const get = functionOfSys("get_int_max_str_digits").release();
    static PyObject* const lowest = checked(PyLong_FromLong(kLowestLimit)).release();
    before_ = checked(PyObject_CallNoArgs(get));
    set(lowest);
  }
  ~LowestDigitLimit() {
    SetException kept;
    set(before_.get());
  }
  LowestDigitLimit(const LowestDigitLimit&) = delete;
  LowestDigitLimit& operator=(const LowestDigitLimit&) = delete;

 private:
  // Neither fails: both limits are ones that are allowed.
  static void set(PyObject* limit) {
    static PyObject* const function = functionOfSys("set_int_max_str_digits").release();
    Py_XDECREF(PyObject_CallOneArg(function, limit));
  }

  Ref<> before_;
};

bool isLimitExceeded() {
  if (!PyErr_ExceptionMatches(PyExc_ValueError)) return false;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref<> text = Ref<>::steal(PyObject_Str(value));
  if (!text) clearException();
  bool isExceeded = text && printable(text).starts_with("Exceeds the limit (");
  PyErr_Restore(type, value, traceback);
  return isExceeded;
}

}  // namespace

PyObject* withinDigitLimit(llvm::ArrayRef<PyObject*> operands,
                           llvm::function_ref<PyObject*()> operation) {
  if (llvm::none_of(operands, mayBeLong)) return operation();
  LowestDigitLimit limit;
  PyObject* result = operation();
  if (result || !isLimitExceeded()) return result;
  clearException();
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, "conversion between an int and its digits",
                   "How many digits may be converted is for the program to set.");
}

}  // namespace armature
