#include "libraries/numpy/global_state.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"

namespace armature {
namespace {

// The object in the context variable is a capsule of this name
// (numpy/_core/src/umath/extobj.h, npy_extobj).
constexpr const char* capsuleName = "numpy.ufunc.extobj";
struct ErrorHandling {
  int mask;  // three bits each for divide, over, under, invalid
};

constexpr const char* errors[] = {"divide", "over", "under", "invalid"};
constexpr const char* modes[] = {"ignore", "warn", "raise", "call", "print", "log"};
constexpr int bitsOfMode = 3;
constexpr size_t firstHeardMode = 3;

size_t modeNumber(int mask, int error) {
  return static_cast<size_t>(mask >> (error * bitsOfMode)) & ((1 << bitsOfMode) - 1);
}

const char* modeIn(int mask, int error) {
  size_t mode = modeNumber(mask, error);
  return mode < std::size(modes) ? modes[mode] : "?";
}

// numpy.geterr() agrees with the mask.
bool agreesWithPython(BorrowedRef<> numpy, int mask) {
  Ref<> settings = Ref<>::steal(PyObject_CallMethod(numpy, "geterr", nullptr));
  if (!settings || !PyDict_Check(settings.get())) return false;
  for (int i = 0; i < static_cast<int>(std::size(errors)); ++i) {
    PyObject* mode = PyDict_GetItemString(settings.get(), errors[i]);
    if (!mode || !PyUnicode_Check(mode) ||
        PyUnicode_CompareWithASCIIString(mode, modeIn(mask, i)) != 0)
      return false;
  }
  return true;
}

}  // namespace

NumPyState::NumPyState(Ref<> numpy) {
  Ref<> module = Ref<>::steal(cpython::importModule("numpy._core._multiarray_umath"));
  if (module) variable_ = Ref<>::steal(PyObject_GetAttrString(module.get(), "_extobj_contextvar"));
  if (variable_ &&
      (!PyContextVar_CheckExact(variable_.get()) || !agreesWithPython(numpy, errorMask())))
    variable_ = nullptr;
  clearException();
}

int NumPyState::errorMask() const {
  PyObject* value = nullptr;
  if (PyContextVar_Get(variable_.get(), nullptr, &value) < 0 || !value) {
    clearException();
    return -1;
  }
  Ref<> owned = Ref<>::steal(value);
  if (value == read_.get()) return mask_;
  auto* handling = static_cast<ErrorHandling*>(PyCapsule_GetPointer(value, capsuleName));
  if (!handling) {
    clearException();
    return -1;
  }
  read_ = std::move(owned);
  return mask_ = handling->mask;
}

// The bytes of the mask: guards compare them in each call.
std::string NumPyState::capture() const {
  if (!variable_) return "";
  int mask = errorMask();
  return std::string(reinterpret_cast<const char*>(&mask), sizeof mask);
}

int NumPyState::maskIn(const std::string& state) {
  int mask = -1;
  if (state.size() == sizeof mask) std::memcpy(&mask, state.data(), sizeof mask);
  return mask;
}

bool NumPyState::matches(const std::string& state) const {
  return !variable_ || maskIn(state) == errorMask();
}

bool NumPyState::isHeard() const {
  if (!variable_) return false;
  int mask = errorMask();
  for (int i = 0; i < static_cast<int>(std::size(errors)); ++i)
    if (modeNumber(mask, i) >= firstHeardMode) return true;
  return false;
}

std::string NumPyState::explain(const std::string& state) const {
  if (matches(state)) return "";
  int expected = maskIn(state), found = errorMask();
  std::string text;
  for (int i = 0; i < static_cast<int>(std::size(errors)); ++i)
    if (std::string(modeIn(expected, i)) != modeIn(found, i))
      text += (text.empty() ? "" : "; ") + std::string(errors[i]) + ": expected " +
              modeIn(expected, i) + ", found " + modeIn(found, i);
  return text;
}

}  // namespace armature
