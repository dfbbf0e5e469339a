// Instructions that compute, build, take apart and format values.
#include "core/checked.h"
#include "interpreter/instruction_translator.h"
#include "variables/constants/constant.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/dict_methods.h"
#include "variables/containers/sequence.h"
#include "variables/containers/set_operations.h"
#include "variables/loops.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// The container that a display or comprehension fills, `n` entries below the top. It is an input
// where a resume function goes on in the middle of the filling.
template <class Kind>
Kind* containerAt(Translator& translator, Frame& frame, int32_t n) {
  Value& value = frame.peek(n);
  translator.realize(value);
  return requireKind<Kind>(value);
}

}  // namespace

// Whether the pending exception is a TypeError of iterating over a value whose type says nothing of
// iteration: CPython then names the construct instead.
bool InstructionTranslator::raisedBecauseNotIterable(const Value& value) {
  PyTypeObject* type = typeOf(value);
  return exceptionPending() &&
         PyType_IsSubtype(typeOf(exception()), reinterpret_cast<PyTypeObject*>(PyExc_TypeError)) &&
         !heap.hasSpecial(type, cpython::SpecialSlot::Iter) &&
         !heap.hasSpecial(type, cpython::SpecialSlot::Item);
}

bool InstructionTranslator::buildContainer(Frame& frame, const Instruction& instruction) {
  int32_t count = instruction.argument;
  Value result;
  int32_t consumed = count;
  auto items = [&] {
    ValueVector values;
    for (int32_t i = count; i > 0; --i) values.push_back(frame.peek(i));
    return values;
  };
  switch (instruction.opcode) {
    case Opcode::BUILD_TUPLE:
      result = makeTuple(*this, items());
      break;
    case Opcode::BUILD_LIST:
      result = make<ListVariable>(items());
      break;
    case Opcode::BUILD_SET: {
      auto* set = make<SetVariable>(&PySet_Type);
      for (int32_t i = count; i > 0; --i) {
        realizeKeyOperand(frame, i);
        if (!set->add(*this, frame.peek(i))) return false;
      }
      result = set;
      break;
    }
    case Opcode::BUILD_MAP: {
      auto* dict = make<DictVariable>();
      for (int32_t i = count; i > 0; --i) {
        realizeKeyOperand(frame, 2 * i);
        if (!dict->set(*this, frame.peek(2 * i), frame.peek(2 * i - 1))) return false;
      }
      result = dict;
      consumed = 2 * count;
      break;
    }
    case Opcode::BUILD_CONST_KEY_MAP: {
      PyObject* keys = realized(frame.peek(1)).objectOrNull();
      if (!keys) throw GraphBreak(GraphBreakKind::UnsupportedInstruction, "BUILD_CONST_KEY_MAP");
      auto* dict = make<DictVariable>();
      for (int32_t i = 0; i < count; ++i) {
        Value key = Value::constant(PyTuple_GET_ITEM(keys, i));
        if (!dict->set(*this, key, frame.peek(count + 1 - i))) return false;
      }
      result = dict;
      consumed = count + 1;
      break;
    }
    case Opcode::BUILD_SLICE: {
      Value step = count == 3 ? frame.peek(1) : Value::none();
      result = makeSlice(*this, frame.peek(count), frame.peek(count - 1), step);
      break;
    }
    default: {  // LIST_TO_TUPLE
      auto* list = containerAt<ListVariable>(*this, frame, 1);
      result = makeTuple(*this, list->items());
      consumed = 1;
      break;
    }
  }
  if (!result) return false;
  frame.drop(consumed);
  frame.push(std::move(result));
  return true;
}

bool InstructionTranslator::extendContainer(Frame& frame, const Instruction& instruction) {
  int32_t n = instruction.argument;
  switch (instruction.opcode) {
    case Opcode::LIST_APPEND:
      containerAt<ListVariable>(*this, frame, n + 1)->append(*this, frame.peek(1));
      frame.drop(1);
      return true;
    case Opcode::LIST_EXTEND: {
      auto* list = containerAt<ListVariable>(*this, frame, n + 1);
      ValueVector items;
      if (!collectInto(*this, frame.peek(1), items)) {
        // CPython names the construct where the iterable has no __iter__ at all.
        if (raisedBecauseNotIterable(realized(frame.peek(1)))) {
          raise(PyExc_TypeError, "Value after * must be an iterable, not %.200s",
                nameOf(*this, typeOf(frame.peek(1))));
        }
        return false;
      }
      for (Value& item : items) list->append(*this, std::move(item));
      frame.drop(1);
      return true;
    }
    case Opcode::SET_ADD: {
      auto* set = containerAt<SetVariable>(*this, frame, n + 1);
      realizeKeyOperand(frame, 1);
      if (!set->add(*this, frame.peek(1))) return false;
      frame.drop(1);
      return true;
    }
    case Opcode::SET_UPDATE: {
      auto* set = containerAt<SetVariable>(*this, frame, n + 1);
      if (!updateSet(*this, set, frame.peek(1))) return false;
      frame.drop(1);
      return true;
    }
    case Opcode::MAP_ADD: {
      auto* dict = containerAt<DictVariable>(*this, frame, n + 2);
      realizeKeyOperand(frame, 2);
      if (!dict->set(*this, frame.peek(2), frame.peek(1))) return false;
      frame.drop(2);
      return true;
    }
    default: {  // DICT_UPDATE, DICT_MERGE
      auto* dict = containerAt<DictVariable>(*this, frame, n + 1);
      realizeOperand(frame, 1);
      bool merge = instruction.opcode == Opcode::DICT_MERGE;
      DictVariable* other = unpackedMapping(*this, frame.peek(1), merge);
      if (!other) {
        if (exceptionPending()) {
          // Of some exceptions of the mapping's own, CPython says something else (DICT_UPDATE,
          // format_kwargs_error).
          for (PyObject* type : {PyExc_AttributeError, PyExc_KeyError}) {
            if (heap.isSubtype(typeOf(exception()), reinterpret_cast<PyTypeObject*>(type))) {
              throw GraphBreak(GraphBreakKind::UnpackedNotDict, describe(frame.peek(1)));
            }
          }
          return false;
        }
        bool isDisplay = instruction.opcode == Opcode::DICT_UPDATE;
        if (isDisplay && isConstantData(frame.peek(1))) {
          raise(PyExc_TypeError, "'%.200s' object is not a mapping",
                nameOf(*this, typeOf(frame.peek(1))));
          return false;
        }
        throw GraphBreak(GraphBreakKind::UnpackedNotDict, describe(frame.peek(1)));
      }
      bool ok = true;
      other->forEach(*this, [&](const OrderedValueMap::Entry& entry) {
        if (!ok) return;
        if (merge && dict->has(*this, entry.key)) {
          throw GraphBreak(GraphBreakKind::KeywordGivenTwice, describe(entry.key));
        }
        ok = dict->set(*this, entry.key, entry.value);
      });
      if (!ok) return false;
      frame.drop(1);
      return true;
    }
  }
}

// A text with a piece that varies: a sum; null where that has no expression.
Value InstructionTranslator::varyingText(Frame& frame, int32_t count) {
  bool varies = false;
  for (int32_t i = 1; i <= count; ++i) varies |= isSymbolic(*this, frame.peek(i));
  if (!varies) return Value();
  Value text = frame.peek(count);
  for (int32_t i = count - 1; text && i > 0; --i) {
    if (typeOf(text) != &PyUnicode_Type || typeOf(frame.peek(i)) != &PyUnicode_Type) return Value();
    text = isSymbolic(*this, text) || isSymbolic(*this, frame.peek(i))
               ? symbolicBinary(*this, nb_add, text, frame.peek(i))
               : binaryOperation(*this, nb_add, text, frame.peek(i));
  }
  return text;
}

bool InstructionTranslator::buildString(Frame& frame, const Instruction& instruction) {
  int32_t count = instruction.argument;
  if (Value text = varyingText(frame, count)) {
    frame.drop(count);
    frame.push(std::move(text));
    return true;
  }
  Ref<> pieces = checked(PyTuple_New(count));
  for (int32_t i = 0; i < count; ++i) {
    // In a resume function the pieces are inputs.
    Value& value = frame.peek(count - i);
    realizeOperand(frame, count - i);
    PyObject* piece = value.objectOrNull();
    if (!piece) throw GraphBreak(GraphBreakKind::TextOfObject, describe(value));
    Py_INCREF(piece);
    PyTuple_SET_ITEM(pieces.get(), i, piece);
  }
  static PyObject* const empty = staticName("");
  Value text = fromPython(PyUnicode_Join(empty, pieces.get()));
  if (!text) return false;
  frame.drop(count);
  frame.push(std::move(text));
  return true;
}

bool InstructionTranslator::unpack(Frame& frame, const Instruction& instruction) {
  auto count = static_cast<size_t>(instruction.argument);
  realizeOperand(frame, 1);
  Value sequence = frame.peek(1);
  ValueVector items;
  bool isSequence = (sequence.isConstant() && PyTuple_CheckExact(sequence.object())) ||
                    trackerOf<SequenceVariable>(sequence);
  if (isSequence) {
    if (!iterateInto(*this, sequence, items)) return false;
  } else {
    Value iterator = getIterator(*this, sequence);
    if (!iterator) {
      if (raisedBecauseNotIterable(sequence)) {
        raise(PyExc_TypeError, "cannot unpack non-iterable %.200s object",
              nameOf(*this, typeOf(sequence)));
      }
      return false;
    }
    while (items.size() <= count) {
      Value item = iteratorNext(*this, iterator);
      if (!item) break;
      items.push_back(std::move(item));
    }
    if (exceptionPending()) return false;
  }
  if (items.size() < count) {
    raise(PyExc_ValueError, "not enough values to unpack (expected %zu, got %zu)", count,
          items.size());
    return false;
  }
  if (items.size() > count) {
    raise(PyExc_ValueError, "too many values to unpack (expected %zu)", count);
    return false;
  }
  frame.drop(1);
  for (size_t i = count; i > 0; --i) frame.push(std::move(items[i - 1]));
  return true;
}

bool InstructionTranslator::takesItemsOfPython(Frame& frame) {
  realizeOperand(frame, 1);
  // A set takes another one as a whole.
  return stepsInPython(frame.peek(1)) && !isAnySet(frame.peek(1));
}

Value InstructionTranslator::takeItems(Frame& frame, const Instruction& instruction) {
  const Value iterable = frame.peek(1);
  bool unpacks =
      instruction.opcode == Opcode::UNPACK_SEQUENCE || instruction.opcode == Opcode::UNPACK_EX;
  Value iterator = getIterator(*this, iterable);
  if (!iterator) {
    // CPython names the construct where the iterable has no __iter__ at all.
    if (instruction.opcode != Opcode::SET_UPDATE && raisedBecauseNotIterable(iterable)) {
      raise(PyExc_TypeError,
            unpacks ? "cannot unpack non-iterable %.200s object"
                    : "Value after * must be an iterable, not %.200s",
            nameOf(*this, typeOf(iterable)));
    }
    return iterator;
  }
  Value argument = Value::integer(instruction.argument);
  if (unpacks) {
    bool extended = instruction.opcode == Opcode::UNPACK_EX;
    return walkItems(*this, iterator, extended ? ItemStep::UnpackExtended : ItemStep::Unpack,
                     make<ListVariable>(ValueVector()), argument, true);
  }
  int32_t n = instruction.argument + 1;
  if (instruction.opcode == Opcode::SET_UPDATE) {
    auto* set = containerAt<SetVariable>(*this, frame, n);
    return walkItems(*this, iterator, ItemStep::Add, set, Value::none(), true);
  }
  auto* list = containerAt<ListVariable>(*this, frame, n);
  if (!askLengthHint(*this, iterable)) return Value();
  return walkItems(*this, iterator, ItemStep::Extend, list, Value::none(), true);
}

bool InstructionTranslator::unpackExtended(Frame& frame, const Instruction& instruction) {
  size_t before = instruction.argument & 0xff;
  size_t after = instruction.argument >> 8;
  realizeOperand(frame, 1);
  Value iterator = getIterator(*this, frame.peek(1));
  if (!iterator) {
    if (const Value& sequence = frame.peek(1); raisedBecauseNotIterable(sequence)) {
      raise(PyExc_TypeError, "cannot unpack non-iterable %.200s object",
            nameOf(*this, typeOf(sequence)));
    }
    return false;
  }
  ValueVector items;
  while (items.size() < before) {
    Value item = iteratorNext(*this, iterator);
    if (!item) break;
    items.push_back(std::move(item));
  }
  // The rest is list() of the iterator.
  bool isLong = items.size() == before && !exceptionPending();
  if (isLong) collectInto(*this, iterator, items);
  if (exceptionPending()) return false;
  if (items.size() < before + after) {
    raise(PyExc_ValueError, "not enough values to unpack (expected at least %zu, got %zu)",
          before + after, items.size());
    return false;
  }
  frame.drop(1);
  for (size_t i = 0; i < after; ++i) frame.push(items[items.size() - 1 - i]);
  ValueVector middle(items.begin() + before, items.end() - after);
  frame.push(make<ListVariable>(std::move(middle)));
  for (size_t i = before; i > 0; --i) frame.push(items[i - 1]);
  return true;
}

}  // namespace armature
