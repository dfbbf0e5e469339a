#include "variables/containers/sequence_slots.h"
#include "core/constant.h"
#include "variables/constants/sym_node_variable.h"

#include "cpython/string_writer.h"
#include "variables/containers/deque.h"
#include "variables/continuation.h"
#include "variables/loops.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// The item at an index of a traced sequence or a constant tuple; null past its end. Asked anew for
// each item, because comparing items may run code that changes the list.
Value itemAt(const Value& sequence, int64_t index) {
  if (PyObject* tuple = sequence.objectOrNull()) {
    return index < PyTuple_GET_SIZE(tuple) ? Value::constant(PyTuple_GET_ITEM(tuple, index))
                                           : Value();
  }
  if (auto* list = trackerOf<MutableSequenceVariable>(sequence)) {
    return index < static_cast<int64_t>(list->size()) ? list->item(index) : Value();
  }
  const ValueVector& items = requireKind<SequenceVariable>(sequence)->items();
  return index < static_cast<int64_t>(items.size()) ? items[index] : Value();
}

int64_t sizeOf(const Value& sequence) {
  if (PyObject* tuple = sequence.objectOrNull()) return PyTuple_GET_SIZE(tuple);
  if (auto* list = trackerOf<MutableSequenceVariable>(sequence))
    return static_cast<int64_t>(list->size());
  return static_cast<int64_t>(requireKind<SequenceVariable>(sequence)->items().size());
}

bool isTupleLike(const Value& value) {
  if (PyObject* object = value.objectOrNull()) return PyTuple_Check(object);
  return trackerOf<TupleVariable>(value) || trackerOf<NamedTupleVariable>(value);
}

// The sequence that a value is for C code: see partOf().
Value sequenceIn(const Value& value) {
  auto* part = partOf<SequenceVariable>(value);
  return part ? Value(part) : value;
}

}  // namespace

bool readBound(Translator& translator, Value bound, int64_t& result) {
  translator.realize(bound);
  if (!hasIndex(translator, bound)) {
    translator.raise(PyExc_TypeError, "slice indices must be integers or have an __index__ method");
    return false;
  }
  return readSize(translator, bound, nullptr, result);
}

bool readItemIndex(Translator& translator, const Value& key, LengthOf length, const char* typeError,
                   const char* rangeError, int64_t& index) {
  if (!hasIndex(translator, key)) {
    translator.raise(PyExc_TypeError, typeError, nameOf(translator, key));
    return false;
  }
  if (!readSize(translator, key, PyExc_IndexError, index)) return false;
  auto count = static_cast<int64_t>(length());
  if (index < 0) index += count;
  if (index >= 0 && index < count) return true;
  translator.raise(PyExc_IndexError, rangeError);
  return false;
}

bool itemsOf(const Value& value, ValueVector& storage, llvm::ArrayRef<Value>& items) {
  if (PyObject* object = value.objectOrNull()) {
    if (!PyTuple_CheckExact(object)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      storage.push_back(Value::constant(PyTuple_GET_ITEM(object, i)));
    }
    items = storage;
    return true;
  }
  auto* sequence = trackerOf<SequenceVariable>(value);
  if (!sequence || llvm::isa<DequeVariable>(sequence)) return false;
  items = sequence->items();
  return true;
}

bool readRepeatCount(Translator& translator, const Value& count, LengthOf length, int64_t& result) {
  if (!hasIndex(translator, count)) {
    translator.raise(PyExc_TypeError, "can't multiply sequence by non-int of type '%.200s'",
                     nameOf(translator, count));
    return false;
  }
  if (!readSize(translator, count, PyExc_OverflowError, result)) return false;
  if (result < 0) result = 0;
  size_t size = length();
  if (size && result > kMostItems / static_cast<int64_t>(size)) {
    throw GraphBreak(GraphBreakKind::HugeIterable,
                     std::to_string(size) + " items times " + std::to_string(result));
  }
  return true;
}

ValueVector repeatItems(llvm::ArrayRef<Value> items, int64_t count) {
  ValueVector result;
  if (items.empty()) return result;  // however often
  result.reserve(items.size() * count);
  for (int64_t i = 0; i < count; ++i) result.append(items.begin(), items.end());
  return result;
}

ValueVector sliceItems(llvm::ArrayRef<Value> items, const SliceRange& range) {
  ValueVector result;
  result.reserve(range.count);
  for (int64_t i = 0; i < range.count; ++i) result.push_back(items[range.start + i * range.step]);
  return result;
}

Value iteratorOver(Translator& translator, const Value& iterable, const char* message) {
  Value iterator = getIterator(translator, iterable);
  if (iterator) return iterator;
  PyTypeObject* type = typeOf(translator.exception());
  if (translator.heap.isSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_TypeError))) {
    translator.dropException();
    translator.raise(PyExc_TypeError, "%s", message);
  }
  return Value();
}

bool readIterable(Translator& translator, Value iterable, const char* message, ValueVector& items) {
  Value iterator = iteratorOver(translator, iterable, message);
  return iterator && collectInto(translator, std::move(iterator), items);
}

Value sequenceIndex(Translator& translator, const Value& self, CallArguments& arguments) {
  bool list = PyType_IsSubtype(typeOf(self), &PyList_Type);
  if (!checkArgumentCount(translator, list ? "list.index" : "tuple.index", arguments, 1, 3)) {
    return Value();
  }
  int64_t start = 0, stop = PY_SSIZE_T_MAX;
  size_t given = arguments.values.size();
  if (given > 1 && !readBound(translator, arguments.values[1], start)) return Value();
  if (given > 2 && !readBound(translator, arguments.values[2], stop)) return Value();
  if (start < 0 || stop < 0) {
    int64_t size = sizeOf(self);
    start = boundIn(start, size), stop = boundIn(stop, size);
  }
  return searchItems(translator, self, arguments.values[0], Search::Index, start, stop,
                     arguments.tail);
}

Value sequenceCount(Translator& translator, const Value& self, CallArguments& arguments) {
  bool list = PyType_IsSubtype(typeOf(self), &PyList_Type);
  if (!checkArgumentCount(translator, list ? "list.count" : "tuple.count", arguments, 1, 1)) {
    return Value();
  }
  return searchItems(translator, self, arguments.values[0], Search::Count, 0, PY_SSIZE_T_MAX,
                     arguments.tail);
}

Value sequenceLength(Translator&, const Value& self) { return Value::integer(sizeOf(self)); }

Value sequenceContains(Translator& translator, const Value& self, const Value& item) {
  return searchItems(translator, self, item, Search::Presence, 0, PY_SSIZE_T_MAX, false);
}

// --- Searches.

namespace {

// The operands of OnReturn::NextEqual.
enum SearchOperand { kSearched, kSought, kSearch, kIndex, kStop, kFound };

Search searchOf(llvm::ArrayRef<Value> operands) {
  return static_cast<Search>(PyLong_AsLong(operands[kSearch].object()));
}

int64_t numberOf(const Value& operand) { return PyLong_AsLongLong(operand.object()); }

Value endOfSearch(Translator& translator, llvm::ArrayRef<Value> operands, int64_t found) {
  switch (searchOf(operands)) {
    case Search::Presence:
      return Value::boolean(false);
    case Search::Count:
      return Value::integer(found);
    case Search::Removal:
      return translator.raise(PyExc_ValueError, "list.remove(x): x not in list");
    case Search::Index:
      break;
  }
  if (!PyType_IsSubtype(typeOf(operands[kSearched]), &PyList_Type)) {
    return translator.raise(PyExc_ValueError, "tuple.index(x): x not in tuple");
  }
  Value text = toRepr(translator, operands[kSought]);
  if (!text) return text;
  return translator.raise(PyExc_ValueError, "%U is not in list", text.object());
}

// From an index on; `equal`: whether the item there is the one, if that is known.
Value searchFrom(Translator& translator, llvm::ArrayRef<Value> operands, Value equal, bool tail) {
  int64_t index = numberOf(operands[kIndex]), stop = numberOf(operands[kStop]);
  int64_t found = numberOf(operands[kFound]);
  for (; index < stop; ++index, equal = Value()) {
    if (!equal) {
      Value candidate = itemAt(operands[kSearched], index);
      if (!candidate) break;
      equal = equality(translator, candidate, operands[kSought], tail);
    }
    if (equal.isFramePushed()) {
      translator.onReturn({OnReturn::NextEqual,
                           {operands[kSearched], operands[kSought], operands[kSearch],
                            Value::integer(index), operands[kStop], Value::integer(found)}});
      return equal;
    }
    if (!equal) return equal;
    if (equal.is(Py_False)) continue;
    switch (searchOf(operands)) {
      case Search::Presence:
        return equal;
      case Search::Index:
        return Value::integer(index);
      case Search::Count:
        ++found;
        continue;
      case Search::Removal: {
        auto* list = requireKind<MutableSequenceVariable>(operands[kSearched]);
        // The comparison may have made it shorter.
        if (index < static_cast<int64_t>(list->size())) list->pop(translator, index);
        return Value::none();
      }
    }
  }
  return endOfSearch(translator, operands, found);
}

}  // namespace

Value searchItems(Translator& translator, const Value& sequence, const Value& item, Search search,
                  int64_t start, int64_t stop, bool tail) {
  Value operands[] = {sequence,
                      item,
                      Value::integer(static_cast<int>(search)),
                      Value::integer(start),
                      Value::integer(stop),
                      Value::integer(0)};
  return searchFrom(translator, operands, Value(), tail);
}

Value goOnSearching(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                    bool tail) {
  return searchFrom(translator, operands, std::move(result), tail);
}

namespace {

// Lists look at their lengths first, tuples at their items (Objects/tupleobject.c,
// tuplerichcompare): may those that both have answer in a way of their own?
bool asksFirstItems(Translator& translator, const Value& left, const Value& right) {
  if (trackerOf<ListVariable>(left)) return false;
  for (int64_t i = 0;; ++i) {
    Value a = itemAt(left, i), b = itemAt(right, i);
    if (!a || !b) return false;
    for (Value* item : {&a, &b}) {
      realizeType(translator, *item);
      if (item->isTracker() && !isConstantType(typeOf(*item))) return true;
    }
  }
}

}  // namespace

Value compareSequences(Translator& translator, const Value& self, const Value& other, int op) {
  Value left = sequenceIn(self), right = sequenceIn(other);
  bool comparable = trackerOf<ListVariable>(left) ? trackerOf<ListVariable>(right) != nullptr
                                                  : isTupleLike(left) && isTupleLike(right);
  if (!comparable) return Value::constant(Py_NotImplemented);
  bool equality = op == Py_EQ || op == Py_NE;
  bool differInSize = sizeOf(left) != sizeOf(right);
  if (equality && differInSize && !asksFirstItems(translator, left, right)) {
    return Value::boolean(op == Py_NE);
  }

  // The first items that differ decide; if there are none, the lengths do.
  for (int64_t i = 0;; ++i) {
    Value a = itemAt(left, i);
    Value b = itemAt(right, i);
    if (!a || !b) break;
    int equal = areEqual(translator, a, b);
    if (equal < 0) return Value();
    if (equal) continue;
    // Comparing may have changed the lists: the items that are there now decide.
    a = itemAt(left, i);
    b = itemAt(right, i);
    if (!a || !b) break;
    if (equality) return Value::boolean(op == Py_NE);
    return richCompare(translator, std::move(a), std::move(b), op);
  }
  int64_t a = sizeOf(left), b = sizeOf(right);
  switch (op) {
    case Py_LT:
      return Value::boolean(a < b);
    case Py_LE:
      return Value::boolean(a <= b);
    case Py_EQ:
      return Value::boolean(a == b);
    case Py_NE:
      return Value::boolean(a != b);
    case Py_GT:
      return Value::boolean(a > b);
    default:
      return Value::boolean(a >= b);
  }
}

Value joinedRepr(Translator& translator, const Value& self, const char* open, const char* close) {
  cpython::StringWriter writer;
  bool ok = writer.writeAscii(open);
  for (int64_t i = 0; ok; ++i) {
    Value item = itemAt(self, i);
    if (!item) break;
    Value text = toRepr(translator, std::move(item));
    if (!text) return text;
    ok = (i == 0 || writer.writeAscii(", ")) && writer.write(text.object());
  }
  if (!ok || !writer.writeAscii(close)) return translator.raiseFromPython();
  return translator.fromPython(writer.finish().release());
}

}  // namespace armature
