#include "guards/silent_end.h"

#include <algorithm>
#include <array>

#include "bytecode/code.h"
#include "cpython/generator_frames.h"
#include "cpython/weak_references.h"
#include "guards/identity_watch.h"

namespace armature {

namespace {

// Classes, modules and code live as long as the program, by all that can be told while tracing.
bool isLasting(PyObject* object) {
  return PyType_Check(object) || PyModule_Check(object) || PyCode_Check(object);
}

// May the end of a generator run code of the program, wherever it may stand by then: is there a
// yield that a handler guards, or one of `yield from`, whose iterator may have a close()?
bool hasCleanUp(PyObject* generator) {
  if (cpython::generatorState(generator) == cpython::GeneratorState::Finished) return false;
  CodePtr code = lift(cpython::generatorCode(generator));
  if (!code) {
    PyErr_Clear();
    return true;
  }
  return std::any_of(code->yields.begin(), code->yields.end(), [&](const Yield& yield) {
    int32_t pc = yield.instruction;
    bool delegates = pc > 0 && code->instructions[pc - 1].opcode == Opcode::SEND;
    return delegates || code->regionOf[pc] >= 0;
  });
}

bool isHeard(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  bool hasFinalizer =
      PyGen_CheckExact(object) ? hasCleanUp(object) : type->tp_finalize || type->tp_del;
  return hasFinalizer || cpython::anyWeakReferenceCallback(object, [](BorrowedRef<> callback) {
           return !isDeathNotice(callback);
         });
}

// Walks over what dies with an object. An object with one reference is met once.
class Walk {
 public:
  Walk(ReferenceCount references, LettingGo by)
      : references_(references), isLast_(by == LettingGo::Last) {}

  bool contentIsHeard(PyObject* object) {
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    if (!traverse || !PyObject_IS_GC(object)) return false;
    if (mostDepth_ == 0) return true;
    --mostDepth_;
    bool heard = traverse(object, visit, this) != 0;
    ++mostDepth_;
    return heard;
  }

 private:
  // As a visitproc: 1 stops the walk, at an end that is heard of, or may be.
  static int visit(PyObject* object, void* walk) { return static_cast<Walk*>(walk)->meet(object); }

  bool meet(PyObject* object) {
    if (--mostReferences_ < 0) return true;
    if (isLasting(object)) return false;
    Py_ssize_t references = references_(object);
    if (references <= 1) return isHeard(object) || contentIsHeard(object);
    return isHeard(object) && (isLast_ || isLastMeeting(object, references));
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
  bool isLast_;
  int mostReferences_ = 1000;
  int mostDepth_ = 50;
  std::array<Shared, 16> shared_;
  size_t sharedCount_ = 0;
};

}  // namespace

bool endsSilently(PyObject* object, LettingGo by, ReferenceCount references) {
  if (by == LettingGo::Content) return !Walk(references, by).contentIsHeard(object);
  if (isLasting(object)) return true;
  Py_ssize_t own = by == LettingGo::Input ? 0 : 1;
  bool shared = by != LettingGo::Last && references(object) > own;
  if (by == LettingGo::Input && shared) return true;
  if (isHeard(object)) return false;
  return shared || !Walk(references, by).contentIsHeard(object);
}

bool endsSilently(PyObject* object, LettingGo by, const FrameLocalsMapping& inputs) {
  return endsSilently(object, by, [&](PyObject* one) {
    Py_ssize_t references = Py_REFCNT(one);
    bool goesWithInputs = by == LettingGo::Input || by == LettingGo::Last;
    if (!goesWithInputs) return references;
    Py_ssize_t same = std::count(inputs.slots, inputs.slots + inputs.count, one);
    // A trace that has just found out that the end is heard has a reference of its own to each.
    return references - (by == LettingGo::Last ? 2 * same : same);
  });
}

}  // namespace armature
