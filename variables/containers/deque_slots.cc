// The slots of deque, and those of its iterators.
#include "cpython/string_writer.h"
#include "variables/containers/deque.h"
#include "variables/containers/sequence_slots.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/repr_recursion.h"
#include "variables/trailed.h"

namespace armature {

namespace {

DequeVariable* dequeOf(const Value& value) { return requireKind<DequeVariable>(value); }

// deque_inplace_repeat. False with the exception pending.
bool repeatInPlace(Translator& translator, DequeVariable* deque, int64_t times) {
  auto size = static_cast<int64_t>(deque->size());
  if (size == 0 || times == 1) return true;
  if (times == 0) {
    deque->clear(translator);
    return true;
  }
  int64_t bound = deque->bound();
  if (bound >= 0 && times * size > bound) times = (bound + size - 1) / size;
  if (size == 1) deque->noteMove(translator);
  ValueVector items;
  if (times > 1 && !iterateInto(translator, wholeOf(deque), items)) return false;
  for (int64_t i = 1; i < times; ++i) {
    for (const Value& item : items) deque->append(translator, item);
  }
  return true;
}

Value concatenate(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  DequeVariable* deque = dequeOf(left);
  if (slot == nb_inplace_add) {
    return extendDeque(translator, deque, right, false) ? left : Value();
  }
  if (!partOf<DequeVariable>(right)) {
    return translator.raise(PyExc_TypeError, "can only concatenate deque (not \"%.200s\") to deque",
                            nameOf(translator, right));
  }
  Value result = copyDeque(translator, deque);
  auto* made = partOf<DequeVariable>(result);
  return result && extendDeque(translator, made, right, false) ? result : Value();
}

Value repeat(Translator& translator, NumberSlot slot, const Value& self, const Value& count) {
  int64_t times;
  auto length = [&] { return dequeOf(self)->size(); };
  if (!readRepeatCount(translator, count, length, times)) return Value();
  bool isInPlace = slot == nb_inplace_multiply;
  Value result = isInPlace ? self : copyDeque(translator, dequeOf(self));
  auto* deque = partOf<DequeVariable>(result);
  return result && repeatInPlace(translator, deque, times) ? result : Value();
}

// PySequence_GetItem and its like, which count from the end for the sequence: from what __len__ of
// a subclass says.
bool readIndex(Translator& translator, Value key, DequeVariable* deque, int64_t& index) {
  static PyObject* const name = staticName("__len__");
  if (deque->instance && hasIndex(translator, key) &&
      !leavesToPart(translator, deque->instance, name)) {
    if (!readSize(translator, key, PyExc_IndexError, index)) return false;
    int64_t size = index < 0 ? length(translator, deque->instance) : 0;
    if (size < 0) return false;
    key = translator.fromPython(PyLong_FromLongLong(index + size));
    if (index + size < 0) {
      translator.raise(PyExc_IndexError, "deque index out of range");
      return false;
    }
  }
  return readItemIndex(
      translator, key, [&] { return deque->size(); },
      "sequence index must be integer, not '%.200s'", "deque index out of range", index);
}

Value subscript(Translator& translator, const Value& self, const Value& key) {
  DequeVariable* deque = dequeOf(self);
  int64_t index;
  return readIndex(translator, key, deque, index) ? deque->item(index) : Value();
}

bool assignSubscript(Translator& translator, const Value& self, const Value& key,
                     const Value& value) {
  DequeVariable* deque = dequeOf(self);
  int64_t index;
  if (!readIndex(translator, key, deque, index)) return false;
  if (value) {
    deque->setItem(translator, index, value);
  } else {
    deque->pop(translator, index);
  }
  return true;
}

Value containsItem(Translator& translator, const Value& self, const Value& item) {
  DequeVariable* deque = dequeOf(self);
  int64_t moves = deque->moves();
  auto size = static_cast<int64_t>(deque->size());
  for (int64_t i = 0; i < size; ++i) {
    int equal = areEqual(translator, deque->item(i), item);
    if (equal < 0) return Value();
    if (equal) return Value::boolean(true);
    if (deque->moves() != moves) {
      return translator.raise(PyExc_RuntimeError, "deque mutated during iteration");
    }
  }
  return Value::boolean(false);
}

// The next items of both; false with or without an exception where one has none.
bool nextPair(Translator& translator, const Value (&iterators)[2], Value (&items)[2]) {
  for (size_t i = 0; i < 2; ++i) {
    items[i] = iteratorNext(translator, iterators[i]);
    if (!items[i] && translator.exceptionPending()) return false;
  }
  return items[0] && items[1];
}

Value compare(Translator& translator, const Value& self, const Value& other, int op) {
  auto *left = partOf<DequeVariable>(self), *right = partOf<DequeVariable>(other);
  if (!left || !right) return Value::constant(Py_NotImplemented);
  bool equality = op == Py_EQ || op == Py_NE;
  if (equality && left == right) return Value::boolean(op == Py_EQ);
  if (equality && left->size() != right->size()) return Value::boolean(op == Py_NE);
  // As the program iterates over them: a subclass may do so in its own way.
  Value iterators[2], items[2];
  iterators[0] = getIterator(translator, wholeOf(left));
  if (iterators[0]) iterators[1] = getIterator(translator, wholeOf(right));
  if (!iterators[1]) return Value();
  while (nextPair(translator, iterators, items)) {
    int equal = areEqual(translator, items[0], items[1]);
    if (equal < 0) return Value();
    if (equal) continue;
    // deque_richcompare: of == and !=, once more.
    Value result = richCompare(translator, items[0], items[1], op);
    int truth = result ? isTrue(translator, result) : -1;
    return truth < 0 ? Value() : Value::boolean(truth);
  }
  if (translator.exceptionPending()) return Value();
  bool hasLeft = static_cast<bool>(items[0]), hasRight = static_cast<bool>(items[1]);
  switch (op) {
    case Py_LT:
      return Value::boolean(hasRight);
    case Py_LE:
      return Value::boolean(!hasLeft);
    case Py_EQ:
      return Value::boolean(hasLeft == hasRight);
    case Py_NE:
      return Value::boolean(hasLeft != hasRight);
    case Py_GT:
      return Value::boolean(hasLeft);
    default:
      return Value::boolean(!hasRight);
  }
}

Value iterate(Translator& translator, const Value& self) {
  return makeDequeIterator(translator, dequeOf(self), false);
}

// deque_repr: the name without its module.
Value repr(Translator& translator, const Value& self) {
  ReprRecursion recursion(self);
  if (recursion.entered()) return Value::string("[...]");
  DequeVariable* deque = dequeOf(self);
  std::string_view name = nameOf(translator, self);
  name.remove_prefix(name.rfind('.') + 1);
  ValueVector items;
  if (!collectInto(translator, wholeOf(deque), items)) return Value();  // PySequence_List
  Value text = toRepr(translator, translator.make<ListVariable>(std::move(items)));
  if (!text) return text;
  std::string open = std::string(name) + "(";
  if (deque->bound() < 0) {
    return translator.fromPython(PyUnicode_FromFormat("%s%U)", open.c_str(), text.object()));
  }
  return translator.fromPython(PyUnicode_FromFormat(
      "%s%U, maxlen=%zd)", open.c_str(), text.object(), static_cast<Py_ssize_t>(deque->bound())));
}

// Known once Python is there.
PyObject* dequeType = nullptr;

void registerDequeType() { dequeType = reinterpret_cast<PyObject*>(cpython::dequeType()); }
ARMATURE_REGISTER_HANDLERS(registerDequeType);

const BuiltinAttribute kAttributes[] = {
    {&dequeType, "maxlen",
     [](Translator&, const Value& self) {
       int64_t bound = dequeOf(self)->bound();
       return bound < 0 ? Value::none() : Value::integer(bound);
     },
     [](Translator& translator, const Value&, const Value&) {
       translator.raise(PyExc_AttributeError,
                        "attribute 'maxlen' of 'collections.deque' objects is not writable");
       return false;
     }},
};

TypeSlots makeDequeSlots() {
  TypeSlots slots;
  slots.mp_length = sequenceLength;
  slots.mp_subscript = subscript;
  slots.mp_ass_subscript = assignSubscript;
  slots.sq_contains = containsItem;
  slots.sq_concat = concatenate;
  slots.sq_repeat = repeat;
  slots.tp_iter = iterate;
  slots.tp_richcompare = compare;
  slots.getset = kAttributes;
  slots.tp_repr = repr;
  return slots;
}

// --- Iterators.

// dequeiter_next and dequereviter_next, which look at the end and at changes in different order.
Value next(Translator& translator, const Value& self) {
  auto* iterator = requireKind<DequeIteratorVariable>(self);
  bool moved = iterator->deque->moves() != iterator->moves;
  if (iterator->remaining == 0 && (iterator->isReversed() || !moved)) return Value();
  if (moved) {
    assignTrailed(translator.trail, iterator->remaining, int64_t{0});
    return translator.raise(PyExc_RuntimeError, "deque mutated during iteration");
  }
  int64_t place = iterator->isReversed() ? iterator->remaining - 1 : iterator->position;
  Value item = iterator->deque->item(place);
  assignTrailed(translator.trail, iterator->position, iterator->position + 1);
  assignTrailed(translator.trail, iterator->remaining, iterator->remaining - 1);
  return item;
}

TypeSlots makeDequeIteratorSlots() {
  TypeSlots slots;
  slots.tp_iter = [](Translator&, const Value& self) { return self; };
  slots.tp_iternext = next;
  return slots;
}

}  // namespace

Value makeDequeIterator(Translator& translator, DequeVariable* deque, bool reversed) {
  PyTypeObject* type =
      reversed ? cpython::dequeReverseIteratorType() : cpython::dequeIteratorType();
  return translator.make<DequeIteratorVariable>(type, deque, static_cast<int64_t>(deque->size()));
}

const TypeSlots kDequeSlots = makeDequeSlots();
const TypeSlots kDequeIteratorSlots = makeDequeIteratorSlots();

}  // namespace armature
