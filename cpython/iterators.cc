#include "cpython/iterators.h"

#include <algorithm>
#include <initializer_list>

#include "cpython/internal_dict.h"

namespace armature::cpython {

namespace {

// CPython keeps these structs to itself: Objects/listobject.c, tupleobject.c, unicodeobject.c,
// bytesobject.c, rangeobject.c, dictobject.c, setobject.c, enumobject.c, iterobject.c;
// Python/bltinmodule.c; Modules/itertoolsmodule.c.

// Of lists and tuples, str and bytes, and reversed().
struct SequenceIterator {
  PyObject ob_base;
  Py_ssize_t index;
  PyObject* sequence;
};

struct RangeIterator {
  PyObject ob_base;
  long index;
  long start;
  long step;
  long length;
};

struct DictIterator {
  PyObject ob_base;
  PyDictObject* dict;
  Py_ssize_t used;
  Py_ssize_t position;
  PyObject* result;
  Py_ssize_t remaining;
};

struct SetIterator {
  PyObject ob_base;
  PySetObject* set;
  Py_ssize_t used;
  Py_ssize_t position;
  Py_ssize_t remaining;
};

struct Enumerate {
  PyObject ob_base;
  Py_ssize_t count;
  PyObject* iterator;
  PyObject* result;
  PyObject* longCount;  // where `count` is at its maximum; null until needed
};

struct Zip {
  PyObject ob_base;
  Py_ssize_t size;
  PyObject* iterators;
  PyObject* result;
  int strict;
};

struct Map {
  PyObject ob_base;
  PyObject* iterators;
  PyObject* function;
};

struct Filter {
  PyObject ob_base;
  PyObject* function;
  PyObject* iterator;
};

struct CallableIterator {
  PyObject ob_base;
  PyObject* function;
  PyObject* sentinel;
};

struct Count {
  PyObject ob_base;
  Py_ssize_t count;
  PyObject* longCount;  // where `count` is at its maximum
  PyObject* longStep;
};

struct Repeat {
  PyObject ob_base;
  PyObject* element;
  Py_ssize_t remaining;  // below 0: for ever
};

struct Chain {
  PyObject ob_base;
  PyObject* iterators;
  PyObject* active;
};

struct Cycle {
  PyObject ob_base;
  PyObject* iterator;
  PyObject* saved;
  Py_ssize_t index;
};

template <class T>
T* as(BorrowedRef<> object) {
  return reinterpret_cast<T*>(object.get());
}

// The types that no header declares, found once.
struct HiddenTypes {
  PyTypeObject* asciiIterator = nullptr;
  PyTypeObject* count = nullptr;
  PyTypeObject* repeat = nullptr;
  PyTypeObject* chain = nullptr;
  PyTypeObject* cycle = nullptr;
};

const HiddenTypes& hidden() {
  static const HiddenTypes types = [] {
    HiddenTypes found;
    Ref<> text = Ref<>::steal(PyUnicode_FromString("a"));
    if (Ref<> iterator = Ref<>::steal(text ? PyObject_GetIter(text.get()) : nullptr))
      found.asciiIterator = Py_TYPE(iterator.get());
    Ref<> module = Ref<>::steal(PyImport_ImportModule("itertools"));
    auto type = [&](const char* name) {
      // Kept for the life of the process, as the module keeps it.
      PyObject* object = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
      return object && PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : nullptr;
    };
    found.count = type("count");
    found.repeat = type("repeat");
    found.chain = type("chain");
    found.cycle = type("cycle");
    PyErr_Clear();
    return found;
  }();
  return types;
}

bool isOneOf(const PyTypeObject* type, std::initializer_list<const PyTypeObject*> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool isStringIterator(const PyTypeObject* type) {
  return type == &PyUnicodeIter_Type || type == hidden().asciiIterator;
}

// Where an item lies.
struct Place {
  Step step = Step::Unknown;
  Py_ssize_t index = 0;  // in the sequence; for dicts and sets the position of a walk
};

constexpr Place kEnd = {Step::End, 0};
constexpr Place kUnknown = {Step::Unknown, 0};

// What lies between has to be walked through each time.
constexpr int64_t kLongestWalk = 1 << 12;

Place placeInSequence(Py_ssize_t index, int64_t distance, Py_ssize_t length) {
  // Behind the end, where items may yet come to be.
  if (index < 0 || distance > length - index) return kUnknown;
  if (distance == length - index) return kEnd;
  return {Step::Item, index + static_cast<Py_ssize_t>(distance)};
}

Place placeBackwards(Py_ssize_t index, int64_t distance, Py_ssize_t length) {
  if (index >= length || distance > index + 1) return kUnknown;
  if (distance == index + 1) return kEnd;
  return {Step::Item, index - static_cast<Py_ssize_t>(distance)};
}

Py_ssize_t lengthOf(BorrowedRef<> sequence) {
  if (PyList_Check(sequence.get())) return PyList_GET_SIZE(sequence.get());
  if (PyTuple_Check(sequence.get())) return PyTuple_GET_SIZE(sequence.get());
  if (PyUnicode_Check(sequence.get())) return PyUnicode_GET_LENGTH(sequence.get());
  return PyBytes_Check(sequence.get()) ? PyBytes_GET_SIZE(sequence.get()) : -1;
}

Loaded itemOfSequence(BorrowedRef<> sequence, Py_ssize_t index) {
  if (PyList_Check(sequence.get())) return {PyList_GET_ITEM(sequence.get(), index), false};
  if (PyTuple_Check(sequence.get())) return {PyTuple_GET_ITEM(sequence.get(), index), false};
  if (PyUnicode_Check(sequence.get()))
    return {PyUnicode_FromOrdinal(static_cast<int>(PyUnicode_READ_CHAR(sequence.get(), index))),
            true};
  auto byte = static_cast<unsigned char>(PyBytes_AS_STRING(sequence.get())[index]);
  return {PyLong_FromLong(byte), true};
}

// reversed() asks the sequence's own methods, unless it is one of these.
bool isReversedByIndex(BorrowedRef<> sequence) {
  return PyTuple_CheckExact(sequence.get()) || PyUnicode_CheckExact(sequence.get()) ||
         PyBytes_CheckExact(sequence.get());
}

bool isDense(PyDictObject* dict) {
  return dict->ma_values || dict->ma_keys->dk_nentries == dict->ma_used;
}

Place placeInDict(const DictIterator& iterator, int64_t distance, bool backwards) {
  PyDictObject* dict = iterator.dict;
  if (!dict) return distance == 0 ? kEnd : kUnknown;
  // The next step raises.
  if (iterator.used != dict->ma_used) return kUnknown;
  auto* object = reinterpret_cast<PyObject*>(dict);
  Py_ssize_t position = iterator.position;
  auto isThere = [&](Py_ssize_t at) {
    PyObject *key, *value;
    return at >= 0 && PyDict_Next(object, &at, &key, &value);
  };
  if (distance > iterator.remaining) return kUnknown;
  bool isLast = distance == iterator.remaining;
  if (isDense(dict)) {
    position += static_cast<Py_ssize_t>(backwards ? -distance : distance);
    // More items than the iterator counted on: keys were exchanged.
    if (isThere(position)) return isLast ? kUnknown : Place{Step::Item, position};
    return isLast ? kEnd : kUnknown;
  }
  if (distance > kLongestWalk) return kUnknown;
  for (int64_t skipped = 0;; ++skipped) {
    Py_ssize_t found = -1;
    PyObject *key, *value;
    if (backwards) {
      for (found = position; found >= 0; --found) {
        Py_ssize_t next = found;
        if (PyDict_Next(object, &next, &key, &value) && next == found + 1) break;
      }
      position = found - 1;
    } else if (PyDict_Next(object, &position, &key, &value)) {
      found = position - 1;
    }
    if (found < 0) return skipped == distance && isLast ? kEnd : kUnknown;
    if (skipped == distance) return isLast ? kUnknown : Place{Step::Item, found};
  }
}

Place placeInSet(const SetIterator& iterator, int64_t distance) {
  PySetObject* set = iterator.set;
  if (!set) return distance == 0 ? kEnd : kUnknown;
  if (iterator.used != set->used || distance > kLongestWalk) return kUnknown;
  auto* object = reinterpret_cast<PyObject*>(set);
  Py_ssize_t position = iterator.position;
  for (int64_t skipped = 0;; ++skipped) {
    PyObject* element;
    Py_hash_t hash;
    if (!_PySet_NextEntry(object, &position, &element, &hash))
      return skipped == distance ? kEnd : kUnknown;
    if (skipped == distance) return {Step::Item, position - 1};
  }
}

bool isPlainNumber(PyObject* object) {
  return object && (PyLong_CheckExact(object) || PyFloat_CheckExact(object));
}

Place placeInCount(const Count& iterator, int64_t distance) {
  if (iterator.count != PY_SSIZE_T_MAX) {
    return distance < PY_SSIZE_T_MAX - iterator.count ? Place{Step::Item, 0} : kUnknown;
  }
  bool plain = isPlainNumber(iterator.longCount) && isPlainNumber(iterator.longStep);
  return plain && distance <= kLongestWalk ? Place{Step::Item, 0} : kUnknown;
}

Loaded itemOfCount(const Count& iterator, int64_t distance) {
  if (iterator.count != PY_SSIZE_T_MAX)
    return {PyLong_FromLongLong(iterator.count + distance), true};
  // As the iterator does it: floats are not added at once.
  Ref<> sum = Ref<>::create(iterator.longCount);
  for (int64_t i = 0; sum && i < distance; ++i)
    sum = Ref<>::steal(PyNumber_Add(sum.get(), iterator.longStep));
  return {sum.release(), true};
}

Place placeOf(BorrowedRef<> iterator, int64_t distance) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (walksOverDict(type))
    return placeInDict(*as<DictIterator>(iterator), distance, walksBackwards(type));
  if (type == &PySetIter_Type) return placeInSet(*as<SetIterator>(iterator), distance);
  if (type == &PyRangeIter_Type) {
    const RangeIterator& range = *as<RangeIterator>(iterator);
    if (range.index >= range.length) return distance == 0 ? kEnd : kUnknown;
    return placeInSequence(range.index, distance, range.length);
  }
  if (type == hidden().count) return placeInCount(*as<Count>(iterator), distance);
  if (type == hidden().repeat) {
    Py_ssize_t remaining = as<Repeat>(iterator)->remaining;
    if (remaining < 0 || distance < remaining) return {Step::Item, 0};
    return distance == remaining ? kEnd : kUnknown;
  }
  if (type == hidden().cycle) {
    const Cycle& cycle = *as<Cycle>(iterator);
    // The first time round it is another iterator that goes on.
    if (cycle.iterator || !cycle.saved || !PyList_CheckExact(cycle.saved)) return kUnknown;
    Py_ssize_t length = PyList_GET_SIZE(cycle.saved);
    if (length == 0) return distance == 0 ? kEnd : kUnknown;
    return {Step::Item, (cycle.index + static_cast<Py_ssize_t>(distance % length)) % length};
  }
  const SequenceIterator& walk = *as<SequenceIterator>(iterator);
  if (!walk.sequence) return distance == 0 ? kEnd : kUnknown;
  Py_ssize_t length = lengthOf(walk.sequence);
  if (length < 0) return kUnknown;
  if (type == &PyListRevIter_Type) return placeBackwards(walk.index, distance, length);
  if (type != &PyReversed_Type) return placeInSequence(walk.index, distance, length);
  if (!isReversedByIndex(walk.sequence)) return kUnknown;
  return placeBackwards(walk.index, distance, length);
}

}  // namespace

bool canLookAhead(const PyTypeObject* type) {
  const HiddenTypes& types = hidden();
  return isOneOf(type,
                 {&PyListIter_Type, &PyListRevIter_Type, &PyTupleIter_Type, &PyRangeIter_Type,
                  &PyUnicodeIter_Type, &PyBytesIter_Type, &PyReversed_Type, &PySetIter_Type}) ||
         (type && isOneOf(type, {types.asciiIterator, types.count, types.repeat, types.cycle})) ||
         walksOverDict(type);
}

bool walksOverDict(const PyTypeObject* type) { return givesKeys(type) || givesValues(type); }

bool givesKeys(const PyTypeObject* type) {
  return isOneOf(type, {&PyDictIterKey_Type, &PyDictIterItem_Type, &PyDictRevIterKey_Type,
                        &PyDictRevIterItem_Type});
}

bool givesValues(const PyTypeObject* type) {
  return isOneOf(type, {&PyDictIterValue_Type, &PyDictIterItem_Type, &PyDictRevIterValue_Type,
                        &PyDictRevIterItem_Type});
}

bool walksBackwards(const PyTypeObject* type) {
  return isOneOf(type, {&PyListRevIter_Type, &PyReversed_Type, &PyDictRevIterKey_Type,
                        &PyDictRevIterValue_Type, &PyDictRevIterItem_Type});
}

Step stepAhead(BorrowedRef<> iterator, int64_t distance) {
  if (!canLookAhead(Py_TYPE(iterator.get())) || distance < 0) return Step::Unknown;
  return placeOf(iterator, distance).step;
}

Loaded itemAhead(BorrowedRef<> iterator, int64_t distance, Part part) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (!canLookAhead(type) || distance < 0) return {};
  Place place = placeOf(iterator, distance);
  if (place.step != Step::Item) return {};
  if (walksOverDict(type)) {
    PyObject *key, *value;
    auto* dict = reinterpret_cast<PyObject*>(as<DictIterator>(iterator)->dict);
    if (!PyDict_Next(dict, &place.index, &key, &value)) return {};
    return {part == Part::Value ? value : key, false};
  }
  if (part == Part::Value) return {};
  Loaded found;
  if (type == &PySetIter_Type) {
    Py_hash_t hash;
    auto* set = reinterpret_cast<PyObject*>(as<SetIterator>(iterator)->set);
    if (!_PySet_NextEntry(set, &place.index, &found.object, &hash)) return {};
  } else if (type == &PyRangeIter_Type) {
    const RangeIterator& range = *as<RangeIterator>(iterator);
    auto offset = static_cast<unsigned long>(place.index) * static_cast<unsigned long>(range.step);
    auto value = static_cast<long>(static_cast<unsigned long>(range.start) + offset);
    found = {PyLong_FromLong(value), true};
  } else if (type == hidden().count) {
    found = itemOfCount(*as<Count>(iterator), distance);
  } else if (type == hidden().repeat) {
    found.object = as<Repeat>(iterator)->element;
  } else if (type == hidden().cycle) {
    found.object = PyList_GET_ITEM(as<Cycle>(iterator)->saved, place.index);
  } else {
    found = itemOfSequence(as<SequenceIterator>(iterator)->sequence, place.index);
  }
  if (!found.object) PyErr_Clear();  // no memory
  return found;
}

const char* fieldName(IteratorField field) {
  switch (field) {
    case IteratorField::Container:
      return "container";
    case IteratorField::Iterator:
      return "iterator";
    case IteratorField::Iterators:
      return "iterators";
    case IteratorField::Function:
      return "function";
    case IteratorField::Count:
      return "count";
    case IteratorField::Strict:
      return "strict";
    case IteratorField::Active:
      return "active";
    case IteratorField::Sentinel:
      return "sentinel";
  }
  return "?";
}

namespace {

Loaded countOf(const Enumerate& enumerate) {
  if (enumerate.count == PY_SSIZE_T_MAX && enumerate.longCount) return {enumerate.longCount, false};
  Loaded count = {PyLong_FromSsize_t(enumerate.count), true};
  if (!count.object) PyErr_Clear();
  return count;
}

PyObject* containerOf(BorrowedRef<> iterator) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (walksOverDict(type)) return reinterpret_cast<PyObject*>(as<DictIterator>(iterator)->dict);
  if (type == &PySetIter_Type) return reinterpret_cast<PyObject*>(as<SetIterator>(iterator)->set);
  bool isSequence = isOneOf(type, {&PyListIter_Type, &PyListRevIter_Type, &PyTupleIter_Type,
                                   &PyBytesIter_Type, &PyReversed_Type}) ||
                    isStringIterator(type);
  return isSequence ? as<SequenceIterator>(iterator)->sequence : nullptr;
}

}  // namespace

Loaded iteratorField(BorrowedRef<> iterator, IteratorField field) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  bool isChain = type && type == hidden().chain;
  switch (field) {
    case IteratorField::Container:
      return {containerOf(iterator), false};
    case IteratorField::Iterator:
      if (type == &PyEnum_Type) return {as<Enumerate>(iterator)->iterator, false};
      if (type == &PyFilter_Type) return {as<Filter>(iterator)->iterator, false};
      return {isChain ? as<Chain>(iterator)->iterators : nullptr, false};
    case IteratorField::Iterators:
      if (type == &PyZip_Type) return {as<Zip>(iterator)->iterators, false};
      return {type == &PyMap_Type ? as<Map>(iterator)->iterators : nullptr, false};
    case IteratorField::Function:
      if (type == &PyMap_Type) return {as<Map>(iterator)->function, false};
      if (type == &PyFilter_Type) return {as<Filter>(iterator)->function, false};
      return {type == &PyCallIter_Type ? as<CallableIterator>(iterator)->function : nullptr, false};
    case IteratorField::Count:
      return type == &PyEnum_Type ? countOf(*as<Enumerate>(iterator)) : Loaded{};
    case IteratorField::Strict:
      if (type != &PyZip_Type) return {};
      return {as<Zip>(iterator)->strict ? Py_True : Py_False, false};
    case IteratorField::Active:
      return {isChain ? as<Chain>(iterator)->active : nullptr, false};
    case IteratorField::Sentinel:
      return {type == &PyCallIter_Type ? as<CallableIterator>(iterator)->sentinel : nullptr, false};
  }
  return {};
}

namespace {

bool advanceCount(Enumerate& enumerate, int64_t steps) {
  if (enumerate.count != PY_SSIZE_T_MAX && steps < PY_SSIZE_T_MAX - enumerate.count) {
    enumerate.count += static_cast<Py_ssize_t>(steps);
    return true;
  }
  Ref<> before = Ref<>::create(enumerate.longCount);
  if (!before) before = Ref<>::steal(PyLong_FromSsize_t(enumerate.count));
  Ref<> difference = Ref<>::steal(PyLong_FromLongLong(steps));
  if (!before || !difference) return false;
  Ref<> after = Ref<>::steal(PyNumber_Add(before.get(), difference.get()));
  if (!after) return false;
  enumerate.count = PY_SSIZE_T_MAX;
  Ref<> old = Ref<>::steal(enumerate.longCount);
  enumerate.longCount = after.release();
  return true;
}

}  // namespace

bool advance(BorrowedRef<> iterator, int64_t steps) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (type == &PyEnum_Type) return advanceCount(*as<Enumerate>(iterator), steps);
  for (int64_t i = 0; i < steps; ++i) {
    Ref<> item = Ref<>::steal(type->tp_iternext(iterator));
    if (!item && PyErr_Occurred()) return false;
  }
  return true;
}

void setChain(BorrowedRef<> chain, BorrowedRef<> iterators, BorrowedRef<> active) {
  auto* state = as<Chain>(chain);
  // They may be the last references, and their ends may run anything: first the new state.
  Ref<> before = Ref<>::steal(std::exchange(state->iterators, Py_XNewRef(iterators.get())));
  Ref<> activeBefore = Ref<>::steal(std::exchange(state->active, Py_XNewRef(active.get())));
}

void endCallableIterator(BorrowedRef<> iterator) {
  auto* state = as<CallableIterator>(iterator);
  Ref<> function = Ref<>::steal(std::exchange(state->function, nullptr));
  Ref<> sentinel = Ref<>::steal(std::exchange(state->sentinel, nullptr));
}

PyTypeObject* chainType() { return hidden().chain; }

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
sparse = [f(v) for f in (iter, reversed) for v in (holes, holes.values(), holes.items())]
endless = [itertools.count(5), itertools.count(5, 3), itertools.count(0.5, 0.1), itertools.repeat(5),
    once]
function, sentinel = (lambda: 5), object()
inner, other = iter([1, 2]), iter([3, 4])
enumerated, filtered = enumerate(inner, 7), filter(function, inner)
zipped, strict, mapped = zip(inner, other), zip(inner, strict=True), map(function, inner, other)
called, chained = iter(function, sentinel), itertools.chain([1], [2])
chain_iterators = chained.__reduce__()[2][0]
next(chained)
chain_active = chained.__reduce__()[2][1]
)";

}  // namespace

bool iteratorsAreRead() {
  Ref<> names = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  PyThreadState* state = PyThreadState_Get();
  PyThreadState_EnterTracing(state);  // no debugger is to see it
  Ref<> done = Ref<>::steal(PyRun_String(kIterators, Py_file_input, names.get(), names.get()));
  PyThreadState_LeaveTracing(state);
  if (!done || !hidden().cycle || !hidden().chain || !hidden().count || !hidden().repeat)
    return false;
  auto named = [&](const char* name) { return PyDict_GetItemString(names.get(), name); };

  const std::pair<const PyTypeObject*, size_t> sizes[] = {
      {&PyListIter_Type, sizeof(SequenceIterator)},
      {&PyListRevIter_Type, sizeof(SequenceIterator)},
      {&PyTupleIter_Type, sizeof(SequenceIterator)},
      {&PyUnicodeIter_Type, sizeof(SequenceIterator)},
      {hidden().asciiIterator, sizeof(SequenceIterator)},
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
      {hidden().count, sizeof(Count)},
      {hidden().repeat, sizeof(Repeat)},
      {hidden().chain, sizeof(Chain)},
      {hidden().cycle, sizeof(Cycle)}};
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
        holds("called", IteratorField::Function, function) &&
        holds("called", IteratorField::Sentinel, named("sentinel")) &&
        holds("chained", IteratorField::Iterator, named("chain_iterators")) &&
        holds("chained", IteratorField::Active, named("chain_active"))))
    return false;

  auto countIs = [&](long expected) {
    Loaded count = iteratorField(named("enumerated"), IteratorField::Count);
    Ref<> owned = count.isNew ? Ref<>::steal(count.object) : Ref<>::create(count.object);
    return owned && PyLong_AsLong(owned.get()) == expected;
  };
  if (!countIs(7) || !advance(named("enumerated"), 2) || !countIs(9)) return false;
  Ref<> pair = Ref<>::steal(PyIter_Next(named("enumerated")));
  return pair && PyLong_AsLong(PyTuple_GET_ITEM(pair.get(), 0)) == 9 && countIs(10);
}

}  // namespace armature::cpython
