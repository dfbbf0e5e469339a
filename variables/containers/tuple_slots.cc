// The slots of tuple, and of tuple's subclasses with named fields.
#include <Python.h>
#include <structmember.h>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/tuple_hash.h"
#include "cpython/imported_modules.h"
#include "cpython/instance_attributes.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "variables/containers/iterators.h"
#include "variables/containers/sequence_slots.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/repr_recursion.h"

namespace armature {

namespace {

const ValueVector& tupleItems(const Value& self) {
  return requireKind<SequenceVariable>(self)->items();
}

Value concatenate(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  ValueVector storage, items = tupleItems(left);
  // A constant of a type over tuple may have an addition of its own, as torch.Size does.
  PyObject* constant = right.objectOrNull();
  if (constant && PyTuple_Check(constant) && !PyTuple_CheckExact(constant)) {
    for (Value& item : items) translator.realize(item);
    Value known = makeTuple(translator, std::move(items));
    if (typeOf(left) != &PyTuple_Type || !known.isConstant()) {
      return unimplemented::binary(translator, slot, left, right);
    }
    return translator.fromPython(PyNumber_Add(known.object(), constant));
  }
  llvm::ArrayRef<Value> others;
  auto* part = partOf<TupleVariable>(right);
  if (trackerOf<MutableSequenceVariable>(right) ||
      !itemsOf(part ? Value(part) : right, storage, others)) {
    return translator.raise(PyExc_TypeError, "can only concatenate tuple (not \"%.200s\") to tuple",
                            nameOf(translator, right));
  }
  // A sum with nothing is the tuple itself.
  if (others.empty() && typeOf(left) == &PyTuple_Type) return left;
  if (items.empty() && typeOf(right) == &PyTuple_Type) return right;
  items.append(others.begin(), others.end());
  return makeTuple(translator, std::move(items));
}

Value repeat(Translator& translator, NumberSlot, const Value& self, const Value& count) {
  int64_t times;
  if (!readRepeatCount(
          translator, count, [&] { return tupleItems(self).size(); }, times))
    return Value();
  if (times == 1 && typeOf(self) == &PyTuple_Type) return self;
  return makeTuple(translator, repeatItems(tupleItems(self), times));
}

Value subscript(Translator& translator, const Value& self, const Value& key) {
  const ValueVector& items = tupleItems(self);
  if (isSlice(key)) {
    SliceRange range;
    if (!readSlice(
            translator, key, [&] { return items.size(); }, range))
      return Value();
    bool isWhole = range.step == 1 && range.count == static_cast<int64_t>(items.size());
    if (isWhole && typeOf(self) == &PyTuple_Type) return self;
    return makeTuple(translator, sliceItems(items, range));
  }
  int64_t index;
  bool isRead = readItemIndex(
      translator, key, [&] { return items.size(); },
      "tuple indices must be integers or slices, not %.200s", "tuple index out of range", index);
  return isRead ? items[index] : Value();
}

Value iterate(Translator& translator, const Value& self) {
  return translator.make<SequenceIteratorVariable>(&PyTupleIter_Type, self);
}

Value hash(Translator& translator, const Value& self) {
  TupleHash hash;
  for (const Value& item : tupleItems(self)) {
    Py_hash_t element;
    if (!hashValue(translator, item, element)) return Value();
    hash.add(element);
  }
  return Value::integer(hash.finish());
}

Value repr(Translator& translator, const Value& self) {
  ReprRecursion recursion(self);
  if (recursion.entered()) return Value::string("(...)");
  return joinedRepr(translator, self, "(", tupleItems(self).size() == 1 ? ",)" : ")");
}

TypeSlots makeTupleSlots() {
  TypeSlots slots;
  slots.mp_length = sequenceLength;
  slots.mp_subscript = subscript;
  slots.sq_contains = sequenceContains;
  slots.sq_concat = concatenate;
  slots.sq_repeat = repeat;
  slots.tp_iter = iterate;
  slots.tp_hash = hash;
  slots.tp_richcompare = compareSequences;
  slots.tp_repr = repr;
  return slots;
}

// --- Tuples with named fields.

}  // namespace

PyTypeObject* tupleFieldType() {
  static PyTypeObject* const type = [] {
    Ref<> module = checked(cpython::importModule("_collections"));
    return reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(module.get(), "_tuplegetter"));
  }();
  return type;
}

int64_t tupleFieldIndex(PyTypeObject* type, PyObject* descriptor) {
  if (Py_TYPE(descriptor) == tupleFieldType()) {
    // It has no attribute for its index, but says it when it is pickled.
    Ref<> reduced = Ref<>::steal(PyObject_CallMethod(descriptor, "__reduce__", nullptr));
    if (!reduced) {
      clearException();
      return -1;
    }
    PyObject* arguments = PyTuple_GET_ITEM(reduced.get(), 1);
    return PyLong_AsSsize_t(PyTuple_GET_ITEM(arguments, 0));
  }
  bool structSequence = !(type->tp_flags & Py_TPFLAGS_BASETYPE);
  return structSequence && cpython::isMember(descriptor) ? cpython::tupleItemIndex(descriptor) : -1;
}

namespace {

Value namedGetAttribute(Translator& translator, const Value& self, PyObject* name) {
  PyTypeObject* type = typeOf(self);
  Found found = translator.heap.lookup(type, name);
  if (!found && cpython::hasInstanceDict(type)) {
    throw GraphBreak(GraphBreakKind::AttributeOfTuple, describe(self));
  }
  static PyObject* const getattribute = staticName("__getattribute__");
  if (found.object && translator.heap.inherits(type, &PyTuple_Type, getattribute)) {
    int64_t index = tupleFieldIndex(type, found.object);
    const ValueVector& items = tupleItems(self);
    if (index >= 0 && index < static_cast<int64_t>(items.size())) {
      return items[index];
    }
  }
  return hookedGetAttribute(translator, self, name, false);
}

bool namedSetAttribute(Translator& translator, const Value& self, PyObject* name,
                       const Value& value) {
  PyTypeObject* type = typeOf(self);
  Found found = translator.heap.lookup(type, name);
  if (found && tupleFieldIndex(type, found.object) >= 0) {
    // A member's setter does not ask what it is for; a property's says it.
    const char* refusal = value ? "can't set attribute" : "can't delete attribute";
    if (cpython::isMember(found.object)) refusal = "readonly attribute";
    translator.raise(PyExc_AttributeError, refusal);
    return false;
  }
  if (cpython::hasInstanceDict(type)) {
    throw GraphBreak(GraphBreakKind::AttributeOfTuple, describe(self));
  }
  return genericSetAttribute(translator, self, name, value);
}

// A subclass may override what tuple does: then its own function is called.
Value namedRepr(Translator& translator, const Value& self) {
  static PyObject* const name = staticName("__repr__");
  if (translator.heap.inherits(typeOf(self), &PyTuple_Type, name)) return repr(translator, self);
  Value method = lookupSpecial(translator, self, name);
  // slot_tp_repr takes one that fails to bind for none.
  if (!method) throw GraphBreak(GraphBreakKind::TextOfObject, describe(self));
  return call(translator, method, llvm::ArrayRef<Value>());
}

void requireInherited(Translator& translator, const Value& self,
                      std::initializer_list<const char*> methods) {
  for (const char* method : methods) {
    Ref<> name = checked(PyUnicode_InternFromString(method));
    if (translator.heap.inherits(typeOf(self), &PyTuple_Type, name.get())) continue;
    throw GraphBreak(GraphBreakKind::TupleWithOperators, describe(self));
  }
}

Value namedSubscript(Translator& translator, const Value& self, const Value& key) {
  requireInherited(translator, self, {"__getitem__"});
  return subscript(translator, self, key);
}

Value namedLength(Translator& translator, const Value& self) {
  requireInherited(translator, self, {"__len__"});
  return sequenceLength(translator, self);
}

Value namedContains(Translator& translator, const Value& self, const Value& item) {
  requireInherited(translator, self, {"__contains__"});
  return sequenceContains(translator, self, item);
}

Value namedIterate(Translator& translator, const Value& self) {
  requireInherited(translator, self, {"__iter__"});
  return iterate(translator, self);
}

Value namedHash(Translator& translator, const Value& self) {
  requireInherited(translator, self, {"__hash__"});
  return hash(translator, self);
}

Value namedCompare(Translator& translator, const Value& left, const Value& right, int op) {
  requireInherited(translator, left, {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"});
  return compareSequences(translator, left, right, op);
}

Value namedConcatenate(Translator& translator, NumberSlot slot, const Value& left,
                       const Value& right) {
  requireInherited(translator, left, {"__add__", "__radd__", "__iadd__"});
  return concatenate(translator, slot, left, right);
}

Value namedRepeat(Translator& translator, NumberSlot slot, const Value& self, const Value& count) {
  requireInherited(translator, self, {"__mul__", "__rmul__", "__imul__"});
  return repeat(translator, slot, self, count);
}

Value namedStr(Translator& translator, const Value& self) {
  static PyObject* const name = staticName("__str__");
  if (translator.heap.inherits(typeOf(self), &PyBaseObject_Type, name)) {
    return namedRepr(translator, self);
  }
  Value method = lookupSpecial(translator, self, name);
  return method ? call(translator, method, llvm::ArrayRef<Value>()) : method;
}

Value namedBool(Translator& translator, const Value& self) {
  static PyObject* const name = staticName("__bool__");
  static const TypeSlots objects = makeObjectSlots();
  if (translator.heap.lookup(typeOf(self), name)) return objects.nb_bool(translator, self);
  Value size = namedLength(translator, self);
  return size ? Value::boolean(isTrue(translator, size)) : size;
}

// What tuples know of, and for all else the methods of the class.
TypeSlots makeNamedTupleSlots() {
  TypeSlots slots = makeObjectSlots();
  slots.nb_bool = namedBool;
  slots.tp_str = namedStr;
  slots.instanceDict = TypeSlots().instanceDict;
  slots.mp_length = namedLength;
  slots.mp_subscript = namedSubscript;
  slots.sq_contains = namedContains;
  slots.sq_concat = namedConcatenate;
  slots.sq_repeat = namedRepeat;
  slots.tp_iter = namedIterate;
  slots.tp_hash = namedHash;
  slots.tp_richcompare = namedCompare;
  slots.tp_repr = namedRepr;
  slots.tp_getattro = namedGetAttribute;
  slots.tp_setattro = namedSetAttribute;
  return slots;
}

}  // namespace

const TypeSlots kTupleSlots = makeTupleSlots();
const TypeSlots kNamedTupleSlots = makeNamedTupleSlots();

}  // namespace armature
