#include "variables/containers/existing_iterators.h"

#include "core/graph_break.h"
#include "cpython/combinatorics.h"
#include "cpython/iterator_state.h"
#include "variables/containers/deque.h"
#include "variables/containers/iterators.h"
#include "variables/containers/itertools.h"
#include "variables/ends_of_objects.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

using cpython::IteratorField;
using cpython::Step;

// A field of an iterator as an input; null if it has none.
Value fieldOf(Translator& translator, const Source* source, BorrowedRef<> object,
              IteratorField field) {
  cpython::Loaded found = cpython::iteratorField(object, field);
  if (!found.object) return Value();
  Ref<> owned = found.isNew ? Ref<>::steal(found.object) : Ref<>::create(found.object);
  const Source* path =
      translator.sources->item(SourceKind::IteratorField, source, static_cast<int64_t>(field));
  return translator.wrap(path, owned);
}

bool isDropped(const ExistingIteratorVariable* iterator) {
  return !cpython::iteratorField(iterator->existing(), IteratorField::Container).object;
}

// The items of a set have no place in the trace, so a set that is only walked over is not built:
// its guards would hold every element.
void lookAtSet(Translator& translator, ExistingIteratorVariable* iterator) {
  cpython::Loaded set = cpython::iteratorField(iterator->existing(), IteratorField::Container);
  if (!PySet_Check(set.object)) return;
  const Source* path = translator.sources->item(SourceKind::IteratorField, iterator->source(),
                                                static_cast<int64_t>(IteratorField::Container));
  if (Value known = translator.known(set.object)) {
    if (known.isTracker()) translator.guardSame(path, known.tracker()->source(), true);
  } else {
    translator.rememberWalked(path, set.object);
  }
}

// Looks at what the iterator walks over, if that may be changed.
void lookAtContainer(Translator& translator, ExistingIteratorVariable* iterator) {
  PyTypeObject* type = iterator->type();
  bool isMutable = type == &PyListIter_Type || type == &PyListRevIter_Type ||
                   type == &PySetIter_Type || cpython::walksOverDict(type) ||
                   cpython::walksOverDeque(type);
  if (!isMutable || iterator->container) return;
  if (isDropped(iterator)) {
    // Nothing that is appended will be seen.
    translator.addGuard(iterator->source(), GuardType::ITERATOR_END, nullptr, -1);
    assignTrailed(translator.trail, iterator->exhausted, true);
    return;
  }
  if (type == &PySetIter_Type) {
    lookAtSet(translator, iterator);
    assignTrailed(translator.trail, iterator->container, Value::none());
    return;
  }
  Value container = translator.realized(
      fieldOf(translator, iterator->source(), iterator->existing(), IteratorField::Container));
  auto* object = trackerOf<UserObjectVariable>(container);
  if (object && object->container) container = object->container;
  assignTrailed(translator.trail, iterator->container, std::move(container));
}

// Breaks where the trace has changed the container in a way that moves items: Python knows what
// comes next.
void requireUnmoved(Translator& translator, ExistingIteratorVariable* iterator) {
  bool moved = false;
  if (auto* list = trackerOf<ListVariable>(iterator->container)) {
    moved = list->rearranged();
  } else if (auto* deque = trackerOf<DequeVariable>(iterator->container)) {
    moved = deque->rearranged() || deque->moves() > 0;
  } else if (auto* dict = trackerOf<DictVariable>(iterator->container)) {
    moved = dict->keysChanged();
  } else if (iterator->type() == &PySetIter_Type) {
    cpython::Loaded set = cpython::iteratorField(iterator->existing(), IteratorField::Container);
    Value known = translator.known(set.object);
    moved = known.isTracker() && translator.effects.isWritten(known.tracker());
  }
  if (moved) throw GraphBreak(GraphBreakKind::ContainerChangedInLoop, describe(iterator));
}

Value partAhead(Translator& translator, ExistingIteratorVariable* iterator, cpython::Part part) {
  cpython::Loaded found = cpython::itemAhead(iterator->existing(), iterator->taken, part);
  // There is one: only memory can be missing.
  if (!found.object) throw GraphBreak(GraphBreakKind::OutOfMemory);
  Ref<> owned = found.isNew ? Ref<>::steal(found.object) : Ref<>::create(found.object);
  SourceKind kind =
      part == cpython::Part::Value ? SourceKind::IteratorValue : SourceKind::IteratorItem;
  return translator.wrap(translator.sources->item(kind, iterator->source(), iterator->taken),
                         owned);
}

// The value of a key that the iterator is at. The trace may have given it another one.
Value valueAhead(Translator& translator, ExistingIteratorVariable* iterator) {
  auto* dict = trackerOf<DictVariable>(iterator->container);
  if (!dict || !translator.effects.isWritten(dict)) {
    return partAhead(translator, iterator, cpython::Part::Value);
  }
  Value value = dict->get(translator, partAhead(translator, iterator, cpython::Part::Item));
  if (!value) throw GraphBreak(GraphBreakKind::ContainerChangedInLoop, describe(iterator));
  return value;
}

// Each item has a guard. Python walks over what has very many.
void checkLength(ExistingIteratorVariable* iterator) {
  cpython::Loaded container =
      cpython::iteratorField(iterator->existing(), IteratorField::Container);
  Ref<> owned = container.isNew ? Ref<>::steal(container.object) : Ref<>();
  auto most = static_cast<int64_t>(Translator::kMostGuards);
  if (container.object && cpython::stepAhead(iterator->existing(), most) == cpython::Step::Item) {
    throw GraphBreak(GraphBreakKind::HugeIterable, describe(iterator));
  }
}

// A tuple is a new one for each step, its items are not.
Value tupleAhead(Translator& translator, ExistingIteratorVariable* iterator) {
  llvm::SmallVector<PyObject*, 8> items;
  cpython::tupleAhead(iterator->existing(), iterator->taken, items);
  const Source* path =
      translator.sources->item(SourceKind::IteratorItem, iterator->source(), iterator->taken);
  auto count = static_cast<int64_t>(items.size());
  translator.addGuard(path, GuardType::SEQUENCE_LENGTH, nullptr, count);
  ValueVector values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(
        translator.wrap(translator.sources->item(SourceKind::TupleItem, path, i), items[i]));
  }
  return makeTuple(translator, std::move(values));
}

Value itemAhead(Translator& translator, ExistingIteratorVariable* iterator) {
  if (iterator->taken == 0) checkLength(iterator);
  translator.addGuard(iterator->source(), GuardType::ITERATOR_ITEM, nullptr, iterator->taken);
  if (cpython::givesTuplesOfIndexes(iterator->type())) return tupleAhead(translator, iterator);
  if (!cpython::givesValues(iterator->type())) {
    return partAhead(translator, iterator, cpython::Part::Item);
  }
  Value value = valueAhead(translator, iterator);
  if (!cpython::givesKeys(iterator->type())) return value;
  return makeTuple(translator,
                   {partAhead(translator, iterator, cpython::Part::Item), std::move(value)});
}

// Behind what the list held before: what the trace has put there.
Value itemAppended(const ExistingIteratorVariable* iterator) {
  auto* list = trackerOf<ListVariable>(iterator->container);
  if (!list || iterator->type() != &PyListIter_Type) return Value();
  llvm::ArrayRef<Value> appended = list->appended();
  auto index = static_cast<size_t>(iterator->taken - iterator->ahead);
  return index < appended.size() ? appended[index] : Value();
}

Value existingNext(Translator& translator, const Value& value) {
  auto* iterator = requireKind<ExistingIteratorVariable>(value);
  if (iterator->exhausted) return Value();
  lookAtContainer(translator, iterator);
  if (iterator->exhausted) return Value();
  requireUnmoved(translator, iterator);
  Value item;
  if (iterator->ahead < 0) {
    switch (cpython::stepAhead(iterator->existing(), iterator->taken)) {
      case Step::Item:
        item = itemAhead(translator, iterator);
        break;
      case Step::End:
        translator.addGuard(iterator->source(), GuardType::ITERATOR_END, nullptr, iterator->taken);
        assignTrailed(translator.trail, iterator->ahead, iterator->taken);
        break;
      case Step::Unknown:
        return unimplemented::unary(translator, value);
    }
  }
  if (!item) {
    item = itemAppended(iterator);
    // It meets what the trace has appended, or ends behind that.
    if (iterator->container.isTracker()) {
      translator.effects.keep(iterator->container.tracker());
    }
  }
  if (item) {
    assignTrailed(translator.trail, iterator->taken, iterator->taken + 1);
  } else if (cpython::walksOverDeque(iterator->type())) {
    // It stays what it is: a later step looks at the deque again.
    return Value();
  } else {
    assignTrailed(translator.trail, iterator->exhausted, true);
    if (!isDropped(iterator)) {
      letGo(translator, fieldOf(translator, iterator->source(), iterator->existing(),
                                IteratorField::Container));
    } else if (!cpython::givesTuplesOfIndexes(iterator->type())) {
      return Value();
    }
  }
  translator.effects.advance(iterator);
  return item;
}

Value existingSelf(Translator&, const Value& iterator) { return iterator; }

TypeSlots makeExistingSlots() {
  TypeSlots slots;
  slots.tp_iter = existingSelf;
  slots.tp_iternext = existingNext;
  slots.tp_hash = unimplemented::unary;
  return slots;
}

// The iterators that zip and map ask: a tuple.
ValueVector innerIterators(Translator& translator, const Source* source, BorrowedRef<> object) {
  Value all = translator.realized(fieldOf(translator, source, object, IteratorField::Iterators));
  auto* tuple = trackerOf<TupleVariable>(all);
  return tuple ? tuple->items() : ValueVector();
}

void guardState(Translator& translator, const Source* source, BorrowedRef<> object) {
  translator.addGuard(source, GuardType::TYPE_MATCH, reinterpret_cast<PyObject*>(Py_TYPE(object)));
  translator.addGuard(source, GuardType::ITERATOR_STATE, nullptr, cpython::iteratorState(object));
}

Value buildIslice(Translator& translator, const Source* source, BorrowedRef<> object) {
  auto field = [&](IteratorField name) { return fieldOf(translator, source, object, name); };
  guardState(translator, source, object);
  return translator.make<IsliceVariable>(field(IteratorField::Iterator), field(IteratorField::Skip),
                                         field(IteratorField::Stride), source, object);
}

Value buildChain(Translator& translator, const Source* source, BorrowedRef<> object) {
  auto field = [&](IteratorField name) { return fieldOf(translator, source, object, name); };
  guardState(translator, source, object);
  return translator.make<ChainVariable>(field(IteratorField::Iterator),
                                        field(IteratorField::Active), source, object);
}

Value buildCallable(Translator& translator, const Source* source, BorrowedRef<> object) {
  Value function = fieldOf(translator, source, object, IteratorField::Function);
  Value sentinel = fieldOf(translator, source, object, IteratorField::Sentinel);
  // One that has ended has neither.
  if (bool(function) != bool(sentinel)) return Value();
  guardState(translator, source, object);
  return translator.make<CallableIteratorVariable>(std::move(function), std::move(sentinel), source,
                                                   object);
}

// One whose state is known by parts; else null.
Value buildItertools(Translator& translator, const Source* source, BorrowedRef<> object) {
  const ItertoolsModel* model = itertoolsModel(Py_TYPE(object));
  size_t count = cpython::stateSize(object);
  if (!model || count == 0) return Value();
  guardState(translator, source, object);
  ValueVector state;
  for (size_t i = 0; i < count; ++i) {
    switch (cpython::stateKind(object, i)) {
      case cpython::StateKind::Object: {
        auto part = static_cast<size_t>(IteratorField::State) + i;
        Value value = fieldOf(translator, source, object, static_cast<IteratorField>(part));
        // What cycle has saved is a list.
        bool isList = value && PyList_CheckExact(cpython::stateObject(object, i));
        state.push_back(isList ? translator.realized(value) : value);
        break;
      }
      case cpython::StateKind::Flag:
        state.push_back(Value::boolean(cpython::stateNumber(object, i) != 0));
        break;
      case cpython::StateKind::Number:
        state.push_back(Value::integer(cpython::stateNumber(object, i)));
        break;
    }
  }
  return translator.make<ItertoolsVariable>(*model, std::move(state), source, object);
}

// The first time round, cycle asks another iterator; then it looks into a list of its own.
bool isInFirstRound(BorrowedRef<> object) {
  static PyTypeObject* const cycleType = cpython::itertoolsType("cycle");
  return Py_TYPE(object) == cycleType && cpython::stateObject(object, 0);
}

}  // namespace

int64_t countAhead(Translator& translator, ExistingIteratorVariable* iterator) {
  if (iterator->exhausted) return 0;
  lookAtContainer(translator, iterator);
  if (iterator->exhausted) return 0;
  if (cpython::walksOverDeque(iterator->type()) && iterator->ahead >= 0) return 0;
  constexpr int64_t kMost = 1 << 12;
  for (int64_t count = iterator->taken; count - iterator->taken < kMost; ++count) {
    Step step = cpython::stepAhead(iterator->existing(), count);
    bool changed = iterator->container.isTracker() &&
                   translator.effects.isWritten(iterator->container.tracker());
    if (step == Step::Unknown || changed || iterator->ahead >= 0) break;
    if (step == Step::Item) continue;
    translator.addGuard(iterator->source(), GuardType::ITERATOR_END, nullptr, count);
    return count - iterator->taken;
  }
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(iterator));
}

Value buildExistingIterator(Translator& translator, const Source* source, BorrowedRef<> object) {
  PyTypeObject* type = Py_TYPE(object);
  auto field = [&](IteratorField name) { return fieldOf(translator, source, object, name); };
  auto guardType = [&] {
    translator.addGuard(source, GuardType::TYPE_MATCH, reinterpret_cast<PyObject*>(type));
  };
  if (cpython::canLookAhead(type) && !isInFirstRound(object)) {
    guardType();
    return translator.make<ExistingIteratorVariable>(source, object);
  }
  if (type == &PyEnum_Type) {
    guardType();
    return translator.make<EnumerateVariable>(field(IteratorField::Iterator),
                                              field(IteratorField::Count), source, object);
  }
  if (type == &PyZip_Type) {
    guardType();
    return translator.make<ZipVariable>(innerIterators(translator, source, object),
                                        field(IteratorField::Strict), source, object);
  }
  if (type == &PyMap_Type) {
    guardType();
    return translator.make<MapVariable>(field(IteratorField::Function),
                                        innerIterators(translator, source, object), source, object);
  }
  if (type == &PyFilter_Type) {
    guardType();
    return translator.make<FilterVariable>(field(IteratorField::Function),
                                           field(IteratorField::Iterator), source, object);
  }
  if (type == &PyCallIter_Type) return buildCallable(translator, source, object);
  if (type == cpython::chainType()) return buildChain(translator, source, object);
  if (type == cpython::isliceType()) return buildIslice(translator, source, object);
  return buildItertools(translator, source, object);
}

const TypeSlots kExistingIteratorSlots = makeExistingSlots();

}  // namespace armature
