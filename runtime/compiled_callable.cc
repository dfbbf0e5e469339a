#include "runtime/compiled_callable.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <structmember.h>

#include <algorithm>
#include <cstddef>

#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/lru_cache.h"
#include "runtime/compiled_callable_operators.h"
#include "runtime/compiled_function.h"
#include "runtime/libraries.h"
#include "runtime/thread_state.h"

namespace armature {

namespace {

struct CompiledCallable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* original;
  PyObject* transform;  // what to run in place of a function
  PyObject* rebuild;    // another one like this, for a copy of the original
  PyObject* calls;      // a dict: the function that a call came to, and what runs in its place
  PyObject* captured;   // a frozenset: the names of methods whose calls are captured as well
  PyObject* weakReferences;
};

// A method of the original, found through its stand-in: where it returns the original, as train()
// and to() do, it returns the stand-in.
struct MethodOfOriginal {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* method;
  PyObject* owner;
  PyObject* captured;  // what runs in place of its function; null: nothing does
};

extern PyTypeObject MethodOfOriginalType;

CompiledCallable* callable(PyObject* object) { return reinterpret_cast<CompiledCallable*>(object); }
MethodOfOriginal* method(PyObject* object) { return reinterpret_cast<MethodOfOriginal*>(object); }

// The attributes that are the stand-in's own. A str set; null with an exception set.
PyObject* ownAttributes() {
  static PyObject* const names =
      Py_BuildValue("(sssssss)", "__class__", "__copy__", "__deepcopy__", "__reduce__",
                    "__reduce_ex__", "_orig_mod", "_armature_call");
  static PyObject* const set = names ? PyFrozenSet_New(names) : nullptr;
  return set;
}

int isOwn(PyObject* name) {
  PyObject* own = ownAttributes();
  return own ? PySet_Contains(own, name) : -1;
}

// --- Calls.

// Does a call of an object whose class has this __call__ pass it the object first? Of others (a
// function in C, a static method, an instance of a callable class) nothing is known.
bool takesSelf(BorrowedRef<> function) {
  return function &&
         (PyFunction_Check(function.get()) || Py_TYPE(function.get()) == &CompiledFunctionType ||
          Py_TYPE(function.get()) == &DisabledFunctionType);
}

// What runs in place of the function, with the original first. Null with an exception set.
Ref<> inPlaceOf(CompiledCallable* object, const Ref<>& function) {
  if (PyObject* known = PyDict_GetItemWithError(object->calls, function.get())) {
    return Ref<>::create(known);
  }
  if (PyErr_Occurred()) return nullptr;
  Ref<> call = Ref<>::steal(PyObject_CallOneArg(object->transform, function.get()));
  if (!call || PyDict_SetItem(object->calls, function.get(), call.get()) < 0) return nullptr;
  return call;
}

// What a call of the original runs. Null with an exception set.
Ref<> callOf(CompiledCallable* object) {
  BorrowedRef<> called = calledFunction(object->original);
  return inPlaceOf(object, Ref<>::create(takesSelf(called) ? called : BorrowedRef<>(Py_None)));
}

PyObject* callWithFirst(BorrowedRef<> function, PyObject* first, PyObject* const* arguments,
                        size_t flags, PyObject* keywordNames) {
  size_t positional = PyVectorcall_NARGS(flags);
  size_t total = positional + (keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0);
  llvm::SmallVector<PyObject*, 12> all(total + 1);
  all[0] = first;
  std::copy_n(arguments, total, all.begin() + 1);
  return PyObject_Vectorcall(function.get(), all.data(), positional + 1, keywordNames);
}

PyObject* callOriginal(PyObject* self, PyObject* const* arguments, size_t flags,
                       PyObject* keywordNames) {
  CompiledCallable* object = callable(self);
  if (runsPlain() || isWatched(*packageEngine())) {
    return PyObject_Vectorcall(object->original, arguments, flags, keywordNames);
  }
  Ref<> call = callOf(object);
  if (!call) return nullptr;
  return callWithFirst(call, object->original, arguments, flags, keywordNames);
}

PyObject* callMethod(PyObject* self, PyObject* const* arguments, size_t flags,
                     PyObject* keywordNames) {
  Ref<> owner = Ref<>::create(method(self)->owner);
  Ref<> captured = Ref<>::create(method(self)->captured);
  bool isPlain = !captured || runsPlain() || isWatched(*packageEngine());
  PyObject* result = isPlain
                         ? PyObject_Vectorcall(method(self)->method, arguments, flags, keywordNames)
                         : callWithFirst(captured, callable(owner.get())->original, arguments,
                                         flags, keywordNames);
  if (result != callable(owner.get())->original) return result;
  Py_DECREF(result);
  return owner.release();
}

// --- Attributes.

bool isSignature(PyObject* name) {
  return PyUnicode_CompareWithASCIIString(name, "__signature__") == 0;
}
bool isCall(PyObject* name) { return PyUnicode_CompareWithASCIIString(name, "__call__") == 0; }

// The __call__ of a type of C's, bound to the original. 1, 0, or -1 with an exception set.
int isSlotOf(PyObject* original, PyObject* value) {
  if (!cpython::isFunctionInC(Py_TYPE(value))) return 0;
  Ref<> self = Ref<>::steal(PyObject_GetAttrString(value, "__self__"));
  return self ? self.get() == original : -1;
}

// inspect.signature() asks an object for it, and otherwise the __call__ of its type, which is ours.
PyObject* signatureOf(PyObject* original) {
  Ref<> inspect = Ref<>::steal(cpython::importModule("inspect"));
  if (!inspect) return nullptr;
  return PyObject_CallMethod(inspect.get(), "signature", "(O)", original);
}

PyObject* getAttribute(PyObject* self, PyObject* name) {
  int own = isOwn(name);
  if (own != 0) return own < 0 ? nullptr : PyObject_GenericGetAttr(self, name);
  PyObject* original = callable(self)->original;
  Ref<> value = Ref<>::steal(PyObject_GetAttr(original, name));
  if (!value && PyErr_ExceptionMatches(PyExc_AttributeError) && isSignature(name)) {
    clearException();
    return signatureOf(original);
  }
  if (!value) return nullptr;
  if (isCall(name)) {
    int isSlot = isSlotOf(original, value.get());
    if (isSlot != 0) return isSlot < 0 ? nullptr : PyObject_GenericGetAttr(self, name);
  }
  if (!PyMethod_Check(value.get()) || PyMethod_GET_SELF(value.get()) != original) {
    return value.release();
  }
  auto bound = Ref<>::steal(MethodOfOriginalType.tp_alloc(&MethodOfOriginalType, 0));
  if (!bound) return nullptr;
  Ref<> function = Ref<>::create(PyMethod_GET_FUNCTION(value.get()));
  int isCaptured = isCall(name) ? 1 : PySet_Contains(callable(self)->captured, name);
  if (isCaptured < 0) return nullptr;
  if (isCaptured && takesSelf(function)) {
    method(bound.get())->captured = inPlaceOf(callable(self), function).release();
    if (!method(bound.get())->captured) return nullptr;
  }
  method(bound.get())->vectorcall = callMethod;
  method(bound.get())->method = value.release();
  method(bound.get())->owner = Py_NewRef(self);
  return bound.release();
}

int setAttribute(PyObject* self, PyObject* name, PyObject* value) {
  int own = isOwn(name);
  if (own != 0) return own < 0 ? -1 : PyObject_GenericSetAttr(self, name, value);
  return PyObject_SetAttr(callable(self)->original, name, value);
}

PyObject* getMethodAttribute(PyObject* self, PyObject* name) {
  return PyObject_GetAttr(method(self)->method, name);
}

PyObject* getClass(PyObject* self, void*) {
  return PyObject_GetAttrString(operandOf(self), "__class__");
}
int setClass(PyObject* self, PyObject* value, void*) {
  static PyObject* const name = PyUnicode_InternFromString("__class__");
  return PyObject_SetAttr(operandOf(self), name, value);
}

PyObject* getCall(PyObject* self, void*) { return callOf(callable(self)).release(); }

// Found on a class: binds as the original does.
PyObject* bind(PyObject* self, PyObject* object, PyObject* type) {
  PyObject* original = callable(self)->original;
  descrgetfunc get = Py_TYPE(original)->tp_descr_get;
  if (!get) return Py_NewRef(self);
  Ref<> bound = Ref<>::steal(get(original, object, type));
  if (bound.get() == original) return Py_NewRef(self);
  if (!bound || !PyMethod_Check(bound.get()) || PyMethod_GET_FUNCTION(bound.get()) != original) {
    return bound.release();
  }
  return PyMethod_New(self, PyMethod_GET_SELF(bound.get()));
}

PyObject* directory(PyObject* self, PyObject*) { return PyObject_Dir(callable(self)->original); }

// --- Copies.

PyObject* rebuildAround(PyObject* self, Ref<> original) {
  if (!original) return nullptr;
  // What is copied as itself.
  if (original.get() == callable(self)->original) return Py_NewRef(self);
  return PyObject_CallOneArg(callable(self)->rebuild, original.get());
}

PyObject* copyWith(PyObject* self, const char* function, PyObject* memo) {
  Ref<> copy = Ref<>::steal(cpython::importModule("copy"));
  Ref<> name = Ref<>::steal(PyUnicode_FromString(function));
  if (!copy || !name) return nullptr;
  return rebuildAround(self, Ref<>::steal(PyObject_CallMethodObjArgs(
                                 copy.get(), name.get(), callable(self)->original, memo, nullptr)));
}

PyObject* shallowCopy(PyObject* self, PyObject*) { return copyWith(self, "copy", nullptr); }
PyObject* deepCopy(PyObject* self, PyObject* memo) { return copyWith(self, "deepcopy", memo); }

// Is it what the names of the original lead to?
bool isFoundByName(PyObject* self, PyObject* module, PyObject* name) {
  if (!PyUnicode_CheckExact(module) || !PyUnicode_CheckExact(name)) return false;
  Ref<> found = Ref<>::steal(PyImport_GetModule(module));
  Ref<> parts = Ref<>::steal(PyObject_CallMethod(name, "split", "s", "."));
  for (Py_ssize_t i = 0; found && parts && i < PyList_GET_SIZE(parts.get()); ++i) {
    found = Ref<>::steal(PyObject_GetAttr(found.get(), PyList_GET_ITEM(parts.get(), i)));
  }
  return found.get() == self;
}

PyObject* reduce(PyObject* self, PyObject*) {
  // Cached functions are pickled by their names, as functions are.
  PyObject* original = callable(self)->original;
  if (Py_IS_TYPE(original, cpython::lruCacheType())) {
    Ref<> module = Ref<>::steal(PyObject_GetAttrString(original, "__module__"));
    Ref<> name = Ref<>::steal(PyObject_GetAttrString(original, "__qualname__"));
    if (module && name && isFoundByName(self, module.get(), name.get())) return name.release();
    clearException();
  }
  return Py_BuildValue("O(O)", callable(self)->rebuild, callable(self)->original);
}

// --- The types.

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"original", "transform", "rebuild", "captured", nullptr};
  PyObject *original, *transform, *rebuild, *captured = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO|O:CompiledCallable",
                                   const_cast<char**>(names), &original, &transform, &rebuild,
                                   &captured)) {
    return nullptr;
  }
  if (Py_TYPE(original)->tp_descr_get) type = &CompiledDescriptorType;
  Ref<> self = Ref<>::steal(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  CompiledCallable* object = callable(self.get());
  object->vectorcall = callOriginal;
  object->original = Py_NewRef(original);
  object->transform = Py_NewRef(transform);
  object->rebuild = Py_NewRef(rebuild);
  object->calls = PyDict_New();
  object->captured = PyFrozenSet_New(captured);
  if (!object->calls || !object->captured) return nullptr;
  // What the transformation refuses, it refuses here and not at the first call.
  return callOf(object) ? self.release() : nullptr;
}

// Every reference can be part of a cycle, but the cycle is broken elsewhere: a stand-in is useless
// without its original.
int traverse(PyObject* self, visitproc visit, void* arg) {
  CompiledCallable* object = callable(self);
  Py_VISIT(object->original);
  Py_VISIT(object->transform);
  Py_VISIT(object->rebuild);
  Py_VISIT(object->calls);
  Py_VISIT(object->captured);
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  CompiledCallable* object = callable(self);
  if (object->weakReferences) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object->captured);
  Py_CLEAR(object->calls);
  Py_CLEAR(object->rebuild);
  Py_CLEAR(object->transform);
  Py_CLEAR(object->original);
  Py_TYPE(self)->tp_free(self);
}

int traverseMethod(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(method(self)->method);
  Py_VISIT(method(self)->owner);
  Py_VISIT(method(self)->captured);
  return 0;
}

void deallocateMethod(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Py_CLEAR(method(self)->method);
  Py_CLEAR(method(self)->captured);
  Py_CLEAR(method(self)->owner);
  Py_TYPE(self)->tp_free(self);
}

// Its own and those of the original, for as long as the process lives.
PyMethodDef* allMethods() {
  static auto* const methods = [] {
    auto* all = new llvm::SmallVector<PyMethodDef, 32>{
        {"__dir__", directory, METH_NOARGS, nullptr},
        {"__copy__", shallowCopy, METH_NOARGS, nullptr},
        {"__deepcopy__", deepCopy, METH_O, nullptr},
        {"__reduce__", reduce, METH_NOARGS, nullptr},
        {"__reduce_ex__", reduce, METH_O, nullptr},
    };
    llvm::append_range(*all, specialMethods());
    all->push_back({});
    return all;
  }();
  return methods->data();
}

PyMemberDef members[] = {
    {"_orig_mod", T_OBJECT, offsetof(CompiledCallable, original), READONLY,
     "The object that this one stands for."},
    {},
};

// That they stand for something else must show on the type: isinstance() asks for it.
PyGetSetDef properties[] = {
    {"__class__", getClass, setClass, nullptr, nullptr},
    {},
};

PyGetSetDef callableProperties[] = {
    {"__class__", getClass, setClass, nullptr, nullptr},
    {"_armature_call", getCall, nullptr, "What a call runs, with the original first.", nullptr},
    {},
};

PyTypeObject MethodOfOriginalType = [] {
  PyTypeObject type = {
      .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.MethodOfOriginal",
      .tp_basicsize = sizeof(MethodOfOriginal),
      .tp_dealloc = deallocateMethod,
      .tp_vectorcall_offset = offsetof(MethodOfOriginal, vectorcall),
      .tp_call = PyVectorcall_Call,
      .tp_getattro = getMethodAttribute,
      .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                  Py_TPFLAGS_DISALLOW_INSTANTIATION,
      .tp_doc = "A method of the object that a CompiledCallable stands for.",
      .tp_traverse = traverseMethod,
      .tp_getset = properties,
  };
  setTextAndComparison(type);
  return type;
}();

PyTypeObject compiledType(const char* name, descrgetfunc get) {
  PyTypeObject type = {
      .ob_base = PyVarObject_HEAD_INIT(&StandInType, 0).tp_name = name,
      .tp_basicsize = sizeof(CompiledCallable),
      .tp_dealloc = deallocate,
      .tp_vectorcall_offset = offsetof(CompiledCallable, vectorcall),
      .tp_call = PyVectorcall_Call,
      .tp_getattro = getAttribute,
      .tp_setattro = setAttribute,
      .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
      .tp_doc =
          "CompiledCallable(original, transform, rebuild, captured=())\n--\n\n"
          "Stands for an object whose calls are captured, and those of some of its methods.",
      .tp_traverse = traverse,
      .tp_weaklistoffset = offsetof(CompiledCallable, weakReferences),
      .tp_methods = allMethods(),
      .tp_members = members,
      .tp_getset = callableProperties,
      .tp_descr_get = get,
      .tp_new = make,
  };
  setTextAndComparison(type);
  setOperators(type);
  return type;
}

}  // namespace

PyTypeObject CompiledCallableType = compiledType("armature._C.CompiledCallable", nullptr);
PyTypeObject CompiledDescriptorType = compiledType("armature._C.CompiledDescriptor", bind);

PyObject* operandOf(PyObject* object) {
  if (isCompiledCallable(Py_TYPE(object))) return callable(object)->original;
  if (Py_TYPE(object) == &MethodOfOriginalType) return method(object)->method;
  return object;
}

BorrowedRef<> originalOf(BorrowedRef<> compiledCallable) {
  return callable(compiledCallable)->original;
}
Ref<> callOf(BorrowedRef<> compiledCallable) { return callOf(callable(compiledCallable.get())); }

BorrowedRef<> callsOf(BorrowedRef<> compiledCallable) { return callable(compiledCallable)->calls; }

int addCompiledCallableType(PyObject* module) {
  if (PyType_Ready(&MethodOfOriginalType) < 0 || PyType_Ready(&StandInType) < 0) return -1;
  CompiledDescriptorType.tp_base = &CompiledCallableType;
  if (PyModule_AddType(module, &CompiledCallableType) < 0) return -1;
  return PyType_Ready(&CompiledDescriptorType);
}

}  // namespace armature
