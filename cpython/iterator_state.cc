#include "cpython/iterator_state.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "cpython/iterator_layouts.h"
#include "cpython/specimens.h"

namespace armature::cpython {

namespace {

// How a part lies in the struct.
enum class Form : uint8_t {
  Object,
  ObjectOrAddition,  // null stands for None
  ObjectOrNone,      // None stands for nothing
  Long,
  Int,
};

struct Place {
  Form form;
  size_t offset;
};

struct Layout {
  PyTypeObject* type;
  std::vector<Place> parts;
};

// Static types, which live for ever.
PyTypeObject* typeOf(const char* name) { return itertoolsType(name); }

PyTypeObject*& zipLongestType() {
  static PyTypeObject* type = typeOf("zip_longest");
  return type;
}

std::vector<Layout>& layouts() {
  static std::vector<Layout> all = {
      {typeOf("takewhile"),
       {{Form::Object, offsetof(Turning, function)},
        {Form::Object, offsetof(Turning, iterator)},
        {Form::Long, offsetof(Turning, hasTurned)}}},
      {typeOf("dropwhile"),
       {{Form::Object, offsetof(Turning, function)},
        {Form::Object, offsetof(Turning, iterator)},
        {Form::Long, offsetof(Turning, hasTurned)}}},
      {typeOf("filterfalse"),
       {{Form::Object, offsetof(Applying, function)},
        {Form::Object, offsetof(Applying, iterator)}}},
      {typeOf("starmap"),
       {{Form::Object, offsetof(Applying, function)},
        {Form::Object, offsetof(Applying, iterator)}}},
      {typeOf("compress"),
       {{Form::Object, offsetof(Compress, data)}, {Form::Object, offsetof(Compress, selectors)}}},
      {typeOf("accumulate"),
       {{Form::Object, offsetof(Accumulate, iterator)},
        {Form::ObjectOrAddition, offsetof(Accumulate, function)},
        {Form::Object, offsetof(Accumulate, total)},
        {Form::ObjectOrNone, offsetof(Accumulate, initial)}}},
      {typeOf("pairwise"),
       {{Form::Object, offsetof(Pairwise, iterator)}, {Form::Object, offsetof(Pairwise, old)}}},
      {typeOf("cycle"),
       {{Form::Object, offsetof(Cycle, iterator)},
        {Form::Object, offsetof(Cycle, saved)},
        {Form::Int, offsetof(Cycle, isFirstRoundOver)}}},
  };
  return all;
}

const Layout* layoutOf(BorrowedRef<> iterator) {
  for (const Layout& layout : layouts()) {
    if (layout.type && layout.type == Py_TYPE(iterator.get())) return &layout;
  }
  return nullptr;
}

template <class T>
T& at(BorrowedRef<> object, size_t offset) {
  return *reinterpret_cast<T*>(reinterpret_cast<char*>(object.get()) + offset);
}

bool isZipLongest(BorrowedRef<> iterator) {
  return zipLongestType() && Py_TYPE(iterator.get()) == zipLongestType();
}

// Behind what fills up and the number.
constexpr size_t kFirstIterator = 2;
// So many parts have a bit each in what iteratorState() gives.
constexpr size_t kMostParts = 48;

const ZipLongest& zipLongest(BorrowedRef<> iterator) {
  return *reinterpret_cast<ZipLongest*>(iterator.get());
}

PyObject* objectAt(BorrowedRef<> iterator, const Place& part) {
  auto* object = at<PyObject*>(iterator, part.offset);
  if (part.form == Form::ObjectOrAddition && !object) return Py_None;
  return part.form == Form::ObjectOrNone && object == Py_None ? nullptr : object;
}

int64_t bits(std::initializer_list<bool> all) {
  int64_t result = 1;
  for (bool bit : all) result = result * 2 + bit;
  return result;
}

}  // namespace

size_t stateSize(BorrowedRef<> iterator) {
  if (isZipLongest(iterator)) {
    size_t size = kFirstIterator + static_cast<size_t>(zipLongest(iterator).size);
    return size <= kMostParts ? size : 0;
  }
  const Layout* layout = layoutOf(iterator);
  return layout ? layout->parts.size() : 0;
}

StateKind stateKind(BorrowedRef<> iterator, size_t part) {
  if (isZipLongest(iterator)) return part == 1 ? StateKind::Number : StateKind::Object;
  Form form = layoutOf(iterator)->parts[part].form;
  return form == Form::Long || form == Form::Int ? StateKind::Flag : StateKind::Object;
}

PyObject* stateObject(BorrowedRef<> iterator, size_t part) {
  if (part >= stateSize(iterator) || stateKind(iterator, part) != StateKind::Object) return nullptr;
  if (isZipLongest(iterator)) {
    if (part == 0) return zipLongest(iterator).fill;
    return PyTuple_GET_ITEM(zipLongest(iterator).iterators, part - kFirstIterator);
  }
  return objectAt(iterator, layoutOf(iterator)->parts[part]);
}

int64_t stateNumber(BorrowedRef<> iterator, size_t part) {
  if (isZipLongest(iterator)) return zipLongest(iterator).active;
  const Place& place = layoutOf(iterator)->parts[part];
  return place.form == Form::Int ? at<int>(iterator, place.offset)
                                 : at<long>(iterator, place.offset);
}

bool setState(BorrowedRef<> iterator, PyObject* const* parts, size_t count) {
  if (count != stateSize(iterator)) {
    PyErr_SetString(PyExc_SystemError, "the iterator is another one than it was");
    return false;
  }
  std::vector<Ref<>> before;
  before.reserve(count);
  auto put = [&](PyObject*& place, PyObject* object) {
    before.push_back(Ref<>::steal(place));
    place = Py_XNewRef(object);
  };
  for (size_t i = 0; i < count; ++i) {
    PyObject* part = parts[i];
    if (isZipLongest(iterator)) {
      auto* zip = reinterpret_cast<ZipLongest*>(iterator.get());
      if (i == 0) {
        put(zip->fill, part);
      } else if (i == 1) {
        zip->active = PyLong_AsSsize_t(part);
      } else {
        put(PyTuple_GET_ITEM(zip->iterators, i - kFirstIterator), part);
      }
      continue;
    }
    const Place& place = layoutOf(iterator)->parts[i];
    switch (place.form) {
      case Form::Object:
        put(at<PyObject*>(iterator, place.offset), part);
        break;
      case Form::ObjectOrAddition:
        put(at<PyObject*>(iterator, place.offset), part == Py_None ? nullptr : part);
        break;
      case Form::ObjectOrNone:
        put(at<PyObject*>(iterator, place.offset), part ? part : Py_None);
        break;
      case Form::Long:
        at<long>(iterator, place.offset) = part == Py_True;
        break;
      case Form::Int:
        at<int>(iterator, place.offset) = part == Py_True;
        break;
    }
  }
  return true;
}

int64_t iteratorState(BorrowedRef<> iterator) {
  PyTypeObject* type = Py_TYPE(iterator.get());
  if (type == chainType()) {
    auto* chain = reinterpret_cast<Chain*>(iterator.get());
    return bits({chain->iterators != nullptr, chain->active != nullptr});
  }
  if (type == isliceType()) {
    return bits({reinterpret_cast<Islice*>(iterator.get())->iterator != nullptr});
  }
  if (type == &PyCallIter_Type) {
    auto* callable = reinterpret_cast<CallableIterator*>(iterator.get());
    return bits({callable->function != nullptr, callable->sentinel != nullptr});
  }
  int64_t state = 1;
  for (size_t i = 0; i < stateSize(iterator); ++i) {
    bool isObject = stateKind(iterator, i) == StateKind::Object;
    bool bit = isObject ? stateObject(iterator, i) != nullptr : stateNumber(iterator, i) != 0;
    state = state * 2 + bit;
  }
  return state;
}

namespace {

// Each state is made by steps, and told by __reduce__ or known from what was given.
constexpr const char* kIterators = R"(
import itertools as it
def function(x, *more): return x < 3
a, b, c, data = iter([1, 2, 3, 4]), iter([1, 2, 3, 4]), iter([1, 2, 3, 4]), [5, 6, 7]
first, last = object(), object()
def stepped(iterator, steps):
    for _ in range(steps): next(iterator, None)
    return iterator
shown = [
    (it.takewhile(function, a), (function, a, False)),
    (stepped(it.takewhile(function, b), 3), (function, b, True)),
    (it.dropwhile(function, a), (function, a, False)),
    (stepped(it.dropwhile(function, c), 1), (function, c, True)),
    (it.filterfalse(function, a), (function, a)),
    (it.starmap(function, a), (function, a)),
    (it.compress(a, b), (a, b)),
    (it.accumulate(a), (a, None, ..., ...)),
    (it.accumulate(a, function, initial=first), (a, function, ..., first)),
    (stepped(it.accumulate(a, function, initial=first), 1), (a, function, first, ...)),
    (it.pairwise(a), (a, ...)),
    (stepped(it.pairwise(x := iter([first, last])), 1), (x, last)),
    (stepped(it.pairwise(iter(())), 1), (..., ...)),
    (it.cycle(a), (a, [], False)),
    (stepped(it.cycle(y := iter(data)), 2), (y, [5, 6], False)),
    (stepped(it.cycle(iter(data)), 4), (..., data, False)),
    (it.zip_longest(a, b, fillvalue=last), (last, 2, a, b)),
    (stepped(it.zip_longest(iter(()), z := iter([1]), fillvalue=last), 1), (last, 1, ..., z)),
]
def put():
    source = iter([1, 5, 2])
    return [
        (it.takewhile(None, a), (function, source, False), [1]),
        (it.dropwhile(None, a), (function, source, True), [5, 2]),
        (it.filterfalse(None, a), (function, iter([1, 5, 2])), [5]),
        (it.starmap(None, a), (function, iter([(1,), (5,)])), [True, False]),
        (it.compress(a, a), (iter('abc'), iter([1, 0, 1])), ['a', 'c']),
        (it.accumulate(a), (iter([1, 2]), None, 7, ...), [8, 10]),
        (it.accumulate(a), (iter([1]), function, ..., 8), [8, False]),
        (it.pairwise(a), (iter('b'), 'a'), [('a', 'b')]),
        (it.cycle(a), (iter('xy'), ['z'], True), ['x', 'y', 'z', 'z']),
        (it.zip_longest(a, a), ('-', 1, ..., iter('q')), [('-', 'q')]),
    ]
)";

bool isPart(BorrowedRef<> iterator, size_t i, PyObject* expected) {
  if (stateKind(iterator, i) != StateKind::Object) {
    return stateNumber(iterator, i) == PyLong_AsLongLong(expected);
  }
  PyObject* object = stateObject(iterator, i);
  if (expected == Py_Ellipsis) return !object;
  if (object && PyList_CheckExact(expected)) {
    return PyList_CheckExact(object) && PyObject_RichCompareBool(object, expected, Py_EQ) == 1;
  }
  return object == expected;
}

bool isShown(BorrowedRef<> iterator, BorrowedRef<> expected) {
  auto count = static_cast<size_t>(PyTuple_GET_SIZE(expected.get()));
  if (stateSize(iterator) != count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!isPart(iterator, i, PyTuple_GET_ITEM(expected.get(), i))) return false;
  }
  return true;
}

bool goesOn(BorrowedRef<> iterator, BorrowedRef<> state, BorrowedRef<> expected) {
  std::vector<PyObject*> parts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state.get()); ++i) {
    PyObject* part = PyTuple_GET_ITEM(state.get(), i);
    parts.push_back(part == Py_Ellipsis ? nullptr : part);
  }
  if (!setState(iterator, parts.data(), parts.size())) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(expected.get()); ++i) {
    Ref<> item = Ref<>::steal(PyIter_Next(iterator.get()));
    PyObject* wanted = PyList_GET_ITEM(expected.get(), i);
    if (!item || PyObject_RichCompareBool(item.get(), wanted, Py_EQ) != 1) return false;
  }
  return true;
}

void forget(const PyTypeObject* type) {
  if (zipLongestType() == type) zipLongestType() = nullptr;
  for (Layout& layout : layouts()) {
    if (layout.type == type) layout.type = nullptr;
  }
}

void forgetAll() {
  zipLongestType() = nullptr;
  layouts().clear();
}

}  // namespace

void tryIteratorStates() {
  for (Layout& layout : layouts()) {
    size_t size = 0;
    for (const Place& part : layout.parts) size = std::max(size, part.offset + sizeof(int));
    if (layout.type && static_cast<size_t>(layout.type->tp_basicsize) < size) layout.type = nullptr;
  }
  if (zipLongestType() && zipLongestType()->tp_basicsize < Py_ssize_t{sizeof(ZipLongest)}) {
    zipLongestType() = nullptr;
  }
  Unseen unseen;
  Ref<> names = makeSpecimens(kIterators);
  PyObject* shown = names ? PyDict_GetItemString(names.get(), "shown") : nullptr;
  for (Py_ssize_t i = 0; shown && i < PyList_GET_SIZE(shown); ++i) {
    PyObject* pair = PyList_GET_ITEM(shown, i);
    PyObject* iterator = PyTuple_GET_ITEM(pair, 0);
    if (!isShown(iterator, PyTuple_GET_ITEM(pair, 1))) forget(Py_TYPE(iterator));
  }
  PyObject* function = shown ? PyDict_GetItemString(names.get(), "put") : nullptr;
  Ref<> put = Ref<>::steal(function ? PyObject_CallNoArgs(function) : nullptr);
  for (Py_ssize_t i = 0; put && i < PyList_GET_SIZE(put.get()); ++i) {
    PyObject* three = PyList_GET_ITEM(put.get(), i);
    PyObject* iterator = PyTuple_GET_ITEM(three, 0);
    if (stateSize(iterator) == 0) continue;
    if (!goesOn(iterator, PyTuple_GET_ITEM(three, 1), PyTuple_GET_ITEM(three, 2))) {
      forget(Py_TYPE(iterator));
    }
  }
  if (!put) forgetAll();
  PyErr_Clear();
}

}  // namespace armature::cpython
