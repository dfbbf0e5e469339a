#include "cpython/iterators.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "cpython/combinatorics.h"
#include "cpython/deque_layout.h"
#include "cpython/imported_modules.h"
#include "cpython/internal_dict.h"
#include "cpython/iterator_layouts.h"
#include "cpython/iterator_state.h"

namespace armature::cpython {

const HiddenTypes& hiddenTypes() {
  static const HiddenTypes types = [] {
    HiddenTypes found;
    Ref<> text = Ref<>::steal(PyUnicode_FromString("a"));
    if (Ref<> iterator = Ref<>::steal(text ? PyObject_GetIter(text.get()) : nullptr))
      found.asciiIterator = Py_TYPE(iterator.get());
    Ref<> module = Ref<>::steal(importModule("itertools"));
    auto type = [&](const char* name) {
      // Kept for the life of the process, as the module keeps it.
      PyObject* object = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
      return object && PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : nullptr;
    };
    found.count = type("count");
    found.repeat = type("repeat");
    found.chain = type("chain");
    found.cycle = type("cycle");
    found.islice = type("islice");
    PyErr_Clear();
    return found;
  }();
  return types;
}

bool dequeIteratorsAreKnown = true;

namespace {

template <class T>
T* as(BorrowedRef<> object) {
  return reinterpret_cast<T*>(object.get());
}

bool isOneOf(const PyTypeObject* type, std::initializer_list<const PyTypeObject*> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool isStringIterator(const PyTypeObject* type) {
  return type == &PyUnicodeIter_Type || type == hiddenTypes().asciiIterator;
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
    bool fits = iterator.count < 0 || distance < PY_SSIZE_T_MAX - iterator.count;
    return fits ? Place{Step::Item, 0} : kUnknown;
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

Loaded tupleOfIndexes(BorrowedRef<> iterator, int64_t distance) {
  llvm::SmallVector<PyObject*, 8> items;
  tupleAhead(iterator, distance, items);
  Ref<> tuple = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; tuple && i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(items[i]));
  }
  return {tuple.release(), true};
}

Place placeInRange(const RangeIterator& range, int64_t distance) {
  if (range.index >= range.length) return distance == 0 ? kEnd : kUnknown;
  return placeInSequence(range.index, distance, range.length);
}

Loaded itemOfRange(const RangeIterator& range, Py_ssize_t index) {
  auto offset = static_cast<unsigned long>(index) * static_cast<unsigned long>(range.step);
  auto value = static_cast<long>(static_cast<unsigned long>(range.start) + offset);
  return {PyLong_FromLong(value), true};
}

Place placeInDeque(const DequeIterator& iterator, int64_t distance) {
  Py_ssize_t length = dequeLength(iterator.deque);
  // The next step raises where items have moved.
  bool moved = iterator.state != as<Deque>(iterator.deque)->state;
  if (moved || iterator.remaining < 0 || iterator.remaining > length) return kUnknown;
  Py_ssize_t given = length - iterator.remaining;
  Place place = placeInSequence(given, distance, length);
  bool isBackwards = Py_TYPE(&iterator.ob_base) == dequeReverseIteratorType();
  if (place.step == Step::Item && isBackwards) place.index = length - 1 - place.index;
  return place;
}

// Guards of loops ask of these each turn.
bool isUsual(const PyTypeObject* type) {
  return type == &PyRangeIter_Type || type == &PyListIter_Type || type == &PyTupleIter_Type;
}

Place placeInUsual(BorrowedRef<> iterator, int64_t distance) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (type == &PyRangeIter_Type) return placeInRange(*as<RangeIterator>(iterator), distance);
  const SequenceIterator& walk = *as<SequenceIterator>(iterator);
  if (!walk.sequence) return distance == 0 ? kEnd : kUnknown;
  return placeInSequence(walk.index, distance, lengthOf(walk.sequence));
}

Place placeOf(BorrowedRef<> iterator, int64_t distance) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (walksOverDict(type))
    return placeInDict(*as<DictIterator>(iterator), distance, walksBackwards(type));
  if (type == &PySetIter_Type) return placeInSet(*as<SetIterator>(iterator), distance);
  if (walksOverDeque(type)) return placeInDeque(*as<DequeIterator>(iterator), distance);
  if (givesTuplesOfIndexes(type)) {
    llvm::SmallVector<PyObject*, 8> items;
    return {tupleAhead(iterator, distance, items), 0};
  }
  if (type == hiddenTypes().count) return placeInCount(*as<Count>(iterator), distance);
  if (type == hiddenTypes().repeat) {
    Py_ssize_t remaining = as<Repeat>(iterator)->remaining;
    if (remaining < 0 || distance < remaining) return {Step::Item, 0};
    return distance == remaining ? kEnd : kUnknown;
  }
  if (type == hiddenTypes().cycle) {
    const Cycle& cycle = *as<Cycle>(iterator);
    // The first time round it is another iterator that goes on.
    if (cycle.iterator || !cycle.saved || !PyList_CheckExact(cycle.saved)) return kUnknown;
    Py_ssize_t length = PyList_GET_SIZE(cycle.saved);
    if (length == 0) return distance == 0 ? kEnd : kUnknown;
    return {Step::Item, (cycle.index + static_cast<Py_ssize_t>(distance % length)) % length};
  }
  const SequenceIterator& walk = *as<SequenceIterator>(iterator);
  bool isBackwards = type == &PyListRevIter_Type || type == &PyReversed_Type;
  if (!walk.sequence) return distance == 0 ? kEnd : kUnknown;
  if (!isBackwards) return placeInSequence(walk.index, distance, lengthOf(walk.sequence));
  if (type == &PyReversed_Type && !isReversedByIndex(walk.sequence)) return kUnknown;
  return placeBackwards(walk.index, distance, lengthOf(walk.sequence));
}

}  // namespace

bool canLookAhead(const PyTypeObject* type) {
  if (isUsual(type)) return true;
  static const auto* const known = [] {
    const HiddenTypes& types = hiddenTypes();
    return new llvm::DenseSet<const PyTypeObject*>{
        &PyListRevIter_Type, &PyUnicodeIter_Type, &PyBytesIter_Type,
        &PyReversed_Type,    &PySetIter_Type,     types.asciiIterator,
        types.count,         types.repeat,        types.cycle};
  }();
  return type && (known->contains(type) || walksOverDict(type) || walksOverDeque(type) ||
                  givesTuplesOfIndexes(type));
}

bool walksOverDeque(const PyTypeObject* type) {
  return dequeIteratorsAreKnown && type &&
         (type == dequeIteratorType() || type == dequeReverseIteratorType());
}

bool walksOverDict(const PyTypeObject* type) {
  return isOneOf(type, {&PyDictIterKey_Type, &PyDictIterValue_Type, &PyDictIterItem_Type,
                        &PyDictRevIterKey_Type, &PyDictRevIterValue_Type, &PyDictRevIterItem_Type});
}

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
  if (isUsual(Py_TYPE(iterator.get())) && distance >= 0) {
    return placeInUsual(iterator, distance).step;
  }
  if (Py_TYPE(iterator.get()) == hiddenTypes().islice && distance >= 0) {
    const Islice& islice = *as<Islice>(iterator);
    if (!islice.iterator) return Step::End;
    return islice.stop < 0 || distance < islice.stop - islice.count ? Step::Item : Step::End;
  }
  if (!canLookAhead(Py_TYPE(iterator.get())) || distance < 0) return Step::Unknown;
  return placeOf(iterator, distance).step;
}

Loaded itemAhead(BorrowedRef<> iterator, int64_t distance, Part part) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (isUsual(type) && distance >= 0) {
    Place place = placeInUsual(iterator, distance);
    if (place.step != Step::Item || part == Part::Value) return {};
    if (type != &PyRangeIter_Type) {
      return itemOfSequence(as<SequenceIterator>(iterator)->sequence, place.index);
    }
    Loaded found = itemOfRange(*as<RangeIterator>(iterator), place.index);
    if (!found.object) PyErr_Clear();  // no memory
    return found;
  }
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
  } else if (type == hiddenTypes().count) {
    found = itemOfCount(*as<Count>(iterator), distance);
  } else if (walksOverDeque(type)) {
    found.object = dequeItem(as<DequeIterator>(iterator)->deque, place.index);
  } else if (givesTuplesOfIndexes(type)) {
    found = tupleOfIndexes(iterator, distance);
  } else if (type == hiddenTypes().repeat) {
    found.object = as<Repeat>(iterator)->element;
  } else if (type == hiddenTypes().cycle) {
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
    case IteratorField::Skip:
      return "skip";
    case IteratorField::Stride:
      return "stride";
    case IteratorField::State:
      break;
  }
  return "state";
}

namespace {

Loaded newNumber(Py_ssize_t value) {
  Loaded number = {PyLong_FromSsize_t(value), true};
  if (!number.object) PyErr_Clear();
  return number;
}

Loaded countOf(const Enumerate& enumerate) {
  bool isLong = enumerate.count == PY_SSIZE_T_MAX && enumerate.longCount;
  return isLong ? Loaded{enumerate.longCount, false} : newNumber(enumerate.count);
}

PyObject* containerOf(BorrowedRef<> iterator) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (walksOverDict(type)) return reinterpret_cast<PyObject*>(as<DictIterator>(iterator)->dict);
  if (type == &PySetIter_Type) return reinterpret_cast<PyObject*>(as<SetIterator>(iterator)->set);
  if (walksOverDeque(type)) return as<DequeIterator>(iterator)->deque;
  bool isSequence = isOneOf(type, {&PyListIter_Type, &PyListRevIter_Type, &PyTupleIter_Type,
                                   &PyBytesIter_Type, &PyReversed_Type}) ||
                    isStringIterator(type);
  return isSequence ? as<SequenceIterator>(iterator)->sequence : nullptr;
}

}  // namespace

Loaded iteratorField(BorrowedRef<> iterator, IteratorField field) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  bool isChain = type && type == hiddenTypes().chain;
  switch (field) {
    case IteratorField::Container:
      return {containerOf(iterator), false};
    case IteratorField::Iterator:
      if (type == &PyEnum_Type) return {as<Enumerate>(iterator)->iterator, false};
      if (type == &PyFilter_Type) return {as<Filter>(iterator)->iterator, false};
      if (type == hiddenTypes().islice) return {as<Islice>(iterator)->iterator, false};
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
    case IteratorField::Skip: {
      if (type != hiddenTypes().islice) return {};
      const Islice& islice = *as<Islice>(iterator);
      return newNumber(std::max<Py_ssize_t>(islice.next - islice.count, 0));
    }
    case IteratorField::Stride:
      return type == hiddenTypes().islice ? newNumber(as<Islice>(iterator)->step) : Loaded{};
    case IteratorField::State:
      break;
  }
  if (field < IteratorField::State) return {};
  auto part = static_cast<size_t>(field) - static_cast<size_t>(IteratorField::State);
  return {stateObject(iterator, part), false};
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

// Where it has asked its iterator once more.
void advanceIslice(Islice& islice) {
  bool passes = islice.count < islice.next;
  ++islice.count;
  if (passes) return;
  Py_ssize_t next = 0;
  bool overflows = __builtin_add_overflow(islice.next, islice.step, &next);
  islice.next = overflows || (islice.stop >= 0 && next > islice.stop) ? islice.stop : next;
}

}  // namespace

bool advance(BorrowedRef<> iterator, int64_t steps) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (type == &PyEnum_Type) return advanceCount(*as<Enumerate>(iterator), steps);
  if (type == hiddenTypes().islice) {
    for (int64_t i = 0; i < steps; ++i) advanceIslice(*as<Islice>(iterator));
    return true;
  }
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

Ref<> makeReversed(BorrowedRef<> sequence, Py_ssize_t index) {
  Ref<> made = Ref<>::steal(PyReversed_Type.tp_alloc(&PyReversed_Type, 0));
  if (!made) return nullptr;
  auto* state = as<SequenceIterator>(made);
  state->index = index;
  state->sequence = Py_NewRef(sequence.get());
  return made;
}

// They hold nothing, as what is new; but those that go backwards go by their index as well.
Ref<> makeAtEnd(PyTypeObject* type) {
  Ref<> made = Ref<>::steal(type->tp_alloc(type, 0));
  if (made && isOneOf(type, {&PyListRevIter_Type, &PyReversed_Type})) {
    as<SequenceIterator>(made)->index = -1;
  }
  return made;
}

void endIterator(BorrowedRef<> iterator) {
  if (Py_TYPE(iterator.get()) == hiddenTypes().islice) {
    Ref<> inner = Ref<>::steal(std::exchange(as<Islice>(iterator)->iterator, nullptr));
    return;
  }
  auto* state = as<CallableIterator>(iterator);
  Ref<> function = Ref<>::steal(std::exchange(state->function, nullptr));
  Ref<> sentinel = Ref<>::steal(std::exchange(state->sentinel, nullptr));
}

PyTypeObject* chainType() { return hiddenTypes().chain; }
PyTypeObject* isliceType() { return hiddenTypes().islice; }

PyTypeObject* itertoolsType(const char* name) {
  Ref<> module = Ref<>::steal(importModule("itertools"));
  Ref<> found = Ref<>::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
  if (!found) PyErr_Clear();
  auto* type = reinterpret_cast<PyTypeObject*>(found.get());
  if (!found || !PyType_Check(found.get()) || (type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return nullptr;
  return std::string("itertools.") + name == type->tp_name ? type : nullptr;
}

}  // namespace armature::cpython
