#include "cpython/special_slots.h"

namespace armature::cpython {

const char* nameOf(SpecialSlot slot) {
  switch (slot) {
    case SpecialSlot::Index:
      return "__index__";
    case SpecialSlot::Int:
      return "__int__";
    case SpecialSlot::Float:
      return "__float__";
    case SpecialSlot::Hash:
      return "__hash__";
    case SpecialSlot::Iter:
      return "__iter__";
    case SpecialSlot::Next:
      return "__next__";
    case SpecialSlot::Call:
      return "__call__";
    case SpecialSlot::Subscript:
    case SpecialSlot::Item:
      return "__getitem__";
    case SpecialSlot::Concat:
      return "__add__";
    case SpecialSlot::Repeat:
      return "__mul__";
  }
  Py_UNREACHABLE();
}

bool fillsSlot(const PyTypeObject* type, SpecialSlot slot) {
  const PyNumberMethods* number = type->tp_as_number;
  const PySequenceMethods* sequence = type->tp_as_sequence;
  switch (slot) {
    case SpecialSlot::Index:
      return number && number->nb_index;
    case SpecialSlot::Int:
      return number && number->nb_int;
    case SpecialSlot::Float:
      return number && number->nb_float;
    case SpecialSlot::Hash:
      return type->tp_hash && type->tp_hash != PyObject_HashNotImplemented;
    case SpecialSlot::Iter:
      return type->tp_iter;
    case SpecialSlot::Next:
      return type->tp_iternext;
    case SpecialSlot::Call:
      return type->tp_call;
    case SpecialSlot::Subscript:
      return type->tp_as_mapping && type->tp_as_mapping->mp_subscript;
    case SpecialSlot::Item:
      return sequence && sequence->sq_item;
    case SpecialSlot::Concat:
      return sequence && sequence->sq_concat;
    case SpecialSlot::Repeat:
      return sequence && sequence->sq_repeat;
  }
  Py_UNREACHABLE();
}

bool hasSequenceSlots(const PyTypeObject* type) { return type->tp_as_sequence != nullptr; }

PyObject* callBinarySlot(const PyTypeObject* type, int number, PyObject* left, PyObject* right) {
  // By NB_ADD and so on. nb_power takes three operands.
  static constexpr binaryfunc PyNumberMethods::*kSlots[] = {
      &PyNumberMethods::nb_add,
      &PyNumberMethods::nb_and,
      &PyNumberMethods::nb_floor_divide,
      &PyNumberMethods::nb_lshift,
      &PyNumberMethods::nb_matrix_multiply,
      &PyNumberMethods::nb_multiply,
      &PyNumberMethods::nb_remainder,
      &PyNumberMethods::nb_or,
      nullptr,
      &PyNumberMethods::nb_rshift,
      &PyNumberMethods::nb_subtract,
      &PyNumberMethods::nb_true_divide,
      &PyNumberMethods::nb_xor,
  };
  const PyNumberMethods* methods = type->tp_as_number;
  if (!methods) Py_RETURN_NOTIMPLEMENTED;
  if (!kSlots[number]) {
    if (methods->nb_power) return methods->nb_power(left, right, Py_None);
  } else if (binaryfunc function = methods->*kSlots[number]) {
    return function(left, right);
  }
  Py_RETURN_NOTIMPLEMENTED;
}

bool goesByIdentity(const PyTypeObject* type) {
  return type->tp_hash == PyBaseObject_Type.tp_hash &&
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

}  // namespace armature::cpython
