// How the iterators that are kept by their state go on.
#include "variables/containers/iterators.h"

#include <limits>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "variables/containers/composed_iterators.h"
#include "variables/containers/existing_iterators.h"
#include "variables/containers/set.h"
#include "variables/ends_of_objects.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

// A range of machine integers is read once, so that each step is an addition.
SequenceIteratorVariable::SequenceIteratorVariable(PyTypeObject* type, Value sequence, int64_t step,
                                                   int64_t start)
    : VariableTracker(VariableKind::SequenceIterator, type),
      sequence(std::move(sequence)),
      step(step),
      index(start) {
  PyObject* object = this->sequence.objectOrNull();
  if (!object) return;
  length = PyObject_Size(object);
  if (length < 0) clearException();
  if (!PyRange_Check(object) || length <= 0) return;
  Ref<> first = checked(PySequence_GetItem(object, 0));
  Ref<> last = checked(PySequence_GetItem(object, length - 1));
  int overflow = 0, lastOverflow = 0;
  rangeFirst = PyLong_AsLongLongAndOverflow(first.get(), &overflow);
  int64_t lastItem = PyLong_AsLongLongAndOverflow(last.get(), &lastOverflow);
  int64_t span = 0;
  machineRange = !overflow && !lastOverflow && !__builtin_sub_overflow(lastItem, rangeFirst, &span);
  if (machineRange && length > 1) rangeStep = span / (length - 1);
}

namespace {

Value self(Translator&, const Value& iterator) { return iterator; }

// --- Sequences.

Value itemOfConstant(Translator& translator, const SequenceIteratorVariable* iterator) {
  PyObject* sequence = iterator->sequence.object();
  if (iterator->index >= iterator->length) return Value();
  if (iterator->machineRange) {
    return Value::integer(iterator->rangeFirst + iterator->rangeStep * iterator->index);
  }
  if (PyTuple_CheckExact(sequence)) {
    return Value::constant(PyTuple_GET_ITEM(sequence, iterator->index));
  }
  return translator.fromPython(PySequence_GetItem(sequence, iterator->index));
}

// iter_iternext and reversed_next: of an object without methods of its own, what its __getitem__
// gives.
Value itemByGetitem(Translator& translator, const SequenceIteratorVariable* iterator) {
  Value item = getItem(translator, iterator->sequence, Value::integer(iterator->index));
  if (item) return item;
  for (PyObject* end : {PyExc_IndexError, PyExc_StopIteration}) {
    PyTypeObject* raised = typeOf(translator.realized(translator.exception()));
    if (!translator.heap.isSubtype(raised, reinterpret_cast<PyTypeObject*>(end))) continue;
    translator.dropException();
    break;
  }
  return Value();
}

// The item at the iterator's index; null without an exception past either end.
Value itemOfSequence(Translator& translator, SequenceIteratorVariable* iterator) {
  if (iterator->index < 0) return Value();
  if (iterator->sequence.isConstant()) return itemOfConstant(translator, iterator);
  if (auto* list = trackerOf<ListVariable>(iterator->sequence)) {
    // It may have grown or shrunk since.
    auto index = static_cast<size_t>(iterator->index);
    return index < list->size() ? list->item(index) : Value();
  }
  if (auto* sequence = trackerOf<SequenceVariable>(iterator->sequence)) {
    const ValueVector& items = sequence->items();
    return iterator->index < static_cast<int64_t>(items.size()) ? items[iterator->index] : Value();
  }
  if (iterator->type() == &PySeqIter_Type || iterator->type() == &PyReversed_Type) {
    return itemByGetitem(translator, iterator);
  }
  if (iterator->length < 0) {
    int64_t length = armature::length(translator, iterator->sequence);
    if (length < 0) return Value();
    iterator->length = length;
  }
  if (iterator->index >= iterator->length) return Value();
  return getItem(translator, iterator->sequence, Value::integer(iterator->index));
}

// Those over ranges keep it.
bool staysAtEnd(const Value& sequence) {
  return sequence.isConstant() && PyRange_Check(sequence.object());
}

Value sequenceNext(Translator& translator, const Value& value) {
  auto* iterator = requireKind<SequenceIteratorVariable>(value);
  if (!iterator->sequence) return Value();
  Value item = itemOfSequence(translator, iterator);
  if (item) {
    assignTrailed(translator.trail, iterator->index, iterator->index + iterator->step);
  } else if (!translator.exceptionPending() && !staysAtEnd(iterator->sequence)) {
    assignTrailed(translator.trail, iterator->sequence, Value());
  }
  return item;
}

Value sequenceLengthHint(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "__length_hint__", arguments, 0, 0)) return Value();
  if (auto* existing = trackerOf<ExistingIteratorVariable>(self)) {
    return Value::integer(countAhead(translator, existing));
  }
  auto* iterator = requireKind<SequenceIteratorVariable>(self);
  if (!iterator->sequence) return Value::integer(0);
  if (iterator->step < 0) {
    int64_t left = iterator->index + 1;
    int64_t length = armature::length(translator, iterator->sequence);
    if (length < 0) return Value();
    return Value::integer(length < left ? 0 : left);
  }
  static PyObject* const lengthName = staticName("__len__");
  bool hasLength = iterator->type() != &PySeqIter_Type ||
                   translator.heap.lookup(typeOf(iterator->sequence), lengthName);
  if (!hasLength) return Value::constant(Py_NotImplemented);
  int64_t length = armature::length(translator, iterator->sequence);
  if (length < 0) return Value();
  return Value::integer(std::max<int64_t>(length - iterator->index, 0));
}

// --- Dicts and sets.

size_t sizeNow(Translator& translator, VariableTracker* container) {
  if (auto* dict = llvm::dyn_cast<DictVariable>(container)) return dict->size(translator);
  return requireKind<SetVariable>(container)->size(translator);
}

Value changedSize(Translator& translator, DictIteratorVariable* iterator) {
  auto* changed = llvm::dyn_cast<DictVariable>(iterator->container);
  if (changed && changed->isOrdered()) {
    assignTrailed(translator.trail, iterator->exhausted, true);
    return translator.raise(PyExc_RuntimeError, "OrderedDict mutated during iteration");
  }
  // From now on every step fails.
  assignTrailed(translator.trail, iterator->expectedSize, SIZE_MAX);
  return translator.raise(PyExc_RuntimeError, changed ? "dictionary changed size during iteration"
                                                      : "Set changed size during iteration");
}

Value itemOfEntry(Translator& translator, DictViewKind view, const OrderedValueMap::Entry& entry) {
  switch (view) {
    case DictViewKind::Keys:
      return entry.key;
    case DictViewKind::Values:
      return entry.value;
    default:
      return makeTuple(translator, {entry.key, entry.value});
  }
}

Value dictNext(Translator& translator, const Value& value) {
  auto* iterator = requireKind<DictIteratorVariable>(value);
  if (iterator->exhausted) return Value();
  if (sizeNow(translator, iterator->container) != iterator->expectedSize) {
    return changedSize(translator, iterator);
  }
  auto* dict = llvm::dyn_cast<DictVariable>(iterator->container);
  if (!dict) {
    auto position = static_cast<size_t>(iterator->position);
    if (position < iterator->order.size()) {
      assignTrailed(translator.trail, iterator->position, iterator->position + 1);
      return iterator->order[position];
    }
    assignTrailed(translator.trail, iterator->exhausted, true);
    return Value();
  }
  bool ordered = dict->isOrdered();
  if (ordered && dict->entries().entryCount() != iterator->entryCount) {
    return changedSize(translator, iterator);
  }
  // Where a key stands that came in the place of another, the table tells, which is packed now and
  // then.
  if (dict->entries().entryCount() != iterator->entryCount) {
    throw GraphBreak(GraphBreakKind::ContainerChangedInLoop, describe(value));
  }
  int32_t position = iterator->position;
  const OrderedValueMap::Entry* entry =
      iterator->reversed ? dict->previous(translator, position) : dict->next(translator, position);
  if (!entry) {
    assignTrailed(translator.trail, iterator->exhausted, true);
    return Value();
  }
  if (iterator->remaining == 0) {
    assignTrailed(translator.trail, iterator->exhausted, true);
    return translator.raise(PyExc_RuntimeError, "dictionary keys changed during iteration");
  }
  assignTrailed(translator.trail, iterator->position, position);
  assignTrailed(translator.trail, iterator->remaining, iterator->remaining - 1);
  // An OrderedDict's iterator knows its next item beforehand, and thereby that there is none.
  if (ordered && iterator->remaining == 0) {
    assignTrailed(translator.trail, iterator->exhausted, true);
  }
  return itemOfEntry(translator, iterator->view, *entry);
}

// --- chain.

// A step of an iterator within another, which nobody may have looked at.
Value nextOf(Translator& translator, const Value& iterator) {
  return iteratorNext(translator, translator.realized(iterator));
}

// One record stands for all changes: it stores what is there in the end.
void recordChain(Translator& translator, ChainVariable* chain) {
  if (!translator.effects.concerns(chain)) return;
  if (translator.effects.last(chain) != SideEffects::kNone) return;
  translator.effects.append({EffectKind::IteratorRewrite, chain, {}, {}});
}

Value endChain(Translator& translator, ChainVariable* chain) {
  letGo(translator, chain->iterators);
  assignTrailed(translator.trail, chain->iterators, Value());
  recordChain(translator, chain);
  return Value();
}

Value chainNext(Translator& translator, const Value& value) {
  auto* chain = requireKind<ChainVariable>(value);
  while (chain->iterators) {
    if (!chain->active) {
      Value iterable = nextOf(translator, chain->iterators);
      Value iterator = iterable ? getIterator(translator, iterable) : Value();
      if (!iterator) return endChain(translator, chain);
      assignTrailed(translator.trail, chain->active, std::move(iterator));
      recordChain(translator, chain);
    }
    Value item = nextOf(translator, chain->active);
    if (item || translator.exceptionPending()) return item;
    letGo(translator, chain->active);
    assignTrailed(translator.trail, chain->active, Value());
    recordChain(translator, chain);
  }
  return Value();
}

// chain(*iterables)
Value makeChain(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "chain() takes no keyword arguments");
  }
  ValueVector iterables(arguments.values.begin(), arguments.values.end());
  Value iterator = getIterator(translator, makeTuple(translator, std::move(iterables)));
  if (!iterator) return iterator;
  return translator.make<ChainVariable>(cpython::chainType(), std::move(iterator));
}

// chain.from_iterable(iterable)
Value makeChainFrom(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "chain.from_iterable", arguments, 1, 1)) {
    return Value();
  }
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  return translator.make<ChainVariable>(cpython::chainType(), std::move(iterator));
}

// The same by the class method's own descriptor, bound to an instance, with the class first.
Value makeChainFromOfClass(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!arguments.values.empty()) arguments.values.erase(arguments.values.begin());
  return makeChainFrom(translator, self, arguments);
}

// --- islice.

Value endIslice(Translator& translator, IsliceVariable* islice) {
  letGo(translator, islice->iterator);
  assignTrailed(translator.trail, islice->iterator, Value());
  translator.effects.append({EffectKind::IteratorRewrite, islice, {}, {}});
  return Value();
}

Value isliceNext(Translator& translator, const Value& value) {
  auto* islice = requireKind<IsliceVariable>(value);
  if (!islice->iterator) return Value();
  auto ask = [&] {
    Value item = nextOf(translator, islice->iterator);
    if (!item) return endIslice(translator, islice);
    assignTrailed(translator.trail, islice->asked, islice->asked + 1);
    translator.effects.advance(islice);
    return item;
  };
  // Whether it has not come to where it stops.
  auto goesOn = [&] {
    bool holds = cpython::stepAhead(islice->existing(), islice->asked) == cpython::Step::Item;
    translator.addGuard(islice->source(),
                        holds ? GuardType::ITERATOR_ITEM : GuardType::ITERATOR_END, nullptr,
                        islice->asked);
    return holds;
  };
  if (islice->next < 0) {
    Value skip = toIndex(translator, islice->skip);
    if (!skip) return skip;
    int64_t count = PyLong_AsLongLong(skip.object());
    // Before its first step it may pass over more than it may take.
    while (islice->asked < count) {
      if (!ask()) return Value();
    }
    assignTrailed(translator.trail, islice->next, islice->asked);
  }
  while (goesOn()) {
    bool isTaken = islice->asked == islice->next;
    Value item = ask();
    if (!item) return item;
    if (!isTaken) continue;
    Value stride = toIndex(translator, islice->stride);
    if (!stride) return stride;
    int64_t next = 0;
    if (__builtin_add_overflow(islice->next, PyLong_AsLongLong(stride.object()), &next)) {
      next = std::numeric_limits<int64_t>::max();
    }
    assignTrailed(translator.trail, islice->next, next);
    return item;
  }
  return endIslice(translator, islice);
}

Value stepOfComposed(Translator& translator, const Value& iterator) {
  return composedNext(translator, iterator, false);
}

TypeSlots makeIteratorSlots(UnaryFunction next) {
  TypeSlots slots;
  slots.tp_iter = self;
  slots.tp_iternext = next;
  slots.tp_hash = unimplemented::unary;
  return slots;
}

void registerIterators() {
  registerObjectHandler(reinterpret_cast<PyObject*>(cpython::chainType()), makeChain);
  registerMethodHandler(cpython::chainType(), "from_iterable", makeChainFrom);
  registerObjectHandler(cpython::ownAttribute(cpython::chainType(), "from_iterable"),
                        makeChainFromOfClass);
  for (PyTypeObject* type : {&PyListIter_Type,
                             &PyListRevIter_Type,
                             &PyTupleIter_Type,
                             &PyRangeIter_Type,
                             &PyUnicodeIter_Type,
                             &PyBytesIter_Type,
                             &PyReversed_Type,
                             &PyDictIterKey_Type,
                             &PyDictIterValue_Type,
                             &PyDictIterItem_Type,
                             &PyDictRevIterKey_Type,
                             &PyDictRevIterValue_Type,
                             &PyDictRevIterItem_Type,
                             &PyODictIter_Type,
                             &PySetIter_Type,
                             &PyEnum_Type,
                             &PyZip_Type,
                             &PyMap_Type,
                             &PyFilter_Type,
                             &PyCallIter_Type,
                             cpython::chainType(),
                             cpython::isliceType()}) {
    registerSlotWrappers(type);
  }
  for (PyTypeObject* type :
       {&PyListIter_Type, &PyListRevIter_Type, &PyTupleIter_Type, &PyRangeIter_Type,
        &PyUnicodeIter_Type, &PyReversed_Type, &PySeqIter_Type}) {
    registerMethodHandler(type, "__length_hint__", sequenceLengthHint);
  }
}

}  // namespace

Value makeDictIterator(Translator& translator, DictVariable* dict, DictViewKind view,
                       bool reversed) {
  PyTypeObject* types[] = {&PyDictIterKey_Type, &PyDictIterValue_Type, &PyDictIterItem_Type};
  PyTypeObject* reversedTypes[] = {&PyDictRevIterKey_Type, &PyDictRevIterValue_Type,
                                   &PyDictRevIterItem_Type};
  auto kind = static_cast<size_t>(view);
  PyTypeObject* type = reversed ? reversedTypes[kind] : types[kind];
  if (dict->isOrdered()) type = &PyODictIter_Type;
  size_t size = dict->size(translator);
  auto* iterator = translator.make<DictIteratorVariable>(type, dict, view, size);
  iterator->reversed = reversed;
  iterator->entryCount = dict->entries().entryCount();
  if (reversed) iterator->position = iterator->entryCount;
  return iterator;
}

const TypeSlots kSequenceIteratorSlots = makeIteratorSlots(sequenceNext);
const TypeSlots kDictIteratorSlots = makeIteratorSlots(dictNext);
const TypeSlots kEnumerateSlots = makeIteratorSlots(stepOfComposed);
const TypeSlots kZipSlots = makeIteratorSlots(stepOfComposed);
const TypeSlots kMapSlots = makeIteratorSlots(stepOfComposed);
const TypeSlots kFilterSlots = makeIteratorSlots(stepOfComposed);
const TypeSlots kCallableIteratorSlots = makeIteratorSlots(stepOfComposed);
const TypeSlots kIsliceSlots = makeIteratorSlots(isliceNext);
const TypeSlots kChainSlots = makeIteratorSlots(chainNext);

ARMATURE_REGISTER_HANDLERS(registerIterators);

}  // namespace armature
