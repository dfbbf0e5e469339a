#include "guards/key.h"

#include <llvm/ADT/DenseSet.h>

#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "core/tuple_hash.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/instance_attributes.h"
#include "cpython/type_lookup.h"
#include "cpython/weak_references.h"

namespace armature {
namespace {

constexpr int kMaximumDepth = 64;

llvm::DenseSet<PyTypeObject*>& typesHashedById() {
  static auto* const types = new llvm::DenseSet<PyTypeObject*>;
  return *types;
}

bool comparesByIdentity(const PyTypeObject* type) {
  return !type->tp_richcompare || type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

bool hashesByIdentity(const PyTypeObject* type) {
  return type->tp_hash == PyBaseObject_Type.tp_hash;
}

// enum.Enum.__hash__, which hashes the member's name; null before anyone has imported enum.
PyObject* enumHash() {
  BorrowedRef<> type = cpython::importedAttribute("enum", "Enum");
  if (!type || !PyType_Check(type.get())) return nullptr;
  return cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(type.get()), "__hash__");
}

PyObject* enumName(BorrowedRef<> member) {
  PyObject* dict = cpython::materializedInstanceDict(member);
  PyObject* name = dict ? PyDict_GetItemString(dict, "_name_") : nullptr;
  return name && PyUnicode_CheckExact(name) ? name : nullptr;
}

// Weak references hash and compare as what they refer to.
bool isWeakReference(const PyTypeObject* type) {
  const PyTypeObject* own = cpython::weakReferenceType();
  return type->tp_hash == own->tp_hash && type->tp_richcompare == own->tp_richcompare;
}

// Does what it refers to go by its identity? So does a reference whose object has ended.
bool refersByIdentity(BorrowedRef<> reference) {
  PyObject* referent = PyWeakref_GET_OBJECT(reference.get());
  return referent == Py_None || isKeyByIdentity(Py_TYPE(referent)) ||
         (PyType_Check(referent) && hashesByIdentity(Py_TYPE(referent)) &&
          comparesByIdentity(Py_TYPE(referent)));
}

Presence equalReferences(BorrowedRef<> left, BorrowedRef<> right) {
  PyObject *first = PyWeakref_GET_OBJECT(left.get()), *second = PyWeakref_GET_OBJECT(right.get());
  // Two of which one has ended are compared by their own identity.
  if (first == Py_None || second == Py_None) return Presence::Absent;
  if (first == second) return Presence::Present;
  return refersByIdentity(left) && refersByIdentity(right) ? Presence::Absent : Presence::Unknown;
}

Presence equalWithin(BorrowedRef<> stored, BorrowedRef<> key, int depth) {
  if (stored.get() == key.get()) return Presence::Present;
  PyTypeObject *storedType = Py_TYPE(stored.get()), *keyType = Py_TYPE(key.get());
  if (isKeyByItems(storedType) && isKeyByItems(keyType)) {
    Py_ssize_t size = PyTuple_GET_SIZE(stored.get());
    if (size != PyTuple_GET_SIZE(key.get())) return Presence::Absent;
    if (depth >= kMaximumDepth) return Presence::Unknown;
    for (Py_ssize_t i = 0; i < size; ++i) {
      Presence equal =
          equalWithin(PyTuple_GET_ITEM(stored.get(), i), PyTuple_GET_ITEM(key.get(), i), depth + 1);
      if (equal != Presence::Present) return equal;
    }
    return Presence::Present;
  }
  bool bothFunctions = cpython::isFunctionInC(storedType) && cpython::isFunctionInC(keyType);
  if (bothFunctions || (isConstant(stored) && isConstant(key))) {
    int equal = PyObject_RichCompareBool(stored, key, Py_EQ);  // CPython's own code only
    if (equal < 0) clearException();
    return equal > 0 ? Presence::Present : Presence::Absent;
  }
  bool areReferences = isWeakReference(storedType) && isWeakReference(keyType);
  if (areReferences) return equalReferences(stored, key);
  auto isPlain = [](BorrowedRef<> object) {
    PyTypeObject* type = Py_TYPE(object.get());
    return comparesByIdentity(type) || cpython::isFunctionInC(type) || isKeyByItems(type) ||
           isWeakReference(type) || isConstant(object);
  };
  return isPlain(stored) && isPlain(key) ? Presence::Absent : Presence::Unknown;
}

std::optional<Py_hash_t> hashWithin(BorrowedRef<> key, int depth) {
  PyTypeObject* type = Py_TYPE(key.get());
  if (type == &PyUnicode_Type) return PyObject_Hash(key);  // nearly all keys
  if (isKeyByItems(type)) {
    if (depth >= kMaximumDepth) return std::nullopt;
    TupleHash hash;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key.get()); ++i) {
      std::optional<Py_hash_t> item = hashWithin(PyTuple_GET_ITEM(key.get(), i), depth + 1);
      if (!item) return item;
      hash.add(*item);
    }
    return hash.finish();
  }
  if (isWeakReference(type)) {
    if (!refersByIdentity(key)) return std::nullopt;
    Py_hash_t hash = PyObject_Hash(key);
    if (hash != -1) return hash;
    clearException();  // of one whose object has ended before anyone asked
    return std::nullopt;
  }
  if (typesHashedById().contains(type)) return reinterpret_cast<Py_hash_t>(key.get());
  if (hashesByIdentity(type) || cpython::isFunctionInC(type) || isConstant(key)) {
    Py_hash_t hash = PyObject_Hash(key);
    if (hash != -1) return hash;
    clearException();
    return std::nullopt;
  }
  if (isKeyByName(type)) {
    PyObject* name = enumName(key);
    if (name) return PyObject_Hash(name);
  }
  return std::nullopt;
}

}  // namespace

Presence equalKeys(BorrowedRef<> stored, BorrowedRef<> key) { return equalWithin(stored, key, 0); }

std::optional<Py_hash_t> hashWithoutCode(BorrowedRef<> key) { return hashWithin(key, 0); }

bool isKeyByIdentity(PyTypeObject* type) {
  if (type == &PyUnicode_Type) return false;  // nearly all keys
  return (hashesByIdentity(type) && comparesByIdentity(type)) || isKeyByName(type) ||
         typesHashedById().contains(type);
}

bool isKeyByName(PyTypeObject* type) {
  static PyObject* const name = staticName("__hash__");
  if (!cpython::isHeapType(type) || Py_TYPE(type) == &PyType_Type || !comparesByIdentity(type))
    return false;
  PyObject* hash = cpython::lookup(type, name);
  return hash && hash == enumHash();
}

bool isKeyByItems(PyTypeObject* type) {
  return type->tp_hash == PyTuple_Type.tp_hash &&
         type->tp_richcompare == PyTuple_Type.tp_richcompare;
}

void registerHashById(PyTypeObject* type) { typesHashedById().insert(type); }

}  // namespace armature
