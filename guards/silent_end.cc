#include "guards/silent_end.h"

#include <algorithm>
#include <array>

#include "cpython/weak_references.h"
#include "guards/identity_watch.h"

namespace armature {

namespace {

// Classes, modules and code live as long as the program, by all that can be told while tracing.
bool isLasting(PyObject* object) {
  return PyType_Check(object) || PyModule_Check(object) || PyCode_Check(object);
}

bool isHeard(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type->tp_finalize || type->tp_del ||
         cpython::anyWeakReferenceCallback(
             object, [](BorrowedRef<> callback) { return !isDeathNotice(callback); });
}

// Walks over what dies with an object. An object with one reference is met once.
class Walk {
 public:
  explicit Walk(ReferenceCount references) : references_(references) {}

  bool contentIsHeard(PyObject* object) {
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    if (!traverse || !PyObject_IS_GC(object)) return false;
    if (--mostObjects_ < 0 || mostDepth_ == 0) return true;
    --mostDepth_;
    bool heard = traverse(object, visit, this) != 0;
    ++mostDepth_;
    return heard;
  }

 private:
  // As a visitproc: 1 stops the walk, at an end that is heard of, or may be.
  static int visit(PyObject* object, void* walk) { return static_cast<Walk*>(walk)->meet(object); }

  bool meet(PyObject* object) {
    if (isLasting(object)) return false;
    Py_ssize_t references = references_(object);
    if (references <= 1) return isHeard(object) || contentIsHeard(object);
    return isHeard(object) && isLastMeeting(object, references);
  }

  // Has the walk met all references to the object?
  bool isLastMeeting(PyObject* object, Py_ssize_t references) {
    auto end = shared_.begin() + sharedCount_;
    auto found =
        std::find_if(shared_.begin(), end, [&](const Shared& one) { return one.object == object; });
    if (found == shared_.end()) return true;
    if (found == end) {
      *found = {object, 0};
      ++sharedCount_;
    }
    return ++found->met >= references;
  }

  struct Shared {
    PyObject* object;
    Py_ssize_t met;
  };
  ReferenceCount references_;
  int mostObjects_ = 1000;
  int mostDepth_ = 50;
  std::array<Shared, 16> shared_;
  size_t sharedCount_ = 0;
};

}  // namespace

bool endsSilently(PyObject* object, LettingGo by, size_t inputs, ReferenceCount references) {
  if (by == LettingGo::Content) return !Walk(references).contentIsHeard(object);
  if (isLasting(object)) return true;
  Py_ssize_t own = by == LettingGo::Input ? static_cast<Py_ssize_t>(inputs) : 1;
  bool shared = by != LettingGo::Last && references(object) > own;
  if (by == LettingGo::Input && shared) return true;
  if (isHeard(object)) return false;
  return shared || !Walk(references).contentIsHeard(object);
}

bool endsSilently(PyObject* object, LettingGo by, const FrameLocalsMapping& inputs) {
  size_t same = 0;
  if (by == LettingGo::Input) {
    for (size_t i = 0; i < inputs.count; ++i) same += inputs.slots[i] == object;
  }
  return endsSilently(object, by, same, [](PyObject* one) { return Py_REFCNT(one); });
}

}  // namespace armature
