#include "cpython/combinatorics.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <algorithm>
#include <utility>

#include "cpython/iterator_layouts.h"
#include "cpython/specimens.h"

namespace armature::cpython {

namespace {

using Indexes = llvm::SmallVector<Py_ssize_t, 16>;

struct Types {
  PyTypeObject* product = itertoolsType("product");
  PyTypeObject* permutations = itertoolsType("permutations");
  PyTypeObject* combinations = itertoolsType("combinations");
  PyTypeObject* replacement = itertoolsType("combinations_with_replacement");
};

Types& types() {
  static Types all;
  return all;
}

// What lies between has to be gone through each time.
constexpr int64_t kFarthest = 256;

// Where an iterator stands.
struct Walk {
  Indexes indexes;
  Indexes cycles;  // of permutations
  bool hasStarted = false;
  bool hasEnded = false;
};

template <class T>
const T& as(BorrowedRef<> iterator) {
  return *reinterpret_cast<T*>(iterator.get());
}

// To the next indexes; false at the end.
bool stepProduct(PyObject* pools, Indexes& indexes) {
  for (size_t i = indexes.size(); i-- > 0;) {
    if (++indexes[i] < PyTuple_GET_SIZE(PyTuple_GET_ITEM(pools, i))) return true;
    indexes[i] = 0;
  }
  return false;
}

bool stepCombinations(Py_ssize_t size, Indexes& indexes) {
  auto length = static_cast<Py_ssize_t>(indexes.size());
  for (Py_ssize_t i = length; i-- > 0;) {
    if (indexes[i] == size - length + i) continue;
    Py_ssize_t next = indexes[i] + 1;
    for (Py_ssize_t j = i; j < length; ++j) indexes[j] = next++;
    return true;
  }
  return false;
}

bool stepReplacement(Py_ssize_t size, Indexes& indexes) {
  for (size_t i = indexes.size(); i-- > 0;) {
    if (indexes[i] == size - 1) continue;
    std::fill(indexes.begin() + static_cast<Py_ssize_t>(i), indexes.end(), indexes[i] + 1);
    return true;
  }
  return false;
}

bool stepPermutations(Walk& walk) {
  auto size = static_cast<Py_ssize_t>(walk.indexes.size());
  for (size_t i = walk.cycles.size(); i-- > 0;) {
    auto place = walk.indexes.begin() + static_cast<Py_ssize_t>(i);
    if (--walk.cycles[i] > 0) {
      std::swap(*place, walk.indexes[size - walk.cycles[i]]);
      return true;
    }
    std::rotate(place, place + 1, walk.indexes.end());
    walk.cycles[i] = size - static_cast<Py_ssize_t>(i);
  }
  return false;
}

bool hasEmptyPool(PyObject* pools) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pools); ++i) {
    if (PyTuple_GET_SIZE(PyTuple_GET_ITEM(pools, i)) == 0) return true;
  }
  return false;
}

// Goes on to the tuple after `distance` others.
Step walkAhead(Walk& walk, int64_t distance, llvm::function_ref<bool()> step) {
  if (walk.hasEnded) return distance == 0 ? Step::End : Step::Unknown;
  for (int64_t i = walk.hasStarted ? 0 : 1; i <= distance; ++i) {
    if (!step()) return i == distance ? Step::End : Step::Unknown;
  }
  return Step::Item;
}

template <class T>
Walk walkOf(const T& state, Py_ssize_t length) {
  Walk walk;
  walk.indexes.assign(state.indexes, state.indexes + length);
  walk.hasStarted = state.result != nullptr;
  walk.hasEnded = state.hasEnded != 0;
  return walk;
}

}  // namespace

bool givesTuplesOfIndexes(const PyTypeObject* type) {
  const Types& known = types();
  return type && (type == known.product || type == known.permutations ||
                  type == known.combinations || type == known.replacement);
}

Step tupleAhead(BorrowedRef<> iterator, int64_t distance, llvm::SmallVectorImpl<PyObject*>& items) {
  items.clear();
  if (distance < 0 || distance > kFarthest) return Step::Unknown;
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (type == types().product) {
    const auto& product = as<Product>(iterator);
    Walk walk = walkOf(product, PyTuple_GET_SIZE(product.pools));
    if (!walk.hasStarted && hasEmptyPool(product.pools)) walk.hasEnded = true;
    Step step = walkAhead(walk, distance, [&] { return stepProduct(product.pools, walk.indexes); });
    if (step != Step::Item) return step;
    for (size_t i = 0; i < walk.indexes.size(); ++i) {
      items.push_back(PyTuple_GET_ITEM(PyTuple_GET_ITEM(product.pools, i), walk.indexes[i]));
    }
    return step;
  }
  auto take = [&](PyObject* pool, const Walk& walk, Py_ssize_t length) {
    for (Py_ssize_t i = 0; i < length; ++i) {
      items.push_back(PyTuple_GET_ITEM(pool, walk.indexes[i]));
    }
    return Step::Item;
  };
  if (type == types().permutations) {
    const auto& all = as<Permutations>(iterator);
    Py_ssize_t size = PyTuple_GET_SIZE(all.pool);
    Walk walk = walkOf(all, size);
    walk.cycles.assign(all.cycles, all.cycles + all.length);
    Step step = walkAhead(walk, distance, [&] { return stepPermutations(walk); });
    return step == Step::Item ? take(all.pool, walk, all.length) : step;
  }
  const auto& all = as<Combinations>(iterator);
  Py_ssize_t size = PyTuple_GET_SIZE(all.pool);
  Walk walk = walkOf(all, all.length);
  bool repeats = type == types().replacement;
  Step step = walkAhead(walk, distance, [&] {
    return repeats ? stepReplacement(size, walk.indexes) : stepCombinations(size, walk.indexes);
  });
  return step == Step::Item ? take(all.pool, walk, all.length) : step;
}

namespace {

constexpr const char* kIterators = R"(
import itertools as it
made = [
    it.product('abc', 'de'), it.product('ab', repeat=3), it.product(), it.product('a', ''),
    it.permutations('abcd'), it.permutations('abcd', 2), it.permutations('ab', 0),
    it.permutations('ab', 3), it.combinations('abcde', 3), it.combinations('ab', 3),
    it.combinations('', 0), it.combinations_with_replacement('abc', 3),
    it.combinations_with_replacement('', 2), it.combinations_with_replacement('ab', 0)]
)";

// At each place, what is read ahead is what comes.
bool isReadAhead(BorrowedRef<> iterator) {
  constexpr int64_t kMost = 200;
  llvm::SmallVector<PyObject*, 8> items;
  for (int64_t i = 0; i < kMost; ++i) {
    Step ahead[2];
    Ref<> tuples[2];
    for (int64_t distance : {0, 1}) {
      ahead[distance] = tupleAhead(iterator, distance, items);
      tuples[distance] = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
      if (!tuples[distance]) return false;
      for (size_t j = 0; j < items.size(); ++j) {
        PyTuple_SET_ITEM(tuples[distance].get(), j, Py_NewRef(items[j]));
      }
    }
    Ref<> next = Ref<>::steal(PyIter_Next(iterator.get()));
    if (!next) return ahead[0] == Step::End && tupleAhead(iterator, 0, items) == Step::End;
    bool isSame = PyObject_RichCompareBool(tuples[0].get(), next.get(), Py_EQ) == 1;
    if (ahead[0] != Step::Item || !isSame) return false;
    // The one after that is compared as the next one when its turn comes.
    if (ahead[1] != tupleAhead(iterator, 0, items)) return false;
    for (size_t j = 0; j < items.size(); ++j) {
      if (PyTuple_GET_ITEM(tuples[1].get(), j) != items[j]) return false;
    }
  }
  return false;
}

void forget(const PyTypeObject* type) {
  Types& known = types();
  for (PyTypeObject** each :
       {&known.product, &known.permutations, &known.combinations, &known.replacement}) {
    if (*each == type) *each = nullptr;
  }
}

}  // namespace

void tryCombinatorics() {
  Types& known = types();
  const std::pair<PyTypeObject*, size_t> sizes[] = {{known.product, sizeof(Product)},
                                                    {known.permutations, sizeof(Permutations)},
                                                    {known.combinations, sizeof(Combinations)},
                                                    {known.replacement, sizeof(Combinations)}};
  for (auto [type, size] : sizes) {
    if (type && static_cast<size_t>(type->tp_basicsize) < size) forget(type);
  }
  Ref<> names = makeSpecimens(kIterators);
  PyObject* made = names ? PyDict_GetItemString(names.get(), "made") : nullptr;
  for (Py_ssize_t i = 0; made && i < PyList_GET_SIZE(made); ++i) {
    PyObject* iterator = PyList_GET_ITEM(made, i);
    if (givesTuplesOfIndexes(Py_TYPE(iterator)) && !isReadAhead(iterator))
      forget(Py_TYPE(iterator));
  }
  if (!made) types() = {nullptr, nullptr, nullptr, nullptr};
  PyErr_Clear();
}

}  // namespace armature::cpython
