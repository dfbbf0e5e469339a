#include "variables/containers/sorting.h"

#include <exception>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "variables/containers/position_sort.h"
#include "variables/continuation.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

class Comparison : public Order {
 public:
  Comparison(Translator& translator, const ValueVector& keys, const SortOptions& options)
      : translator_(translator), keys_(keys), options_(options) {}

  int lessThan(size_t left, size_t right) override {
    ListVariable* outcomes = options_.outcomes;
    if (outcomes && done_ < outcomes->items().size()) return outcomes->items()[done_++].is(Py_True);
    if (options_.raised) return -1;
    try {
      bool tail = options_.tail && outcomes;
      Value result = richCompare(translator_, keys_[left], keys_[right], Py_LT, tail);
      result = then(translator_, std::move(result), {OnReturn::Truth, {}}, tail);
      framePushed = result.isFramePushed();
      if (!result || framePushed) return -1;
      bool isLess = result.is(Py_True);
      if (outcomes) {
        outcomes->append(translator_, std::move(result));
        ++done_;
      }
      return isLess;
    } catch (...) {
      interruption = std::current_exception();
      return -1;
    }
  }

  bool framePushed = false;
  // A graph break must not fly through CPython's C code: it is kept, and thrown again behind it.
  std::exception_ptr interruption;

 private:
  Translator& translator_;
  const ValueVector& keys_;
  const SortOptions& options_;
  size_t done_ = 0;
};

// The constants themselves where all keys are constants; else null.
Ref<> constantKeys(const ValueVector& keys) {
  if (!llvm::all_of(keys, [](const Value& key) { return key.isConstant(); })) return nullptr;
  Ref<> list = checked(PyList_New(static_cast<Py_ssize_t>(keys.size())));
  for (size_t i = 0; i < keys.size(); ++i) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Py_NewRef(keys[i].object()));
  }
  return list;
}

}  // namespace

SortResult sortValues(Translator& translator, ValueVector& items, ValueVector keys, bool reverse,
                      SortOptions options) {
  for (Value& key : keys) translator.realize(key);

  // What is sorted is the positions, by the keys at these positions.
  Comparison comparison(translator, keys, options);
  Ref<> constants = constantKeys(keys);
  Ref<> positions = makePositions(items.size());
  bool done = constants ? sortPositionsBy(positions, constants, reverse)
                        : sortPositions(positions, reverse, comparison);
  if (!done) {
    // Of what is traced, the exception that stopped the sort only did that.
    if (comparison.interruption || comparison.framePushed || translator.exceptionPending()) {
      clearException();
    } else {
      translator.raiseFromPython();
    }
    if (comparison.interruption) std::rethrow_exception(comparison.interruption);
    if (comparison.framePushed) return SortResult::FramePushed;
  }
  ValueVector sorted;
  sorted.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* position = PyList_GET_ITEM(positions.get(), static_cast<Py_ssize_t>(i));
    sorted.push_back(std::move(items[PyLong_AsSize_t(position)]));
  }
  items = std::move(sorted);
  return done ? SortResult::Sorted : SortResult::Raised;
}

}  // namespace armature
