// Tries the layouts of iterators out on iterators of every kind.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "cpython/combinatorics.h"
#include "cpython/deque_layout.h"
#include "cpython/iterator_layouts.h"
#include "cpython/iterator_state.h"
#include "cpython/iterators.h"
#include "cpython/specimens.h"

namespace armature::cpython {

namespace {

// What the iterator gives is what was read ahead, from a step that has been made already on.
bool isReadAhead(BorrowedRef<> iterator, int64_t count, bool ends) {
  Ref<> skipped = Ref<>::steal(PyIter_Next(iterator));
  if (!skipped) return false;
  Ref<> ahead = Ref<>::steal(PyList_New(0));
  for (int64_t i = 0; i < count; ++i) {
    if (stepAhead(iterator, i) != Step::Item) return false;
    Loaded item = itemAhead(iterator, i);
    Loaded value = itemAhead(iterator, i, Part::Value);
    Ref<> owned = item.isNew ? Ref<>::steal(item.object) : Ref<>::create(item.object);
    if (!owned) return false;
    PyTypeObject* type = Py_TYPE(iterator.get());
    if (walksOverDict(type) && !givesKeys(type)) owned = Ref<>::create(value.object);
    if (givesKeys(type) && givesValues(type))
      owned = Ref<>::steal(PyTuple_Pack(2, item.object, value.object));
    if (!owned || PyList_Append(ahead.get(), owned.get()) < 0) return false;
  }
  if ((stepAhead(iterator, count) == Step::End) != ends) return false;
  for (int64_t i = 0; i < count; ++i) {
    Ref<> next = Ref<>::steal(PyIter_Next(iterator));
    if (!next || PyObject_RichCompareBool(next.get(), PyList_GET_ITEM(ahead.get(), i), Py_EQ) != 1)
      return false;
  }
  if (!ends) return true;
  Ref<> last = Ref<>::steal(PyIter_Next(iterator));
  return !last && !PyErr_Occurred() && stepAhead(iterator, 0) == Step::End;
}

constexpr const char* kIterators = R"(
import itertools
xs = [5, 6, 7]
holes = {i: -i for i in range(9)}
for i in (0, 2, 3, 8): del holes[i]
class Split:
    def __init__(self): self.a, self.b, self.c = 1, 2, 3
plain = {'a': 1, 'b': 2, 'c': 3}
once = itertools.cycle(xs)
for i in range(3): next(once)
next(once)
ending = [iter(xs), reversed(xs), iter((5, 6, 7)), reversed((5, 6, 7)), iter('abc'), iter('a\u1234c'),
    iter(b'abc'), iter(range(3, 9, 2)), iter(range(9, 3, -2)), iter(plain), iter(plain.values()),
    iter(plain.items()), reversed(plain), reversed(plain.values()), reversed(plain.items()),
    iter({7, 8, 9}), iter(Split().__dict__.items()), reversed(Split().__dict__.items()),
    itertools.repeat(5, 3)]
from collections import deque
deques = [f(d) for f in (iter, reversed) for d in (deque([5, 6, 7]), deque([5, 6, 7], 3))]
for d in deques: next(d)
moved = deque(range(300))
moved.rotate(7)
deques += [iter(moved), reversed(moved)]
for d in deques[-2:]:
    for i in range(298): next(d)
changed = deque([1])
late = iter(changed)
changed.append(1)
sparse = [f(v) for f in (iter, reversed) for v in (holes, holes.values(), holes.items())]
endless = [itertools.count(5), itertools.count(5, 3), itertools.count(0.5, 0.1), itertools.repeat(5),
    once]
function, sentinel = (lambda: 5), object()
inner, other = iter([1, 2]), iter([3, 4])
enumerated, filtered = enumerate(inner, 7), filter(function, inner)
zipped, strict, mapped = zip(inner, other), zip(inner, strict=True), map(function, inner, other)
called, chained = iter(function, sentinel), itertools.chain([1], [2])
sliced, strided = itertools.islice(inner, 2, 7), itertools.islice(iter('abc'), 0, 5, 3)
next(strided)
chain_iterators = chained.__reduce__()[2][0]
next(chained)
chain_active = chained.__reduce__()[2][1]
)";

void tryDeques(PyObject* iterators, PyObject* late) {
  auto isLarge = [](const PyTypeObject* type, size_t size) {
    return type && static_cast<size_t>(type->tp_basicsize) >= size;
  };
  dequeIteratorsAreKnown = isLarge(dequeIteratorType(), sizeof(DequeIterator)) &&
                           isLarge(dequeReverseIteratorType(), sizeof(DequeIterator)) &&
                           isLarge(dequeType(), sizeof(Deque));
  bool areRead = dequeIteratorsAreKnown && stepAhead(late, 0) == Step::Unknown;
  for (Py_ssize_t i = 0; areRead && i < PyList_GET_SIZE(iterators); ++i) {
    areRead = isReadAhead(PyList_GET_ITEM(iterators, i), 1, true);
  }
  PyErr_Clear();
  dequeIteratorsAreKnown = areRead;
}

}  // namespace

bool iteratorsAreRead() {
  Ref<> names = makeSpecimens(kIterators);
  if (!names || !hiddenTypes().islice || !hiddenTypes().cycle || !hiddenTypes().chain ||
      !hiddenTypes().count || !hiddenTypes().repeat)
    return false;
  auto named = [&](const char* name) { return PyDict_GetItemString(names.get(), name); };

  const std::pair<const PyTypeObject*, size_t> sizes[] = {
      {&PyListIter_Type, sizeof(SequenceIterator)},
      {&PyListRevIter_Type, sizeof(SequenceIterator)},
      {&PyTupleIter_Type, sizeof(SequenceIterator)},
      {&PyUnicodeIter_Type, sizeof(SequenceIterator)},
      {hiddenTypes().asciiIterator, sizeof(SequenceIterator)},
      {&PyBytesIter_Type, sizeof(SequenceIterator)},
      {&PyReversed_Type, sizeof(SequenceIterator)},
      {&PyRangeIter_Type, sizeof(RangeIterator)},
      {&PyDictIterItem_Type, sizeof(DictIterator)},
      {&PySetIter_Type, sizeof(SetIterator)},
      {&PyEnum_Type, sizeof(Enumerate)},
      {&PyZip_Type, sizeof(Zip)},
      {&PyMap_Type, sizeof(Map)},
      {&PyFilter_Type, sizeof(Filter)},
      {&PyCallIter_Type, sizeof(CallableIterator)},
      {hiddenTypes().count, sizeof(Count)},
      {hiddenTypes().repeat, sizeof(Repeat)},
      {hiddenTypes().chain, sizeof(Chain)},
      {hiddenTypes().islice, sizeof(Islice)},
      {hiddenTypes().cycle, sizeof(Cycle)}};
  for (auto [type, size] : sizes)
    if (static_cast<size_t>(type->tp_basicsize) < size) return false;

  auto areReadAhead = [&](const char* name, int64_t count, bool end) {
    PyObject* list = named(name);
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); ++i)
      if (!isReadAhead(PyList_GET_ITEM(list, i), count, end)) return false;
    return list != nullptr;
  };
  if (!areReadAhead("ending", 2, true) || !areReadAhead("sparse", 4, true) ||
      !areReadAhead("endless", 5, false))
    return false;

  tryDeques(named("deques"), named("late"));
  tryIteratorStates();
  tryCombinatorics();

  auto holds = [&](const char* iterator, IteratorField field, PyObject* object) {
    return iteratorField(named(iterator), field).object == object;
  };
  auto items = [&](const char* iterator, std::initializer_list<PyObject*> objects) {
    PyObject* tuple = iteratorField(named(iterator), IteratorField::Iterators).object;
    return tuple && PyTuple_CheckExact(tuple) &&
           std::equal(objects.begin(), objects.end(), &PyTuple_GET_ITEM(tuple, 0),
                      &PyTuple_GET_ITEM(tuple, 0) + PyTuple_GET_SIZE(tuple));
  };
  PyObject *function = named("function"), *inner = named("inner"), *other = named("other");
  Ref<> fresh = Ref<>::steal(PyObject_GetIter(named("xs")));
  if (!(iteratorField(fresh, IteratorField::Container).object == named("xs") &&
        holds("enumerated", IteratorField::Iterator, inner) &&
        holds("filtered", IteratorField::Iterator, inner) &&
        holds("filtered", IteratorField::Function, function) && items("zipped", {inner, other}) &&
        holds("zipped", IteratorField::Strict, Py_False) &&
        holds("strict", IteratorField::Strict, Py_True) && items("mapped", {inner, other}) &&
        holds("mapped", IteratorField::Function, function) &&
        holds("sliced", IteratorField::Iterator, inner) &&
        holds("called", IteratorField::Function, function) &&
        holds("called", IteratorField::Sentinel, named("sentinel")) &&
        holds("chained", IteratorField::Iterator, named("chain_iterators")) &&
        holds("chained", IteratorField::Active, named("chain_active"))))
    return false;

  auto isNumber = [&](const char* iterator, IteratorField field, long expected) {
    Loaded count = iteratorField(named(iterator), field);
    Ref<> owned = count.isNew ? Ref<>::steal(count.object) : Ref<>::create(count.object);
    return owned && PyLong_AsLong(owned.get()) == expected;
  };
  auto countIs = [&](long expected) {
    return isNumber("enumerated", IteratorField::Count, expected);
  };
  if (!isNumber("strided", IteratorField::Stride, 3) ||
      !isNumber("strided", IteratorField::Skip, 2) || !advance(named("strided"), 3) ||
      !isNumber("strided", IteratorField::Skip, 1) || !advance(named("strided"), 1) ||
      !isNumber("strided", IteratorField::Skip, 0) || !isNumber("sliced", IteratorField::Skip, 2) ||
      stepAhead(named("sliced"), 6) != Step::Item || stepAhead(named("sliced"), 7) != Step::End)
    return false;
  if (!countIs(7) || !advance(named("enumerated"), 2) || !countIs(9)) return false;
  Ref<> pair = Ref<>::steal(PyIter_Next(named("enumerated")));
  return pair && PyLong_AsLong(PyTuple_GET_ITEM(pair.get(), 0)) == 9 && countIs(10);
}

}  // namespace armature::cpython
