// Class checks of abstract base classes. What _abc.c answers depends on its caches, which it fills,
// and which a registration invalidates; so it is asked itself wherever that runs no code of the
// program.
#include "cpython/abstract_classes.h"
#include "core/checked.h"

#include "cpython/imported_modules.h"
#include "cpython/member_descriptors.h"
#include "cpython/set_entries.h"
#include "cpython/type_lookup.h"
#include "heap/heap.h"
#include "heap/protocol_hooks.h"

namespace armature {

namespace {

PyObject* hookName() {
  static PyObject* const name = staticName("__subclasshook__");
  return name;
}

// The __subclasshook__ of a class is object's, or one of collections.abc, which look methods up in
// the MRO and do nothing else, or that of a protocol.
bool hasInnocentHook(PyTypeObject* type, PyTypeObject* derived) {
  PyObject* hook = cpython::lookup(type, hookName());
  if (hook == cpython::lookup(&PyBaseObject_Type, hookName())) return true;
  if (isInnocentProtocolHook(type, hook, derived)) return true;
  if (!hook || Py_TYPE(hook) != &PyClassMethod_Type) return false;
  PyObject* descriptor = cpython::ownAttribute(&PyClassMethod_Type, "__func__");
  return cpython::isFunctionOf(cpython::memberValue(hook, descriptor), "_collections_abc");
}

// Does issubclass(derived, type) run no code of the program, neither in the class itself nor in
// those that it asks in turn, classes registered with it and its subclasses? `depth`: how many
// classes asked each other already.
bool isInnocent(PyTypeObject* derived, PyTypeObject* type, int depth) {
  constexpr int kDeepest = 200;
  static PyObject* const name = staticName("__subclasscheck__");
  PyObject* check = cpython::lookup(Py_TYPE(type), name);
  if (check == cpython::lookup(&PyType_Type, name)) return true;
  if (depth > kDeepest || !cpython::isFunctionOf(check, "abc") || !hasInnocentHook(type, derived)) {
    return false;
  }
  Ref<> registry = cpython::registeredClasses(type);
  Ref<> subclasses = cpython::subclasses(type);
  if (!registry || !subclasses) return false;
  auto isClassInnocent = [&](PyObject* object) {
    return !PyType_Check(object) ||
           isInnocent(derived, reinterpret_cast<PyTypeObject*>(object), depth + 1);
  };
  for (cpython::SetEntry entry; cpython::nextEntry(registry, entry);) {
    if (!isClassInnocent(PyWeakref_GetObject(entry.element))) return false;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(subclasses.get()); ++i) {
    if (!isClassInnocent(PyList_GET_ITEM(subclasses.get(), i))) return false;
  }
  return true;
}

}  // namespace

void Heap::dependOnRegistrations() {
  if (!isNew(nullptr, GuardType::ABC_CACHE_TOKEN, nullptr)) return;
  depend(nullptr, GuardType::ABC_CACHE_TOKEN, nullptr, cpython::abcCacheToken());
}

Heap::Answer Heap::isAbstractSubclass(PyTypeObject* derived, PyTypeObject* type) {
  // What _abc.c keeps of the answer must not be about a class that nobody else has. What it has
  // kept it gives without asking anybody.
  if (isMade(derived)) return Answer::RunsCode;
  bool isKept = cpython::keepsAnswer(derived, type);
  if (!isKept && !isInnocent(derived, type, 0)) return Answer::RunsCode;
  int answer = cpython::isAbstractSubclass(derived, type);
  // Only a negative answer is forgotten when another class is registered.
  if (answer == 0) dependOnRegistrations();
  // What is kept nowhere rests on the hook, which is asked first each time.
  if (answer == 1 && !isKept && !cpython::isKeptSubclass(derived, type)) lookup(type, hookName());
  return static_cast<Answer>(answer);
}

// Of a class that is made, its bases decide; after that, only a registration changes it.
bool Heap::hasCollectionFlag(PyTypeObject* type, unsigned long flag) {
  if (!cpython::isImmutable(type)) dependOnRegistrations();
  return cpython::flags(type) & flag;
}

bool Heap::isMatchedAsSequence(PyTypeObject* type) {
  return hasCollectionFlag(type, Py_TPFLAGS_SEQUENCE);
}

bool Heap::isMatchedAsMapping(PyTypeObject* type) {
  return hasCollectionFlag(type, Py_TPFLAGS_MAPPING);
}

bool Heap::isMatchedWhole(PyTypeObject* type) { return cpython::isMatchedWhole(type); }

}  // namespace armature
