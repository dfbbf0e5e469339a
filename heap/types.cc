// Facts about types.
#include "core/checked.h"
#include "core/graph_break.h"
#include "cpython/function_layout.h"
#include "cpython/type_lookup.h"
#include "heap/heap.h"

namespace armature {

namespace {

// Kinds of objects that behave in some way when they are found on a class: which function, which
// property it is decides everything. Of other values only the type matters for the lookup.
bool isHeldByIdentity(PyObject* object) {
  PyTypeObject* kind = Py_TYPE(object);
  if (cpython::isHeapType(kind)) return PyType_Check(object);
  return kind->tp_descr_get || PyType_Check(object) || PyCFunction_Check(object) ||
         PyMethod_Check(object);
}

// A C type that names the slot function of its base again has a wrapper of its own around it.
bool isSameMethod(PyObject* left, PyObject* right) {
  if (left == right) return true;
  bool areWrappers = left && right && Py_TYPE(left) == &PyWrapperDescr_Type &&
                     Py_TYPE(right) == &PyWrapperDescr_Type;
  return areWrappers && reinterpret_cast<PyWrapperDescrObject*>(left)->d_wrapped ==
                            reinterpret_cast<PyWrapperDescrObject*>(right)->d_wrapped;
}

PyObject* interned(const char* name) { return staticName(name); }

}  // namespace

void Heap::depend(const Source* source, GuardType type, BorrowedRef<> operand, int64_t number,
                  BorrowedRef<> after) {
  Guard guard;
  guard.source = source;
  guard.type = type;
  guard.operand = Ref<>::create(operand);
  guard.number = number;
  guard.after = Ref<>::create(after);
  dependencies_.addGuard(std::move(guard));
}

bool Heap::isNew(const void* subject, GuardType type, const void* operand) {
  static constexpr Trail::Operation kForget = {
      [](void* heap, uintptr_t) { static_cast<Heap*>(heap)->asked_.pop_back(); }, nullptr};
  if (!asked_.insert({{subject, {operand, static_cast<int>(type)}}, 0}).second) return false;
  trail_.record(kForget, this, 0);
  return true;
}

const Source* Heap::classSource(PyTypeObject* type) {
  // Its metaclass is at work on it, or has failed: it has no facts yet.
  if (!cpython::mro(type)) {
    throw GraphBreak(
        GraphBreakKind::UnsupportedOperation,
        std::string("facts about a class that is being made: ") + cpython::nameOf(type));
  }
  return sources_.constant(reinterpret_cast<PyObject*>(type));
}

void Heap::hold(const Found& found) {
  if (isHeldByIdentity(found.object)) {
    depend(found.source, GuardType::ID_MATCH, found.object);
    if (!PyFunction_Check(found.object)) return;
    // What is known of a function is known of its code. Its globals stay what they are.
    auto* code = reinterpret_cast<PyObject*>(cpython::codeOf(found.object));
    if (found.source && isNew(found.source, GuardType::CLOSURE_MATCH, code)) {
      depend(found.source, GuardType::CLOSURE_MATCH, code);
    }
  } else {
    depend(found.source, GuardType::TYPE_MATCH, reinterpret_cast<PyObject*>(Py_TYPE(found.object)));
  }
}

// What the class itself has, and not one of its bases.
Found Heap::ownAttribute(PyTypeObject* type, PyObject* name) {
  if (isMade(type)) return dependencies_.ownAttributeOfMade(type, name);
  if (written_.contains(type)) {
    if (std::optional<Found> found = dependencies_.writtenAttribute(type, name)) return *found;
  }
  PyObject* object = cpython::ownAttribute(type, name);
  if (cpython::isImmutable(type)) return {object, nullptr};
  Found dict = dictOf(type);
  depend(dict.source, object ? GuardType::DICT_CONTAINS : GuardType::DICT_NOT_CONTAINS, name);
  if (!object) return {};
  Found found{object, sources_.item(SourceKind::TypeAttribute, classSource(type), name)};
  hold(found);
  return found;
}

// Class by class, where the trace has made or written one of them. The MRO is a fact; of a made
// class, those of its bases are guarded where it is made.
Found Heap::findInMro(PyTypeObject* type, PyTypeObject* after, PyObject* name) {
  PyObject* all = mro(type);
  Py_ssize_t size = PyTuple_GET_SIZE(all), i = 0;
  auto at = [](PyObject* mro, Py_ssize_t i) {
    return reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
  };
  if (after) {
    while (i < size && at(all, i) != after) ++i;
    ++i;
  }
  for (; i < size; ++i) {
    // Where the rest is the MRO of the next class, this is a question about that class.
    PyObject* rest = cpython::mro(at(all, i));
    bool isRest = PyTuple_GET_SIZE(rest) == size - i;
    for (Py_ssize_t k = 0; isRest && k < size - i; ++k) {
      isRest =
          at(rest, k) == at(all, i + k) && !isMade(at(rest, k)) && !written_.contains(at(rest, k));
    }
    if (isRest) return find(at(all, i), nullptr, name);
    if (Found found = ownAttribute(at(all, i), name)) return found;
  }
  return {};
}

Found Heap::find(PyTypeObject* type, PyTypeObject* after, PyObject* name) {
  bool hasChanged = isMade(type);
  if (!written_.empty() && !cpython::isImmutable(type)) {
    PyObject* all = cpython::mro(type);
    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); ++i) {
      hasChanged |= written_.contains(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(all, i)));
    }
  }
  if (hasChanged) return findInMro(type, after, name);
  auto ask = [&] {
    return after ? cpython::lookupAfter(type, after, name).object : cpython::lookup(type, name);
  };
  if (cpython::isImmutable(type)) return {ask(), nullptr};
  Lookup lookup{type, after, name};
  if (auto known = lookups_.find(lookup); known != lookups_.end()) return known->second;
  PyObject* object = ask();
  Found& place = lookups_[lookup];
  static constexpr Trail::Operation kForget = {
      [](void* heap, uintptr_t) { static_cast<Heap*>(heap)->lookups_.pop_back(); }, nullptr};
  trail_.record(kForget, this, 0);
  const Source* typeSource = classSource(type);
  if (!object) {
    depend(typeSource, GuardType::HASATTR, name, 0, reinterpret_cast<PyObject*>(after));
    return {};
  }
  Found found{object,
              after ? sources_.superAttribute(typeSource, name, reinterpret_cast<PyObject*>(after))
                    : sources_.item(SourceKind::TypeAttribute, typeSource, name)};
  place = found;
  hold(found);
  return found;
}

Found Heap::lookup(PyTypeObject* type, PyObject* name) { return find(type, nullptr, name); }

Found Heap::lookupAfter(PyTypeObject* type, PyTypeObject* after, PyObject* name) {
  return find(type, after, name);
}

bool Heap::hasSpecial(PyTypeObject* type, cpython::SpecialSlot slot) {
  if (cpython::isImmutable(type)) return cpython::fillsSlot(type, slot);
  Ref<> name = Ref<>::steal(interned(cpython::nameOf(slot)));
  return static_cast<bool>(lookup(type, name.get()));
}

bool Heap::inherits(PyTypeObject* type, PyTypeObject* base, PyObject* name) {
  return isSameMethod(lookup(type, name).object, lookup(base, name).object);
}

bool Heap::isSubtype(PyTypeObject* type, PyTypeObject* base) {
  bool answer = PyType_IsSubtype(type, base);
  // Nothing that exists is below a class of the trace.
  bool isKnown = type == base || base == &PyBaseObject_Type || isFixed(type) || isMade(base);
  if (!isKnown && isNew(type, GuardType::SUBCLASS_MATCH, base)) {
    depend(classSource(type), GuardType::SUBCLASS_MATCH, reinterpret_cast<PyObject*>(base), answer);
  }
  return answer;
}

PyTypeObject* Heap::metaclassOf(PyTypeObject* type) {
  PyTypeObject* metaclass = Py_TYPE(type);
  if (!isMade(type) && !cpython::isImmutable(metaclass) &&
      isNew(type, GuardType::TYPE_MATCH, metaclass)) {
    depend(classSource(type), GuardType::TYPE_MATCH, reinterpret_cast<PyObject*>(metaclass));
  }
  return metaclass;
}

bool Heap::isAbstract(PyTypeObject* type) {
  bool answer = type->tp_flags & Py_TPFLAGS_IS_ABSTRACT;
  if (!isFixed(type) && isNew(type, GuardType::ABSTRACT_CLASS, nullptr)) {
    depend(classSource(type), GuardType::ABSTRACT_CLASS, nullptr, answer);
  }
  return answer;
}

bool Heap::hasNewOf(PyTypeObject* type, const PyTypeObject* base) {
  bool answer = cpython::hasBuiltinNew(type);
  if (!isFixed(type) && isNew(type, GuardType::BUILTIN_NEW, nullptr)) {
    depend(classSource(type), GuardType::BUILTIN_NEW, nullptr, answer);
  }
  return answer && cpython::staticBase(type)->tp_new == base->tp_new;
}

Found Heap::nameOf(PyTypeObject* type) {
  if (isMade(type)) return {cpython::shortName(type), nullptr};
  if (cpython::isHeapType(type)) {
    return {cpython::shortName(type), sources_.path(SourceKind::TypeName, classSource(type))};
  }
  Ref<> name = Ref<>::steal(PyType_GetName(type));
  kept_.push_back(name);
  return {name.get(), nullptr};
}

Found Heap::qualifiedNameOf(PyTypeObject* type) {
  if (isMade(type)) return {cpython::qualifiedName(type), nullptr};
  if (cpython::isHeapType(type)) {
    return {cpython::qualifiedName(type),
            sources_.path(SourceKind::TypeQualifiedName, classSource(type))};
  }
  Ref<> name = Ref<>::steal(PyType_GetQualName(type));
  kept_.push_back(name);
  return {name.get(), nullptr};
}

const char* Heap::nameInTexts(PyTypeObject* type) {
  if (!isFixed(type)) {
    Found name = nameOf(type);
    if (isNew(type, GuardType::EQUALS_MATCH, nullptr)) {
      depend(name.source, GuardType::EQUALS_MATCH, name.object);
    }
  }
  return type->tp_name;
}

PyObject* Heap::mro(PyTypeObject* type) {
  PyObject* mro = cpython::mro(type);
  if (!isFixed(type) && isNew(type, GuardType::ID_MATCH, mro)) {
    // Assigning __bases__ makes a new tuple.
    depend(sources_.path(SourceKind::TypeMro, classSource(type)), GuardType::ID_MATCH, mro);
  }
  return mro;
}

PyObject* Heap::bases(PyTypeObject* type) {
  PyObject* bases = cpython::bases(type);
  if (!isFixed(type) && isNew(type, GuardType::ID_MATCH, bases)) {
    // While mro() of the metaclass runs, the class has its new bases and still its old version: not
    // a fact that the version stands for.
    static PyObject* const field = cpython::lookup(&PyType_Type, staticName("__bases__"));
    depend(sources_.item(SourceKind::Descriptor, classSource(type), field), GuardType::ID_MATCH,
           bases);
  }
  return bases;
}

Found Heap::dictOf(PyTypeObject* type) {
  return {cpython::dict(type), sources_.path(SourceKind::TypeDict, classSource(type))};
}

bool Heap::hasGet(PyObject* attribute) {
  static PyObject* const get = staticName("__get__");
  PyTypeObject* kind = Py_TYPE(attribute);
  if (cpython::isImmutable(kind)) return kind->tp_descr_get;
  return static_cast<bool>(lookup(kind, get));
}

bool Heap::isDataDescriptor(PyObject* attribute) {
  static PyObject* const set = staticName("__set__");
  static PyObject* const del = staticName("__delete__");
  PyTypeObject* kind = Py_TYPE(attribute);
  if (cpython::isImmutable(kind)) return kind->tp_descr_set;
  return lookup(kind, set) || lookup(kind, del);
}

}  // namespace armature
