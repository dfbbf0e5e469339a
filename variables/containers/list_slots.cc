// The slots of list.
#include <algorithm>

#include "variables/containers/iterators.h"
#include "variables/containers/sequence_slots.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/repr_recursion.h"

namespace armature {

namespace {

ListVariable* listOf(const Value& value) { return requireKind<ListVariable>(value); }

Value concatenate(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  ListVariable* list = listOf(left);
  if (slot == nb_inplace_add) return extendList(translator, list, right) ? left : Value();
  auto* other = partOf<ListVariable>(right);
  if (!other) {
    return translator.raise(PyExc_TypeError, "can only concatenate list (not \"%.200s\") to list",
                            nameOf(translator, right));
  }
  ValueVector items;
  items.reserve(list->items().size() + other->items().size());
  items.append(list->items().begin(), list->items().end());
  items.append(other->items().begin(), other->items().end());
  return translator.make<ListVariable>(std::move(items));
}

Value repeat(Translator& translator, NumberSlot slot, const Value& self, const Value& count) {
  ListVariable* list = listOf(self);
  int64_t times;
  if (!readRepeatCount(
          translator, count, [&] { return list->size(); }, times))
    return Value();
  ValueVector items = repeatItems(list->items(), times);
  if (slot != nb_inplace_multiply) return translator.make<ListVariable>(std::move(items));
  list->replace(translator, std::move(items));
  return self;
}

// Reads a key that is not a slice as an index into the list; errors are those of `access`.
bool readListIndex(Translator& translator, const Value& key, const ListVariable* list,
                   const char* rangeError, int64_t& index) {
  return readItemIndex(
      translator, key, [&] { return list->size(); },
      "list indices must be integers or slices, not %.200s", rangeError, index);
}

// The item that an index from the end finds among those which the trace appended, however many the
// list had before; null for another one.
Value appendedItem(Translator& translator, const ListVariable* list, const Value& key) {
  if (list->rearranged()) return Value();
  Value index = translator.realized(key);
  PyObject* object = index.objectOrNull();
  if (!object || !PyLong_CheckExact(object)) return Value();
  int overflow = 0;
  long fromEnd = PyLong_AsLongAndOverflow(object, &overflow);
  llvm::ArrayRef<Value> appended = list->appended();
  bool isThere = !overflow && fromEnd < 0 && fromEnd >= -static_cast<int64_t>(appended.size());
  return isThere ? appended[appended.size() + fromEnd] : Value();
}

Value subscript(Translator& translator, const Value& self, const Value& key) {
  ListVariable* list = listOf(self);
  if (isSlice(key)) {
    SliceRange range;
    if (!readSlice(
            translator, key, [&] { return list->size(); }, range))
      return Value();
    return translator.make<ListVariable>(sliceItems(list->items(), range));
  }
  if (Value appended = appendedItem(translator, list, key)) return appended;
  int64_t index;
  if (!readListIndex(translator, key, list, "list index out of range", index)) return Value();
  return list->item(index);
}

// list_ass_slice: the items from `start` to `stop` give way to others.
void replaceRange(Translator& translator, ListVariable* list, int64_t start, int64_t stop,
                  llvm::ArrayRef<Value> replacement) {
  llvm::ArrayRef<Value> old = list->items();
  ValueVector items;
  items.reserve(old.size() - (stop - start) + replacement.size());
  items.append(old.begin(), old.begin() + start);
  items.append(replacement.begin(), replacement.end());
  items.append(old.begin() + stop, old.end());
  list->replace(translator, std::move(items));
}

void deleteSlice(Translator& translator, ListVariable* list, SliceRange range) {
  if (range.count == 0) return;
  if (range.step < 0) {
    range.start += range.step * (range.count - 1);
    range.step = -range.step;
  }
  int64_t last = range.start + range.step * (range.count - 1);
  ValueVector items;
  llvm::ArrayRef<Value> old = list->items();
  for (int64_t i = 0; i < static_cast<int64_t>(old.size()); ++i) {
    bool selected = i >= range.start && i <= last && (i - range.start) % range.step == 0;
    if (!selected) items.push_back(old[i]);
  }
  list->replace(translator, std::move(items));
}

bool assignSlice(Translator& translator, ListVariable* list, const Value& key, const Value& value) {
  auto length = [&] { return list->size(); };
  Value slice = toConstantSlice(translator, key);
  SliceRange range;
  if (!slice || !readSlice(translator, slice, length, range)) return false;
  if (!value) {
    deleteSlice(translator, list, range);
    return true;
  }
  const char* message =
      range.step == 1 ? "can only assign an iterable" : "must assign iterable to extended slice";
  ValueVector items;
  // As CPython has it: a list does not ask itself.
  if (translator.realized(value).sameAs(wholeOf(list))) {
    items = list->items();
  } else if (!readIterable(translator, value, message, items)) {
    return false;
  }
  // Iterating may have run code that changed the list. list_ass_slice cuts the places off that are
  // not there any more.
  if (range.step == 1) {
    auto size = static_cast<int64_t>(list->size());
    int64_t start = std::min(range.start, size);
    replaceRange(translator, list, start, std::clamp(range.stop, start, size), items);
    return true;
  }
  // Of others, what CPython does if places are gone is undefined.
  if (!readSlice(translator, slice, length, range)) return false;
  if (static_cast<int64_t>(items.size()) != range.count) {
    translator.raise(PyExc_ValueError,
                     "attempt to assign sequence of size %zd to extended slice of size %zd",
                     static_cast<Py_ssize_t>(items.size()), static_cast<Py_ssize_t>(range.count));
    return false;
  }
  ValueVector all = list->items();
  for (int64_t i = 0; i < range.count; ++i) all[range.start + i * range.step] = items[i];
  list->replace(translator, std::move(all));
  return true;
}

bool assignSubscript(Translator& translator, const Value& self, const Value& key,
                     const Value& value) {
  ListVariable* list = listOf(self);
  if (isSlice(key)) return assignSlice(translator, list, key, value);
  int64_t index;
  if (!readListIndex(translator, key, list, "list assignment index out of range", index)) {
    return false;
  }
  if (value) {
    list->setItem(translator, index, value);
  } else {
    list->pop(translator, index);
  }
  return true;
}

Value iterate(Translator& translator, const Value& self) {
  return translator.make<SequenceIteratorVariable>(&PyListIter_Type, self);
}

Value repr(Translator& translator, const Value& self) {
  ReprRecursion recursion(self);
  if (recursion.entered()) return Value::string("[...]");
  return joinedRepr(translator, self, "[", "]");
}

TypeSlots makeListSlots() {
  TypeSlots slots;
  slots.mp_length = sequenceLength;
  slots.mp_subscript = subscript;
  slots.mp_ass_subscript = assignSubscript;
  slots.sq_contains = sequenceContains;
  slots.sq_concat = concatenate;
  slots.sq_repeat = repeat;
  slots.tp_iter = iterate;
  slots.tp_richcompare = compareSequences;
  slots.tp_repr = repr;
  return slots;
}

}  // namespace

bool extendList(Translator& translator, ListVariable* list, const Value& iterable) {
  ValueVector storage;
  llvm::ArrayRef<Value> known;
  Value items = translator.realized(iterable);
  bool isItself = items.sameAs(wholeOf(list));
  if (isItself && list->instance) {
    // It is asked as a whole by the __iter__ that its class may have, and extended afterwards.
    if (!readIterable(translator, items, "argument must be iterable", storage)) return false;
    for (Value& item : storage) list->append(translator, std::move(item));
    return true;
  }
  if (itemsOf(items, storage, known)) {
    // A copy first: the list may be extended by itself.
    if (storage.empty()) storage.append(known.begin(), known.end());
    for (Value& item : storage) list->append(translator, std::move(item));
    return true;
  }
  // As CPython does, item by item: what came before an exception stays.
  Value iterator = getIterator(translator, items);
  if (!iterator || !askLengthHint(translator, items)) return false;
  while (Value item = iteratorNext(translator, iterator)) list->append(translator, std::move(item));
  return !translator.exceptionPending();
}

const TypeSlots kListSlots = makeListSlots();

}  // namespace armature
