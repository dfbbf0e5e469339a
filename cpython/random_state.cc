#include "cpython/random_state.h"

#include <cstring>

#include "cpython/imported_modules.h"

namespace armature::cpython {

namespace {

// RandomObject of _randommodule.c.
constexpr size_t kStateWords = 624;
struct RandomObject {
  PyObject_HEAD int index;
  uint32_t state[kStateWords];
};

RandomObject* as(BorrowedRef<> object) { return reinterpret_cast<RandomObject*>(object.get()); }

// getstate() tells what the fields hold.
bool isLaidOutSo(BorrowedRef<> random) {
  Ref<> state = Ref<>::steal(PyObject_CallMethod(random, "getstate", nullptr));
  if (!state || !PyTuple_Check(state.get())) return false;
  if (PyTuple_GET_SIZE(state.get()) != static_cast<Py_ssize_t>(kStateWords) + 1) return false;
  auto item = [&](size_t i) {
    return PyLong_AsLong(PyTuple_GET_ITEM(state.get(), static_cast<Py_ssize_t>(i)));
  };
  for (size_t i = 0; i < kStateWords; ++i) {
    if (item(i) != static_cast<long>(as(random)->state[i])) return false;
  }
  return item(kStateWords) == as(random)->index;
}

// A generator of our own, for draws on trial; null if there is none whose state we know.
PyObject* ownRandom() {
  static PyObject* const random = []() -> PyObject* {
    Ref<> module = Ref<>::steal(importModule("_random"));
    Ref<> type = Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "Random") : nullptr);
    Ref<> made = Ref<>::steal(type ? PyObject_CallFunction(type.get(), "i", 1) : nullptr);
    bool hasSize =
        made && Py_TYPE(made.get())->tp_basicsize == static_cast<Py_ssize_t>(sizeof(RandomObject));
    bool isKnown = hasSize && isLaidOutSo(made);
    // Another index.
    Ref<> drawn =
        Ref<>::steal(isKnown ? PyObject_CallMethod(made.get(), "random", nullptr) : nullptr);
    isKnown = drawn && isLaidOutSo(made);
    PyErr_Clear();
    return isKnown ? made.release() : nullptr;
  }();
  return random;
}

}  // namespace

PyTypeObject* randomType() { return ownRandom() ? Py_TYPE(ownRandom()) : nullptr; }

Ref<> drawAhead(BorrowedRef<> random, int64_t words, Draw draw, int64_t count) {
  PyObject* own = ownRandom();
  as(own)->index = as(random)->index;
  std::memcpy(as(own)->state, as(random)->state, sizeof(RandomObject::state));
  if (!skipDraws(own, words)) return nullptr;
  return Ref<>::steal(draw == Draw::Unit ? PyObject_CallMethod(own, "random", nullptr)
                                         : PyObject_CallMethod(own, "getrandbits", "L", count));
}

bool skipDraws(BorrowedRef<> random, int64_t words) {
  static PyObject* const bits =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(randomType()), "getrandbits");
  if (words == 0) return true;
  return bits && Ref<>::steal(PyObject_CallFunction(bits, "OL", random.get(), 32 * words));
}

}  // namespace armature::cpython
