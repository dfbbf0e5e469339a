#include "runtime/compiled_callable_operators.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/ref.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "runtime/compiled_callable.h"

namespace armature {

namespace {

// What an operator of the operand has returned: where that is the original, the stand-in.
PyObject* standIn(PyObject* result, PyObject* operand) {
  if (!result || result != operandOf(operand)) return result;
  Py_DECREF(result);
  return Py_NewRef(operand);
}

// --- Slots of which CPython has a generic function.

PyObject* represent(PyObject* self) { return PyObject_Repr(operandOf(self)); }
PyObject* text(PyObject* self) { return PyObject_Str(operandOf(self)); }
Py_hash_t hash(PyObject* self) { return PyObject_Hash(operandOf(self)); }
PyObject* compare(PyObject* left, PyObject* right, int operation) {
  return PyObject_RichCompare(operandOf(left), operandOf(right), operation);
}
int truth(PyObject* self) { return PyObject_IsTrue(operandOf(self)); }
Py_ssize_t length(PyObject* self) { return PyObject_Size(operandOf(self)); }
int setItem(PyObject* self, PyObject* key, PyObject* value) {
  PyObject* original = operandOf(self);
  return value ? PyObject_SetItem(original, key, value) : PyObject_DelItem(original, key);
}
int contains(PyObject* self, PyObject* value) {
  return PySequence_Contains(operandOf(self), value);
}
PyObject* item(PyObject* self, PyObject* key) {
  return standIn(PyObject_GetItem(operandOf(self), key), self);
}

template <PyObject* (*Operation)(PyObject*)>
PyObject* unary(PyObject* self) {
  return standIn(Operation(operandOf(self)), self);
}

// In-place ones as well: where the original changes itself, `a += b` leaves the stand-in in `a`.
template <PyObject* (*Operation)(PyObject*, PyObject*)>
PyObject* binary(PyObject* left, PyObject* right) {
  return standIn(standIn(Operation(operandOf(left), operandOf(right)), left), right);
}

template <PyObject* (*Operation)(PyObject*, PyObject*, PyObject*)>
PyObject* ternary(PyObject* base, PyObject* exponent, PyObject* modulus) {
  PyObject* result = Operation(operandOf(base), operandOf(exponent), operandOf(modulus));
  return standIn(standIn(result, base), exponent);
}

// --- Special methods that CPython looks up by name where it needs them.

// The name of a special method, or what Python says of a type that has none.
template <size_t Size>
struct Text {
  char value[Size];
  constexpr Text(const char (&text)[Size]) { std::copy_n(text, Size, value); }
};

// The special method of an object, bound; null, without an exception, if its class has none.
template <Text Name>
Ref<> specialMethod(PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString(Name.value);
  Ref<> found = Ref<>::create(cpython::lookup(Py_TYPE(object), name));
  descrgetfunc get = found ? Py_TYPE(found.get())->tp_descr_get : nullptr;
  if (!get) return found;
  return Ref<>::steal(get(found.get(), object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

// What is raised where specialMethod() has returned null. `absent` has a place for a type's name.
PyObject* raiseAbsent(const char* absent, PyObject* original) {
  if (PyErr_Occurred()) return nullptr;
  return PyErr_Format(PyExc_TypeError, absent, Py_TYPE(original)->tp_name);
}

template <Text Name, Text Absent>
PyObject* forward(PyObject* self, PyObject* arguments) {
  PyObject* original = operandOf(self);
  Ref<> method = specialMethod<Name>(original);
  if (!method) return raiseAbsent(Absent.value, original);
  return standIn(PyObject_Call(method.get(), arguments, nullptr), self);
}

// The same, in a slot.
template <Text Name, Text Absent>
PyObject* forwardSlot(PyObject* self) {
  PyObject* original = operandOf(self);
  Ref<> method = specialMethod<Name>(original);
  if (!method) return raiseAbsent(Absent.value, original);
  return standIn(PyObject_CallNoArgs(method.get()), self);
}

// The `with` statement enters only what it can leave.
template <Text Enter, Text Exit, Text Absent, Text ExitAbsent>
PyObject* enter(PyObject* self, PyObject* arguments) {
  PyObject* original = operandOf(self);
  if (!specialMethod<Enter>(original)) return raiseAbsent(Absent.value, original);
  if (!specialMethod<Exit>(original)) return raiseAbsent(ExitAbsent.value, original);
  return forward<Enter, Absent>(self, arguments);
}

// math.floor() and math.ceil()
template <Text Name, double (*Round)(double)>
PyObject* roundTowards(PyObject* self, PyObject*) {
  PyObject* original = operandOf(self);
  if (Ref<> method = specialMethod<Name>(original)) {
    return standIn(PyObject_CallNoArgs(method.get()), self);
  }
  if (PyErr_Occurred()) return nullptr;
  double number = PyFloat_AsDouble(original);
  if (number == -1.0 && PyErr_Occurred()) return nullptr;
  return PyLong_FromDouble(Round(number));
}

// What the builtin type makes of the original.
template <PyTypeObject* Type>
PyObject* convert(PyObject* self, PyObject*) {
  return standIn(PyObject_CallOneArg(reinterpret_cast<PyObject*>(Type), operandOf(self)), self);
}

PyObject* format(PyObject* self, PyObject* specification) {
  return PyObject_Format(operandOf(self), specification);
}

PyObject* path(PyObject* self, PyObject*) { return standIn(PyOS_FSPath(operandOf(self)), self); }

PyObject* lengthHint(PyObject* self, PyObject*) {
  // The length has been asked for already.
  Ref<> method = specialMethod<"__length_hint__">(operandOf(self));
  if (method) return PyObject_CallNoArgs(method.get());
  if (PyErr_Occurred()) return nullptr;
  Py_RETURN_NOTIMPLEMENTED;
}

PyObject* isInstance(PyObject* self, PyObject* object) {
  int is = PyObject_IsInstance(object, operandOf(self));
  return is < 0 ? nullptr : PyBool_FromLong(is);
}

PyObject* isSubclass(PyObject* self, PyObject* cls) {
  int is = PyObject_IsSubclass(cls, operandOf(self));
  return is < 0 ? nullptr : PyBool_FromLong(is);
}

// sys.getsizeof() adds what the garbage collector has put before the stand-in, two words, to what
// this returns; the original may have more there, or nothing.
PyObject* sizeInMemory(PyObject* self, PyObject*) {
  constexpr Py_ssize_t added = 2 * sizeof(void*);
  Ref<> sys = Ref<>::steal(cpython::importModule("sys"));
  if (!sys) return nullptr;
  Ref<> size = Ref<>::steal(PyObject_CallMethod(sys.get(), "getsizeof", "(O)", operandOf(self)));
  if (!size) return nullptr;
  Py_ssize_t whole = PyLong_AsSsize_t(size.get());
  if (whole == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromSsize_t(std::max<Py_ssize_t>(whole - added, 0));
}

// --- The tables.

PyNumberMethods numberMethods = {
    .nb_add = binary<PyNumber_Add>,
    .nb_subtract = binary<PyNumber_Subtract>,
    .nb_multiply = binary<PyNumber_Multiply>,
    .nb_remainder = binary<PyNumber_Remainder>,
    .nb_divmod = binary<PyNumber_Divmod>,
    .nb_power = ternary<PyNumber_Power>,
    .nb_negative = unary<PyNumber_Negative>,
    .nb_positive = unary<PyNumber_Positive>,
    .nb_absolute = unary<PyNumber_Absolute>,
    .nb_bool = truth,
    .nb_invert = unary<PyNumber_Invert>,
    .nb_lshift = binary<PyNumber_Lshift>,
    .nb_rshift = binary<PyNumber_Rshift>,
    .nb_and = binary<PyNumber_And>,
    .nb_xor = binary<PyNumber_Xor>,
    .nb_or = binary<PyNumber_Or>,
    .nb_int = unary<PyNumber_Long>,
    .nb_float = unary<PyNumber_Float>,
    .nb_inplace_add = binary<PyNumber_InPlaceAdd>,
    .nb_inplace_subtract = binary<PyNumber_InPlaceSubtract>,
    .nb_inplace_multiply = binary<PyNumber_InPlaceMultiply>,
    .nb_inplace_remainder = binary<PyNumber_InPlaceRemainder>,
    .nb_inplace_power = ternary<PyNumber_InPlacePower>,
    .nb_inplace_lshift = binary<PyNumber_InPlaceLshift>,
    .nb_inplace_rshift = binary<PyNumber_InPlaceRshift>,
    .nb_inplace_and = binary<PyNumber_InPlaceAnd>,
    .nb_inplace_xor = binary<PyNumber_InPlaceXor>,
    .nb_inplace_or = binary<PyNumber_InPlaceOr>,
    .nb_floor_divide = binary<PyNumber_FloorDivide>,
    .nb_true_divide = binary<PyNumber_TrueDivide>,
    .nb_inplace_floor_divide = binary<PyNumber_InPlaceFloorDivide>,
    .nb_inplace_true_divide = binary<PyNumber_InPlaceTrueDivide>,
    .nb_index = unary<PyNumber_Index>,
    .nb_matrix_multiply = binary<PyNumber_MatrixMultiply>,
    .nb_inplace_matrix_multiply = binary<PyNumber_InPlaceMatrixMultiply>,
};

PySequenceMethods sequenceMethods = {.sq_contains = contains};

PyMappingMethods mappingMethods = {
    .mp_length = length,
    .mp_subscript = item,
    .mp_ass_subscript = setItem,
};

PyAsyncMethods asyncMethods = {
    .am_await = forwardSlot<"__await__", "object %.100s can't be used in 'await' expression">,
    .am_aiter = forwardSlot<"__aiter__", "'%.200s' object is not an async iterable">,
    .am_anext = forwardSlot<"__anext__", "'%.200s' object is not an async iterator">,
};

constexpr Text kNoManager = "'%.200s' object does not support the context manager protocol";
constexpr Text kNoExit =
    "'%.200s' object does not support the context manager protocol (missed __exit__ method)";
constexpr Text kNoAsyncManager =
    "'%.200s' object does not support the asynchronous context manager protocol";
constexpr Text kNoAsyncExit =
    "'%.200s' object does not support the asynchronous context manager protocol "
    "(missed __aexit__ method)";

constexpr PyMethodDef kSpecialMethods[] = {
    {"__format__", format, METH_O, nullptr},
    {"__bytes__", convert<&PyBytes_Type>, METH_NOARGS, nullptr},
    {"__complex__", convert<&PyComplex_Type>, METH_NOARGS, nullptr},
    {"__reversed__", convert<&PyReversed_Type>, METH_NOARGS, nullptr},
    {"__fspath__", path, METH_NOARGS, nullptr},
    {"__floor__", roundTowards<"__floor__", std::floor>, METH_NOARGS, nullptr},
    {"__ceil__", roundTowards<"__ceil__", std::ceil>, METH_NOARGS, nullptr},
    {"__round__", forward<"__round__", "type %.100s doesn't define __round__ method">, METH_VARARGS,
     nullptr},
    {"__trunc__", forward<"__trunc__", "type %.100s doesn't define __trunc__ method">, METH_VARARGS,
     nullptr},
    {"__enter__", enter<"__enter__", "__exit__", kNoManager, kNoExit>, METH_VARARGS, nullptr},
    {"__exit__", forward<"__exit__", kNoExit>, METH_VARARGS, nullptr},
    {"__aenter__", enter<"__aenter__", "__aexit__", kNoAsyncManager, kNoAsyncExit>, METH_VARARGS,
     nullptr},
    {"__aexit__", forward<"__aexit__", kNoAsyncExit>, METH_VARARGS, nullptr},
    {"__length_hint__", lengthHint, METH_NOARGS, nullptr},
    {"__instancecheck__", isInstance, METH_O, nullptr},
    {"__subclasscheck__", isSubclass, METH_O, nullptr},
    {"__sizeof__", sizeInMemory, METH_NOARGS, nullptr},
};

// --- The metaclass.

// A special method that all objects have is nothing that could be told from it, but for __hash__.
PyObject* shownAttributes(PyObject* type, void*) {
  Ref<> shown = Ref<>::steal(PyDict_New());
  if (!shown) return nullptr;
  PyObject *name, *value;
  for (Py_ssize_t i = 0;
       PyDict_Next(cpython::dict(reinterpret_cast<PyTypeObject*>(type)), &i, &name, &value);) {
    bool isSpecial = PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_';
    if (isSpecial && !cpython::ownAttribute(&PyBaseObject_Type, name)) continue;
    if (PyDict_SetItem(shown.get(), name, value) < 0) return nullptr;
  }
  if (PyDict_SetItemString(shown.get(), "__hash__", Py_None) < 0) return nullptr;
  return PyDictProxy_New(shown.get());
}

PyGetSetDef properties[] = {
    {"__dict__", shownAttributes, nullptr, nullptr, nullptr},
    {},
};

// type_new calls it without asking whether it is there.
PyObject* refuseType(PyTypeObject* metaclass, PyObject*, PyObject*) {
  return PyErr_Format(PyExc_TypeError,
                      "'%.100s' makes no classes: what armature.compile() returns stands for an "
                      "object, whose own class is the one to make a subclass of",
                      metaclass->tp_name);
}

}  // namespace

PyTypeObject StandInType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.StandInType",
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The metaclass of types whose instances stand for other objects.",
    .tp_getset = properties,
    .tp_base = &PyType_Type,
    .tp_new = refuseType,
};

void setTextAndComparison(PyTypeObject& type) {
  type.tp_repr = represent;
  type.tp_str = text;
  type.tp_hash = hash;
  type.tp_richcompare = compare;
}

void setOperators(PyTypeObject& type) {
  type.tp_as_number = &numberMethods;
  type.tp_as_sequence = &sequenceMethods;
  type.tp_as_mapping = &mappingMethods;
  type.tp_as_async = &asyncMethods;
  type.tp_iter = unary<PyObject_GetIter>;
  type.tp_iternext = forwardSlot<"__next__", "'%.200s' object is not an iterator">;
}

llvm::ArrayRef<PyMethodDef> specialMethods() { return kSpecialMethods; }

}  // namespace armature
