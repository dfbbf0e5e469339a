#include "guards/identity_watch.h"

#include <llvm/ADT/STLExtras.h>

#include <array>
#include <stdexcept>

#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"

namespace armature {
namespace {

struct DeathNotice {
  PyObject_HEAD bool valid;
  IdentityWatch* watch;  // null when that is gone
};

PyObject* callDeathNotice(PyObject* self, PyObject*, PyObject*) {
  auto* notice = reinterpret_cast<DeathNotice*>(self);
  notice->valid = false;
  if (notice->watch) notice->watch->giveUp();
  Py_RETURN_NONE;
}

PyTypeObject deathNoticeType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature.DeathNotice",
    .tp_basicsize = sizeof(DeathNotice),
    .tp_call = callDeathNotice,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Called when an object dies whose identity a compiled function depends on.",
};

bool isImmortal(PyObject* object) {
  return object == Py_None || object == Py_True || object == Py_False || object == Py_Ellipsis ||
         object == Py_NotImplemented ||
         (PyType_Check(object) && !cpython::isHeapType(reinterpret_cast<PyTypeObject*>(object)));
}

// The members by which a type without weak references shows what its objects wrap.
struct Wrapper {
  PyTypeObject* type;
  llvm::SmallVector<PyObject*, 3> members;
};

// Null for other types.
const Wrapper* wrapperOf(const PyTypeObject* type) {
  auto member = [](PyTypeObject* owner, const char* name) {
    Ref<> key = checked(PyUnicode_InternFromString(name));
    return cpython::lookup(owner, key);
  };
  static const std::array<Wrapper, 3> all = {{
      {&PyProperty_Type,
       {member(&PyProperty_Type, "fget"), member(&PyProperty_Type, "fset"),
        member(&PyProperty_Type, "fdel")}},
      {&PyStaticMethod_Type, {member(&PyStaticMethod_Type, "__func__")}},
      {&PyClassMethod_Type, {member(&PyClassMethod_Type, "__func__")}},
  }};
  auto found = llvm::find_if(all, [&](const Wrapper& one) { return one.type == type; });
  return found == all.end() ? nullptr : found;
}

}  // namespace

std::optional<ObjectParts> ObjectParts::of(PyObject* object) {
  ObjectParts result{object, Py_TYPE(object), {}};
  if (PyTuple_CheckExact(object)) {
    if (isConstant(object)) return std::nullopt;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      result.parts.push_back(PyTuple_GET_ITEM(object, i));
  } else if ((result.definition = cpython::definitionOf(object))) {
    if (!cpython::belongsToClass(object)) return std::nullopt;
    result.parts.push_back(reinterpret_cast<PyObject*>(PyDescr_TYPE(object)));
  } else if (const Wrapper* wrapper = wrapperOf(result.type)) {
    for (PyObject* member : wrapper->members)
      result.parts.push_back(cpython::memberValue(object, member));
  } else {
    return std::nullopt;
  }
  return result;
}

bool ObjectParts::areOf(PyObject* object) const {
  if (object != address || Py_TYPE(object) != type) return false;
  if (definition) {
    return cpython::definitionOf(object) == definition &&
           reinterpret_cast<PyObject*>(PyDescr_TYPE(object)) == parts.front();
  }
  const Wrapper* wrapper = wrapperOf(type);
  if (!wrapper && PyTuple_GET_SIZE(object) != static_cast<Py_ssize_t>(parts.size())) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    PyObject* part = wrapper ? cpython::memberValue(object, wrapper->members[i])
                             : PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i));
    if (part != parts[i]) return false;
  }
  return true;
}

bool isDeathNotice(BorrowedRef<> callback) { return Py_TYPE(callback.get()) == &deathNoticeType; }

IdentityWatch::IdentityWatch() {
  if (PyType_Ready(&deathNoticeType) < 0)
    throw std::runtime_error("cannot make the type of death notices");
  DeathNotice* notice = PyObject_New(DeathNotice, &deathNoticeType);
  if (!notice) throw std::bad_alloc();
  notice->valid = true;
  notice->watch = this;
  valid_ = &notice->valid;
  callback_ = Ref<>::steal(reinterpret_cast<PyObject*>(notice));
}

// Weak references go first: a dead one calls nobody.
IdentityWatch::~IdentityWatch() {
  references_.clear();
  reinterpret_cast<DeathNotice*>(callback_.get())->watch = nullptr;
}

// The collector clears the weak references to what it takes for garbage, and calls back only those
// that it has not found to be garbage themselves. A finalizer may yet save all of it: so that the
// notice comes, weak references are not shown. They hold nothing that could be part of a cycle.
int IdentityWatch::traverse(visitproc visit, void* arg) const {
  for (const Ref<>& object : held_) Py_VISIT(object.get());
  return 0;
}

void IdentityWatch::watch(BorrowedRef<> object) {
  if (isImmortal(object) || !watched_.insert(object).second) return;
  if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(object.get()))) {
    if (PyObject* reference = PyWeakref_NewRef(object, callback_.get())) {
      references_.push_back(Ref<>::steal(reference));
      return;
    }
    clearException();
  }
  held_.push_back(Ref<>::create(object.get()));
}

const ObjectParts* IdentityWatch::watchParts(BorrowedRef<> object) {
  std::optional<ObjectParts> parts = ObjectParts::of(object);
  if (!parts) return nullptr;
  std::unique_ptr<ObjectParts>& known = parts_[object.get()];
  if (!known) {
    known = std::make_unique<ObjectParts>(std::move(*parts));
    for (PyObject* part : known->parts)
      if (part) watch(part);
  }
  return known.get();
}

}  // namespace armature
