#include "guards/identity_watch.h"

#include <stdexcept>

#include "core/pending_python_exception.h"
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

}  // namespace

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

}  // namespace armature
