#include "codegen/continuations.h"

#include <llvm/ADT/SmallVector.h>

#include <string>

#include "codegen/iterator_steps.h"
#include "codegen/loops.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/generator_frames.h"
#include "cpython/special_slots.h"
#include "cpython/type_lookup.h"
#include "variables/protocol/operator_methods.h"

namespace armature {

namespace {

Ref<> raise(PyObject* type, const char* format, const char* name) {
  PyErr_Format(type, format, name);
  return nullptr;
}

const char* typeName(PyObject* object) { return Py_TYPE(object)->tp_name; }

Ref<> boolean(int truth) { return truth < 0 ? Ref<>() : Ref<>::create(truth ? Py_True : Py_False); }

Ref<> requireText(Ref<> text, const char* message) {
  if (PyUnicode_Check(text.get())) return text;
  return raise(PyExc_TypeError, message, typeName(text.get()));
}

Ref<> lengthFrom(Ref<> result) {
  Ref<> index = Ref<>::steal(PyNumber_Index(result.get()));
  if (!index) return index;
  if (Py_SIZE(index.get()) < 0) {
    PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
    return nullptr;
  }
  Py_ssize_t size = PyNumber_AsSsize_t(index.get(), PyExc_OverflowError);
  return size < 0 ? Ref<>() : index;
}

// What is deprecated, but still taken: an instance of a subclass.
bool warnOfSubclass(const std::string& message, PyObject* result) {
  std::string format = message +
                       ".  The ability to return an instance of a strict subclass of %s is "
                       "deprecated, and may be removed in a future version of Python.";
  const char* name = PyLong_Check(result) ? "int" : "float";
  return PyErr_WarnFormat(PyExc_DeprecationWarning, 1, format.c_str(), typeName(result), name) == 0;
}

// PyNumber_Index and PyNumber_Long, of what the method has returned.
Ref<> intFrom(Ref<> result, const char* message) {
  if (PyLong_CheckExact(result.get())) return result;
  if (!PyLong_Check(result.get())) return raise(PyExc_TypeError, message, typeName(result.get()));
  if (!warnOfSubclass(message, result.get())) return nullptr;
  return Ref<>::steal(PyLong_Type.tp_as_number->nb_int(result.get()));
}

// PyNumber_Float
Ref<> floatFrom(PyObject* self, Ref<> result) {
  if (PyFloat_CheckExact(result.get())) return result;
  std::string message = std::string(typeName(self)).substr(0, 50);
  message += ".__float__ returned non-float (type %.50s)";
  if (!PyFloat_Check(result.get())) {
    return raise(PyExc_TypeError, message.c_str(), typeName(result.get()));
  }
  if (!warnOfSubclass(message, result.get())) return nullptr;
  return Ref<>::steal(PyFloat_FromDouble(PyFloat_AS_DOUBLE(result.get())));
}

// slot_tp_hash
Ref<> hashFrom(Ref<> result) {
  if (!PyLong_Check(result.get())) {
    PyErr_SetString(PyExc_TypeError, "__hash__ method should return an integer");
    return nullptr;
  }
  Py_ssize_t hash = PyLong_AsSsize_t(result.get());
  if (hash == -1 && PyErr_Occurred()) {
    clearException();
    hash = PyLong_Type.tp_hash(result.get());
  }
  return Ref<>::steal(PyLong_FromSsize_t(hash == -1 ? -2 : hash));
}

Ref<> requireNone(Ref<> result, PyObject* instance) {
  if (result.get() == Py_None) return Ref<>::create(instance);
  return raise(PyExc_TypeError, "__init__() should return None, not '%.200s'",
               typeName(result.get()));
}

// The tuple of the items: `known`, if that is it.
Ref<> tupleOf(llvm::ArrayRef<PyObject*> items, PyObject* known) {
  auto count = static_cast<Py_ssize_t>(items.size());
  if (PyTuple_CheckExact(known) && PyTuple_GET_SIZE(known) == count &&
      std::equal(items.begin(), items.end(), PySequence_Fast_ITEMS(known))) {
    return Ref<>::create(known);
  }
  Ref<> tuple = Ref<>::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; tuple && i < count; ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(items[i]));
  }
  return tuple;
}

// The rest of type_call. The operands: those of OnReturn::InitMade.
Ref<> initializeMade(Ref<> made, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  static PyObject* const name = checked(PyUnicode_InternFromString("__init__")).release();
  PyTypeObject* type = Py_TYPE(made.get());
  if (!PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(operands[0]))) return made;
  PyObject* names = operands[1] == Py_None ? nullptr : operands[1];
  PyObject* tuple = operands[2];
  llvm::ArrayRef<PyObject*> values = operands.drop_front(3);
  size_t positional = values.size() - (names ? PyTuple_GET_SIZE(names) : 0);
  PyObject* found = cpython::lookup(type, name);
  if (found && PyFunction_Check(found)) {
    Ref<> function = Ref<>::create(found);
    llvm::SmallVector<PyObject*, 8> arguments = {function.get(), made.get()};
    arguments.append(values.begin(), values.end());
    Ref<> result = Ref<>::steal(
        caller ? PyObject_Vectorcall(caller, arguments.data(), positional + 2, names)
               : PyObject_Vectorcall(function.get(), arguments.data() + 1, positional + 1, names));
    return result ? requireNone(std::move(result), made.get()) : result;
  }
  if (!type->tp_init) return made;
  Ref<> arguments = tupleOf(values.take_front(positional), tuple);
  Ref<> keywords = Ref<>::steal(names ? PyDict_New() : nullptr);
  if (!arguments || (names && !keywords)) return nullptr;
  for (size_t i = positional; i < values.size(); ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(names, i - positional);
    if (PyDict_SetItem(keywords.get(), keyword, values[i]) < 0) return nullptr;
  }
  return type->tp_init(made.get(), arguments.get(), keywords.get()) < 0 ? Ref<>() : made;
}

// A method found in a class, called with its object and one argument.
Ref<> callFound(PyObject* found, PyObject* self, PyObject* argument, BorrowedRef<> caller) {
  Ref<> method = Ref<>::create(found);
  if (descrgetfunc get = Py_TYPE(found)->tp_descr_get) {
    method = Ref<>::steal(get(found, self, reinterpret_cast<PyObject*>(Py_TYPE(self))));
  }
  if (!method) return method;
  if (!caller) return Ref<>::steal(PyObject_CallOneArg(method.get(), argument));
  return Ref<>::steal(PyObject_CallFunctionObjArgs(caller.get(), method.get(), argument, nullptr));
}

bool hasSpecialMethods(PyObject* object) {
  return PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
}

// vectorcall_maybe: NotImplemented where the type has no such method.
Ref<> callIfThere(PyObject* self, PyObject* name, PyObject* argument, BorrowedRef<> caller) {
  PyObject* found = cpython::lookup(Py_TYPE(self), name);
  return found ? callFound(found, self, argument, caller) : Ref<>::create(Py_NotImplemented);
}

// The rest of askOperands(): see variables/objects/user_defined.h.
Ref<> askOperands(PyObject* left, PyObject* right, NumberSlot slot, int first,
                  BorrowedRef<> caller) {
  const OperatorMethods& names = operatorMethods();
  int plain = slot >= nb_inplace_add ? slot - nb_inplace_add : slot;
  bool isOther = hasSpecialMethods(right) && Py_TYPE(left) != Py_TYPE(right);
  // method_is_overloaded
  PyObject* reflected = names.reflected[plain];
  PyObject* own = cpython::lookup(Py_TYPE(right), reflected);
  bool rightFirst = isOther && hasSpecialMethods(left) &&
                    PyType_IsSubtype(Py_TYPE(right), Py_TYPE(left)) && own &&
                    own != cpython::lookup(Py_TYPE(left), reflected);
  for (int step = first; step < static_cast<int>(OperandStep::End); ++step) {
    Ref<> result;
    if (step == static_cast<int>(OperandStep::Left)) {
      if (!hasSpecialMethods(left)) continue;
      result = callIfThere(left, names.plain[plain], right, caller);
    } else {
      bool isItsTurn = rightFirst == (step == static_cast<int>(OperandStep::RightFirst));
      if (!isOther || !isItsTurn) continue;
      result = callIfThere(right, reflected, left, caller);
    }
    if (!result || result.get() != Py_NotImplemented) return result;
  }
  if (!hasSpecialMethods(right)) {
    Ref<> result = Ref<>::steal(cpython::callBinarySlot(Py_TYPE(right), plain, left, right));
    if (!result || result.get() != Py_NotImplemented) return result;
  }
  PyErr_Format(PyExc_TypeError, "unsupported operand type(s) for %.100s: '%.100s' and '%.100s'",
               operatorSymbol(slot), typeName(left), typeName(right));
  return nullptr;
}

// tp_richcompare.
Ref<> compare(PyObject* self, PyObject* other, int op, BorrowedRef<> caller) {
  PyObject* method = cpython::lookup(Py_TYPE(self), compareMethod(op));
  if (method && PyFunction_Check(method)) return callFound(method, self, other, caller);
  return Ref<>::steal(Py_TYPE(self)->tp_richcompare(self, other, op));
}

// The rest of do_richcompare.
Ref<> askComparison(PyObject* left, PyObject* right, int op, int first, BorrowedRef<> caller) {
  static constexpr int kSwapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  static constexpr const char* kSymbols[] = {"<", "<=", "==", "!=", ">", ">="};
  PyTypeObject *leftType = Py_TYPE(left), *rightType = Py_TYPE(right);
  bool rightFirst =
      leftType != rightType && PyType_IsSubtype(rightType, leftType) && rightType->tp_richcompare;
  for (int step = first; step < static_cast<int>(ComparisonStep::End); ++step) {
    bool asksLeft = step == static_cast<int>(ComparisonStep::Left);
    bool isItsTurn =
        asksLeft || rightFirst == (step == static_cast<int>(ComparisonStep::RightFirst));
    if (!isItsTurn || !(asksLeft ? leftType : rightType)->tp_richcompare) continue;
    Ref<> result =
        asksLeft ? compare(left, right, op, caller) : compare(right, left, kSwapped[op], caller);
    if (!result || result.get() != Py_NotImplemented) return result;
  }
  if (op == Py_EQ) return boolean(left == right);
  if (op == Py_NE) return boolean(left != right);
  PyErr_Format(PyExc_TypeError, "'%s' not supported between instances of '%.100s' and '%.100s'",
               kSymbols[op], typeName(left), typeName(right));
  return nullptr;
}

// set_attribute_error_context.
void tellAttribute(PyObject* object, PyObject* name) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (PyErr_GivenExceptionMatches(value, PyExc_AttributeError)) {
    auto* error = reinterpret_cast<PyAttributeErrorObject*>(value);
    if (!error->name && !error->obj) {
      error->name = Py_NewRef(name);
      error->obj = Py_NewRef(object);
    }
  }
  PyErr_Restore(type, value, traceback);
}

Ref<> endDelegation(Ref<> item) {
  bool hasEnded = !item;
  if (hasEnded) item = cpython::takeStopIteration();
  if (!item) return nullptr;
  return Ref<>::steal(PyTuple_Pack(2, hasEnded ? Py_True : Py_False, item.get()));
}

int numberIn(PyObject* operand) { return static_cast<int>(PyLong_AsLong(operand)); }

Ref<> continueReturned(OnReturn kind, Ref<> result, llvm::ArrayRef<PyObject*> operands,
                       BorrowedRef<> caller) {
  switch (kind) {
    case OnReturn::CheckInit:
      return requireNone(std::move(result), operands[0]);
    case OnReturn::CheckHash:
      return hashFrom(std::move(result));
    case OnReturn::CheckIndex:
      return intFrom(std::move(result), "__index__ returned non-int (type %.200s)");
    case OnReturn::CheckInt:
      return intFrom(std::move(result), "__int__ returned non-int (type %.200s)");
    case OnReturn::CheckFloat:
      return floatFrom(operands[0], std::move(result));
    case OnReturn::CheckBool:
      if (PyBool_Check(result.get())) return result;
      return raise(PyExc_TypeError, "__bool__ should return bool, returned %s",
                   typeName(result.get()));
    case OnReturn::CheckLength:
      return lengthFrom(std::move(result));
    case OnReturn::CheckIterator:
      if (PyIter_Check(result.get())) return result;
      return raise(PyExc_TypeError, "iter() returned non-iterator of type '%.100s'",
                   typeName(result.get()));
    case OnReturn::CheckStr:
      return requireText(std::move(result), "__str__ returned non-string (type %.200s)");
    case OnReturn::CheckRepr:
      return requireText(std::move(result), "__repr__ returned non-string (type %.200s)");
    case OnReturn::CheckFormat:
      return requireText(std::move(result), "__format__ must return a str, not %.200s");
    case OnReturn::Truth:
      return boolean(PyObject_IsTrue(result.get()));
    case OnReturn::Format:
      return Ref<>::steal(PyObject_Format(result.get(), nullptr));
    case OnReturn::Negate:
      return boolean(result.get() == Py_False);
    case OnReturn::Differ: {
      if (result.get() == Py_NotImplemented) return result;
      int equal = PyObject_IsTrue(result.get());
      return boolean(equal < 0 ? equal : !equal);
    }
    case OnReturn::InitMade:
      return initializeMade(std::move(result), operands, caller);
    case OnReturn::NextOperand:
      if (result.get() != Py_NotImplemented) return result;
      return askOperands(operands[0], operands[1], static_cast<NumberSlot>(numberIn(operands[2])),
                         numberIn(operands[3]), caller);
    case OnReturn::NextComparison:
      if (result.get() != Py_NotImplemented) return result;
      return askComparison(operands[0], operands[1], numberIn(operands[2]), numberIn(operands[3]),
                           caller);
    case OnReturn::NextKey:
      return goOnWithKeys(std::move(result), operands, caller);
    case OnReturn::NextOrder:
      return goOnWithOrder(std::move(result), operands, caller);
    case OnReturn::NextStep:
      return goOnWithStep(std::move(result), operands, caller);
    case OnReturn::StopAtEnd:
      if (result.get() != endOfIteration()) return result;
      if (!operands.empty()) return Ref<>::create(operands[0]);
      PyErr_SetNone(PyExc_StopIteration);
      return nullptr;
    case OnReturn::NextEqual:
      return goOnSearching(std::move(result), operands, caller);
    case OnReturn::NextClass:
      return goOnWithClasses(std::move(result), operands);
    case OnReturn::CallStarred:
      return callStarred(result.get(), operands, caller);
    case OnReturn::NextExtreme:
      return goOnWithExtreme(std::move(result), operands, caller);
    case OnReturn::NextReduction:
      return goOnReducing(std::move(result), operands, caller);
    case OnReturn::NextItem:
      return goOnWithItems(std::move(result), operands, caller);
    case OnReturn::Give:
      return Ref<>::create(operands[0]);
    case OnReturn::LeaveGenerator:
      return cpython::leaveGenerator(operands[0], std::move(result));
    case OnReturn::EndDelegation:
      return endDelegation(std::move(result));
    case OnReturn::Instead:
    case OnReturn::EndIteration:
    case OnReturn::AskGetattr:
    case OnReturn::TellAttribute:
      return result;
  }
  return result;  // not reached: the switch is complete
}

}  // namespace

Ref<> compareBy(BorrowedRef<> caller, PyObject* left, PyObject* right, int op) {
  if (!hasSpecialMethods(left) && !hasSpecialMethods(right)) {
    return Ref<>::steal(PyObject_RichCompare(left, right, op));
  }
  if (Py_EnterRecursiveCall(" in comparison")) return nullptr;
  int first = static_cast<int>(ComparisonStep::RightFirst);
  Ref<> result = askComparison(left, right, op, first, caller);
  Py_LeaveRecursiveCall();
  return result;
}

Ref<> continueWith(OnReturn kind, Ref<> result, llvm::ArrayRef<PyObject*> operands,
                   BorrowedRef<> caller) {
  if (result) return continueReturned(kind, std::move(result), operands, caller);
  if (kind == OnReturn::LeaveGenerator) return cpython::leaveGenerator(operands[0], nullptr);
  if (kind == OnReturn::NextKey) return goOnWithKeys(nullptr, operands, caller);
  if (kind == OnReturn::NextOrder) return goOnWithOrder(nullptr, operands, caller);
  if (kind == OnReturn::NextStep) return goOnWithStep(nullptr, operands, caller);
  if (kind == OnReturn::StopAtEnd && !operands.empty() &&
      PyErr_ExceptionMatches(PyExc_StopIteration)) {
    clearException();
    return Ref<>::create(operands[0]);
  }
  if (kind == OnReturn::EndDelegation) return endDelegation(nullptr);
  if (kind == OnReturn::EndIteration && PyErr_ExceptionMatches(PyExc_StopIteration)) {
    clearException();
    return Ref<>::create(endOfIteration());
  }
  if (kind == OnReturn::Instead && PyErr_ExceptionMatches(operands[0])) {
    clearException();
    return Ref<>::create(operands[1]);
  }
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return result;
  if (kind == OnReturn::AskGetattr) {
    // slot_tp_getattr_hook
    clearException();
    return callFound(operands[2], operands[0], operands[1], caller);
  }
  if (kind == OnReturn::TellAttribute) tellAttribute(operands[0], operands[1]);
  return result;
}

BorrowedRef<> endOfIteration() {
  static PyObject* const object =
      checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release();
  return object;
}

}  // namespace armature
