#include "runtime/translation_family.h"

#include <deque>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <llvm/ADT/Hashing.h>

#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/function_layout.h"
#include "runtime/failure.h"

namespace armature {

using cpython::FunctionField;

struct TranslationFamily::Object {
  PyObject_HEAD TranslationFamily* family;

  static Object* from(PyObject* object) { return reinterpret_cast<Object*>(object); }

  static int traverse(PyObject* self, visitproc visit, void* arg) {
    return from(self)->family->traverse(visit, arg);
  }

  static int clear(PyObject* self) {
    CodeCache::clear(from(self)->family->caches_->caches);
    return 0;
  }

  static void deallocate(PyObject* self);

  static PyTypeObject type;
};

PyTypeObject TranslationFamily::Object::type = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "armature._C.TranslationFamily",
    .tp_basicsize = sizeof(Object),
    .tp_dealloc = deallocate,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The translations of one code object under the same settings.",
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_free = PyObject_GC_Del,
};

namespace {

// What families must have in common to be one. Borrowed; the family keeps it alive.
using Key = std::tuple<PyObject*, PyObject*, PyObject*, const EngineState*, PyObject*, bool, bool,
                       bool, int32_t>;

Key keyOf(PyObject* code, PyObject* globals, PyObject* builtins, const Settings& settings) {
  return {code,
          globals,
          builtins,
          settings.engine.get(),
          settings.sharingKey.get(),
          static_cast<bool>(settings.mixedBackend),
          settings.fullGraph,
          settings.measuresBreaks,
          settings.recompileLimit};
}

struct KeyHash {
  size_t operator()(const Key& key) const {
    return std::apply([](auto... parts) { return llvm::hash_combine(parts...); }, key);
  }
};

// The living families that can be shared, borrowed.
std::unordered_map<Key, PyObject*, KeyHash>& shared() {
  static auto* const families = new std::unordered_map<Key, PyObject*, KeyHash>();
  return *families;
}

// Families that no function has any more, the youngest last.
std::deque<Ref<>>& unused() {
  static auto* const families = new std::deque<Ref<>>();
  return *families;
}

constexpr size_t kMostUnused = 512;
bool keepsUnused = true;

}  // namespace

TranslationFamily::TranslationFamily(Ref<> code, std::shared_ptr<const Settings> settings)
    : code_(std::move(code)), settings_(std::move(settings)) {}

TranslationFamily& TranslationFamily::from(BorrowedRef<> object) {
  return *Object::from(object)->family;
}

Ref<> TranslationFamily::of(BorrowedRef<> function,
                            const std::shared_ptr<const Settings>& settings) {
  Ref<> code = Ref<>::create(cpython::read(function, FunctionField::Code));
  Key key = keyOf(code.get(), cpython::read(function, FunctionField::Globals),
                  cpython::read(function, FunctionField::Builtins), *settings);
  if (settings->sharingKey) {
    auto found = shared().find(key);
    if (found != shared().end()) return Ref<>::create(found->second);
  }
  std::unique_ptr<TranslationFamily> family(
      new TranslationFamily(code, std::make_shared<const Settings>(*settings)));
  try {
    CodePtr canonical = lift(reinterpret_cast<PyCodeObject*>(code.get()));
    if (!canonical) throw PendingPythonException();
    // Code that the program has put together may load anything.
    if (!canonical->isGenerator() && isConstant(code)) {
      family->root_ =
          CodeCache::ofFunction(function, std::move(canonical), family->settings_, family->caches_);
    }
  } catch (...) {
    std::string message;
    if (isForUser(message)) throw RaisedForUser();
    reportFailure(settings->engine->hooks, code,
                  cpython::read(function, FunctionField::QualifiedName), message,
                  FailureKind::Error);
    if (PyErr_Occurred()) throw RaisedForUser();
  }
  Object* object = PyObject_GC_New(Object, &Object::type);
  if (!object) {
    CodeCache::dropFamily(*family->caches_);
    throw PendingPythonException();
  }
  object->family = family.release();
  Ref<> made = Ref<>::steal(reinterpret_cast<PyObject*>(object));
  PyObject_GC_Track(made.get());
  if (settings->sharingKey && object->family->root_) shared()[key] = made.get();
  return made;
}

void TranslationFamily::Object::deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  std::unique_ptr<TranslationFamily> family(from(self)->family);
  if (family->root_) {
    auto found = shared().find(keyOf(family->code(), family->root_->globals().get(),
                                     family->root_->builtins().get(), *family->settings_));
    if (found != shared().end() && found->second == self) shared().erase(found);
  }
  // The caches refer to the family.
  CodeCache::dropFamily(*family->caches_);
  family.reset();
  PyObject_GC_Del(self);
}

int TranslationFamily::traverse(visitproc visit, void* arg) const {
  Py_VISIT(settings_->backend.get());
  Py_VISIT(settings_->mixedBackend.get());
  Py_VISIT(settings_->sharingKey.get());
  for (const std::shared_ptr<CodeCache>& cache : caches_->caches) {
    if (int stop = cache->traverse(visit, arg)) return stop;
  }
  return 0;
}

void TranslationFamily::keepForLater(Ref<> family) {
  if (!family || Py_REFCNT(family.get()) > 1 || !keepsUnused) return;
  const TranslationFamily& last = from(family);
  if (!last.settings_->sharingKey || !last.root_ || !last.root_->hasEntries()) return;
  Ref<> oldest;  // dies last: its end may run code
  unused().push_back(std::move(family));
  if (unused().size() > kMostUnused) {
    oldest = std::move(unused().front());
    unused().pop_front();
  }
}

void TranslationFamily::forgetUnused(bool keepMore) {
  keepsUnused = keepMore;
  std::deque<Ref<>> families = std::exchange(unused(), {});
}

int TranslationFamily::readyType() { return PyType_Ready(&Object::type); }

}  // namespace armature
