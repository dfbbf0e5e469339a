// Calls of constants: CPython's own on data, the handlers' on what is being traced.
#include <llvm/ADT/STLExtras.h>

#include <array>

#include "core/builtin_part.h"
#include "cpython/c_functions.h"
#include "cpython/type_lookup.h"
#include "cpython/weak_references.h"
#include "variables/constants/calling_conventions.h"
#include "variables/constants/computed_values.h"
#include "variables/constants/constant.h"
#include "variables/constants/digit_limit.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/constants/text_codecs.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/containers/struct_sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/functions/library_calls.h"
#include "variables/objects/address.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"
#include "variables/tensors/tensor.h"

namespace armature {

bool allData(const CallArguments& arguments) {
  for (const Value& value : arguments.values) {
    if (!isConstantData(value)) return false;
  }
  return true;
}

Value callWithData(Translator& translator, PyObject* callable, const CallArguments& arguments) {
  if (asksCodecRegistry(callable, arguments)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation,
                     "a codec or an error handler that can be registered");
  }
  llvm::SmallVector<PyObject*, 8> objects;
  for (const Value& value : arguments.values) objects.push_back(value.object());
  Value result = translator.fromPython(withinDigitLimit(objects, [&] {
    return PyObject_Vectorcall(callable, objects.data(), arguments.positionalCount(),
                               arguments.keywordNames);
  }));
  if (!result) return result;
  if (isConstantObject(result.object())) {
    // What C code has not made just now.
    bool isOld = Py_REFCNT(result.object()) > 1 && !llvm::is_contained(objects, result.object());
    if (isOld) translator.rememberExisting(result.object());
    return result;
  }
  // A fresh list of data (str.split) is a new list of the trace.
  PyObject* object = result.object();
  if (PyList_CheckExact(object)) {
    ValueVector items;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {
      if (!isConstant(PyList_GET_ITEM(object, i))) break;
      items.push_back(Value::constant(PyList_GET_ITEM(object, i)));
    }
    if (items.size() == static_cast<size_t>(PyList_GET_SIZE(object))) {
      return translator.make<ListVariable>(std::move(items));
    }
  }
  throw GraphBreak(GraphBreakKind::UnsupportedCResult, describe(result));
}

namespace {

// Such a class method has the class as its `self`, of which it makes an instance.
bool isInheritedClassMethod(PyObject* callable) {
  if (Py_TYPE(callable) != &PyCFunction_Type) return false;
  PyObject* self = PyCFunction_GET_SELF(callable);
  return self && PyType_Check(self) &&
         !cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(self),
                                cpython::methodDefinition(callable)->ml_name);
}

// Functions that ask for the types of their arguments alone, hand them on, make texts of them, or
// are made of operators.
bool leavesNumbersAlone(PyObject* callable) {
  static const std::array<PyObject*, 5> methods = {
      cpython::ownAttribute(&PyUnicode_Type, "format"),
      cpython::ownAttribute(&PyType_Type, "__instancecheck__"),
      cpython::ownAttribute(&PyBaseObject_Type, "__setattr__"),
      cpython::ownAttribute(&PyList_Type, "append"),
      cpython::ownAttribute(&PyDict_Type, "__setitem__")};
  constexpr const char* kFunctions[] = {"callable", "id",  "isinstance", "max",
                                        "min",      "pow", "setattr"};
  return llvm::is_contained(methods, callable) ||
         callable == reinterpret_cast<PyObject*>(&PyType_Type) ||
         llvm::any_of(kFunctions, [&](const char* name) {
           return isBuiltinFunction(callable, "builtins", name);
         });
}

// Methods of int, str and their like that are the object's own business, not its value's, or give
// the object itself back.
bool asksObject(PyObject* name) {
  for (const char* other :
       {"__format__", "__getattribute__", "__iter__", "__sizeof__", "format", "format_map"}) {
    if (PyUnicode_CompareWithASCIIString(name, other) == 0) return true;
  }
  return false;
}

// Functions of C that read the builtin part of what they are given, whatever subclass of int, str
// and their like it is an instance of.
bool readsBuiltinParts(PyObject* callable) {
  PyTypeObject* kind = Py_TYPE(callable);
  if (kind != &PyMethodDescr_Type && kind != &PyWrapperDescr_Type) return false;
  if (!dataLayout(PyDescr_TYPE(callable))) return false;
  if (asksObject(PyDescr_NAME(callable))) return false;
  // These ask the objects for texts or attributes, by methods that may be the subclass's.
  for (const char* other : {"__mod__", "__rmod__", "join", "translate"}) {
    if (PyUnicode_CompareWithASCIIString(PyDescr_NAME(callable), other) == 0) return false;
  }
  return true;
}

// partition and rpartition give, in a tuple, the separator that they were given if they have found
// it, else the text.
bool givesArguments(PyObject* callable) {
  PyObject* name = PyDescr_NAME(callable);
  return PyUnicode_CompareWithASCIIString(name, "partition") == 0 ||
         PyUnicode_CompareWithASCIIString(name, "rpartition") == 0;
}

// What they give for objects, of which they were given the builtin parts.
Value withObjects(Translator& translator, PyObject* callable, const Value& result,
                  llvm::ArrayRef<Value> objects) {
  ValueVector items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.object()); ++i) {
    items.push_back(Value::constant(PyTuple_GET_ITEM(result.object(), i)));
  }
  bool isFound = PyObject_Size(items[1].object()) > 0;
  bool isLast = PyUnicode_CompareWithASCIIString(PyDescr_NAME(callable), "rpartition") == 0;
  items[isFound ? 1 : isLast ? 2 : 0] = objects[isFound ? 1 : 0];
  return makeTuple(translator, std::move(items));
}

// str.split and str.rsplit of a text that is too short or too narrow for the separator to be in it:
// they give, in a list, the very object (split of Objects/unicodeobject.c).
bool givesText(PyObject* callable, const CallArguments& arguments) {
  PyObject* name = PyDescr_NAME(callable);
  bool splits = PyDescr_TYPE(callable) == &PyUnicode_Type &&
                (PyUnicode_CompareWithASCIIString(name, "split") == 0 ||
                 PyUnicode_CompareWithASCIIString(name, "rsplit") == 0);
  if (!splits) return false;
  const Value* separator =
      arguments.positionalCount() > 1 ? &arguments.values[1] : arguments.keyword("sep");
  PyObject* sought = separator ? separator->object() : Py_None;
  PyObject* text = arguments.values[0].object();
  return PyUnicode_Check(sought) && (PyUnicode_GET_LENGTH(text) < PyUnicode_GET_LENGTH(sought) ||
                                     PyUnicode_KIND(text) < PyUnicode_KIND(sought));
}

// Methods of dicts and sets, to which an address is a key whose number they need not know.
bool takesKeys(PyObject* callable) {
  PyTypeObject* kind = Py_TYPE(callable);
  if (kind != &PyMethodDescr_Type && kind != &PyWrapperDescr_Type) return false;
  PyTypeObject* owner = PyDescr_TYPE(callable);
  return PyType_IsSubtype(owner, &PyDict_Type) || owner == &PySet_Type ||
         owner == &PyFrozenSet_Type;
}

// The result of a call that was made with builtin parts of objects in their place. The text of its
// TypeError may name a type, which is another.
Value unlessOfParts(Translator& translator, const Value& callable, Value result) {
  if (result || !dropTypeErrorOfData(translator)) return result;
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(callable));
}

}  // namespace

Value constantCall(Translator& translator, const Value& callable, CallArguments& arguments) {
  PyObject* object = callable.object();
  if (Value computed = computedCall(translator, object, arguments)) return computed;
  // Of a method that moves its arguments, only the object is looked at.
  bool moves = movesArguments(object);
  const CallRule& rule = translator.libraryOfCallables.of(object).rule;
  bool keepNumbers =
      !moves && (leavesNumbersAlone(object) || rule.takesAnyNumberOf || rule.smallNumbers);
  bool keepAddresses = !moves && takesKeys(object);
  // What is passed by name to dict() and update() is put there as it is.
  static PyObject* const update = cpython::ownAttribute(&PyDict_Type, "update");
  bool movesKeywords = object == reinterpret_cast<PyObject*>(&PyDict_Type) || object == update;
  size_t looked = movesKeywords ? arguments.positionalCount() : arguments.values.size();
  for (Value& value : llvm::MutableArrayRef<Value>(arguments.values).take_front(looked)) {
    if (keepNumbers) {
      realizeType(translator, value);
    } else if (keepAddresses) {
      realizeUnlessAddress(translator, value);
    } else {
      translator.realize(value);
    }
    if (moves) break;
  }
  bool hasParts = false;
  ValueVector objects;
  if (readsBuiltinParts(object)) {
    for (Value& value : arguments.values) {
      Value part = builtinData(translator, value);
      // A nan is hashed by its identity.
      const Value& data = part ? part : value;
      if (data.isConstant() && !equalsItself(data.object()) &&
          PyUnicode_CompareWithASCIIString(PyDescr_NAME(object), "__hash__") == 0) {
        throw GraphBreak(GraphBreakKind::HashOfAddress, describe(value));
      }
      if (!part) continue;
      if (!hasParts) objects.assign(arguments.values.begin(), arguments.values.end());
      value = part;
      hasParts = true;
    }
  }
  if (leavesToArray(object, arguments)) return Value::constant(Py_NotImplemented);
  bool data = allData(arguments);
  if (data && isPure(object)) {
    Value result = callWithData(translator, object, arguments);
    if (result && hasParts && givesArguments(object)) {
      return withObjects(translator, object, result, objects);
    }
    if (result && hasParts && givesText(object, arguments)) {
      return translator.make<ListVariable>(ValueVector{objects[0]});
    }
    return hasParts ? unlessOfParts(translator, callable, std::move(result)) : result;
  }
  if (BuiltinHandler handler = findHandler(object)) {
    arguments.tail = arguments.tail && isProtocolFunction(object);
    Value self;
    bool isOfPart = hasParts;
    bool isMethod = Py_TYPE(object) == &PyMethodDescr_Type;
    if (isMethod || Py_TYPE(object) == &PyWrapperDescr_Type) {
      auto* owner = reinterpret_cast<PyDescrObject*>(object)->d_type;
      if (!takeSelf(translator, object, arguments, self)) return Value();
      // What a builtin base's method works on is the builtin part of the object.
      if (auto* object = trackerOf<UserObjectVariable>(self);
          object && object->container && owner != &PyBaseObject_Type) {
        self = object->container;
      } else if (Value data = dataLayout(owner) && !asksObject(PyDescr_NAME(callable.object()))
                                  ? builtinData(translator, self)
                                  : Value()) {
        self = std::move(data);
        isOfPart = true;
      }
      // What these have is looked at by no method of theirs.
      bool hasNoPart = owner == &PyBaseObject_Type || owner == &PyContextVar_Type ||
                       owner == cpython::weakReferenceType() || findInstanceHandler(owner);
      if (trackerOf<OpaqueVariable>(self) && !hasNoPart) {
        throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, describe(self));
      }
      // dict's own method on an OrderedDict goes past what that does instead.
      if (auto* dict = trackerOf<DictVariable>(self); dict && owner == &PyDict_Type) {
        PyTypeObject* layout = cpython::staticBase(dict->type());
        BorrowedRef<> name(PyDescr_NAME(object));
        if (layout != owner && cpython::ownAttribute(layout, name)) {
          throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, describe(self));
        }
      }
    }
    bool isFunction = Py_TYPE(object) == &PyCFunction_Type;
    if ((isMethod || isFunction) && !obeysConvention(translator, object, arguments)) return Value();
    if (isInheritedClassMethod(object)) self = Value::constant(PyCFunction_GET_SELF(object));
    // A method that gives what it works on (`+=` of a list) gives the object.
    Value result = wholeOf(handler(translator, self, arguments));
    return isOfPart ? unlessOfParts(translator, callable, std::move(result)) : result;
  }
  if (isPure(object) && makeData(translator, arguments)) {
    Value result = callWithData(translator, object, arguments);
    return hasParts ? unlessOfParts(translator, callable, std::move(result)) : result;
  }
  if (BuiltinHandler handler =
          isStructSequence(object) ? makeStructSequence : findInstanceHandler(Py_TYPE(object))) {
    arguments.tail = false;
    return handler(translator, callable, arguments);
  }
  Value result;
  if (callLibrary(translator, callable, arguments, result)) return result;
  if (isExceptionClass(callable)) {
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    return constructException(translator, callable, type, type, type, arguments);
  }
  if (!PyCallable_Check(object)) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not callable",
                            nameOf(translator, Py_TYPE(object)));
  }
  throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(callable));
}

namespace {

// int.__format__ and its like: without a specification str(), and some conversions of an int ask
// for its __float__.
Value formatPart(Translator& translator, const Value& self, CallArguments& arguments) {
  Value data = builtinData(translator, self);
  Value specification =
      arguments.values.empty() ? Value() : translator.realized(arguments.values[0]);
  bool isText = arguments.values.size() == 1 && specification.isConstant() &&
                PyUnicode_CheckExact(specification.object());
  static PyObject* const toFloat = staticName("__float__");
  PyTypeObject* layout = dataLayout(typeOf(self));
  bool isPlain =
      data && isText &&
      (layout != &PyLong_Type || translator.heap.inherits(typeOf(self), layout, toFloat));
  if (!isPlain) throw GraphBreak(GraphBreakKind::UnsupportedOperation, "format: " + describe(self));
  if (PyUnicode_GET_LENGTH(specification.object()) == 0) return toStr(translator, self);
  Value text = translator.fromPython(withinDigitLimit(
      data.object(), [&] { return PyObject_Format(data.object(), specification.object()); }));
  if (text) return text;
  // The error names the type.
  translator.dropException();
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, "format: " + describe(self));
}

void registerFormats() {
  for (PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyUnicode_Type}) {
    registerMethodHandler(type, "__format__", formatPart);
  }
}
ARMATURE_REGISTER_HANDLERS(registerFormats);

}  // namespace

}  // namespace armature
