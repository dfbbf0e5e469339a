#include "guards/silent_end.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>

#include "bytecode/code.h"
#include "core/pending_python_exception.h"
#include "cpython/generator_frames.h"
#include "cpython/instance_attributes.h"
#include "cpython/integers.h"
#include "cpython/weak_references.h"
#include "guards/array_library.h"
#include "guards/identity_watch.h"

namespace armature {

namespace {

// Classes and code live as long as the program, by all that can be told while tracing.
bool isLasting(PyObject* object) {
  return Py_IS_TYPE(object, &PyCode_Type) || PyType_Check(object);
}

// May the end of a generator run code of the program, wherever it may stand by then: is there a
// yield that a handler guards, or one of `yield from`, whose iterator may have a close()?
bool hasCleanUp(PyObject* generator) {
  if (cpython::generatorState(generator) == cpython::GeneratorState::Finished) return false;
  CodePtr code = lift(cpython::generatorCode(generator));
  if (!code) {
    clearException();
    return true;
  }
  return std::any_of(code->yields.begin(), code->yields.end(), [&](const Yield& yield) {
    int32_t pc = yield.instruction;
    return yieldsForDelegate(*code, pc) || code->regionOf[pc] >= 0;
  });
}

// `owned`: generators whose clean-up does not count.
bool isHeard(PyObject* object, llvm::ArrayRef<PyObject*> owned = {}) {
  PyTypeObject* type = Py_TYPE(object);
  bool hasFinalizer = PyGen_CheckExact(object)
                          ? hasCleanUp(object) && !llvm::is_contained(owned, object)
                          : type->tp_finalize || type->tp_del;
  return hasFinalizer || cpython::anyWeakReferenceCallback(object, [](BorrowedRef<> callback) {
           return !isDeathNotice(callback);
         });
}

// Finds generators with clean-up to do to which nothing leads but the one way from an input.
class OwnedGenerators {
 public:
  explicit OwnedGenerators(ReferenceCount references) : references_(references) {}

  void follow(PyObject* object) {
    if (path_.size() == kMostSteps) return;
    if (PyGen_CheckExact(object)) return followGenerator(object);
    if (PyMethod_Check(object)) return step({}, PyMethod_GET_SELF(object));
    if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return;
    PyObject** dict = cpython::instanceDictPlace(object);
    if (!dict || (*dict && references_(*dict) > 1)) return;
    cpython::visitAttributes(object, [&](PyObject* name, PyObject* value) {
      step({name, -1}, value);
    });
  }

  std::vector<PartPath> paths;
  llvm::SmallVector<PyObject*, 4> found;

 private:
  static constexpr size_t kMostSteps = 8;

  void step(PartStep step, PyObject* part) {
    if (references_(part) > 1 || isLasting(part)) return;
    path_.push_back(step);
    follow(part);
    path_.pop_back();
  }

  void followGenerator(PyObject* generator) {
    if (cpython::hasFrameObject(generator)) return;
    if (hasCleanUp(generator)) {
      paths.push_back(path_);
      found.push_back(generator);
    }
    size_t count = cpython::generatorSlotCount(generator);
    for (size_t i = 0; i < count; ++i) {
      PyObject* held = cpython::generatorSlot(generator, i);
      if (held) step({nullptr, static_cast<int32_t>(i)}, held);
    }
  }

  ReferenceCount references_;
  PartPath path_;
};

}  // namespace

// Walks over what dies with an object. An object with one reference is met once.
class Walk {
 public:
  Walk(ReferenceCount references, LettingGo by, Ends& ends, llvm::ArrayRef<PyObject*> owned = {})
      : references_(references),
        owned_(owned),
        isLast_(by == LettingGo::Last || by == LettingGo::Content),
        ends_(ends) {}

  bool contentIsHeard(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    bool isGarbageCollected = type->tp_traverse && PyObject_IS_GC(object);
    // What classes of the program have of a base of C, that may not have told.
    bool mayBeArray = !isGarbageCollected || type->tp_flags & Py_TPFLAGS_HEAPTYPE;
    if (!isGarbageCollected && isPlainData(type)) return false;
    if (mostDepth_ == 0) return true;
    --mostDepth_;
    bool heard = isGarbageCollected && type->tp_traverse(object, visit, this) != 0;
    heard = heard || (mayBeArray && traverseArray(object, visit, this) != 0);
    ++mostDepth_;
    return heard;
  }

  bool endIsHeard(PyObject* object) { return isHeard(object, owned_) || contentIsHeard(object); }

  // `times` references to it are given up.
  bool meet(PyObject* object, Py_ssize_t times) {
    if (--mostReferences_ < 0) return true;
    if (isLasting(object)) return false;
    Py_ssize_t references = references_(object);
    if (references <= times) return endIsHeard(object);
    if (isPlainData(Py_TYPE(object))) return false;
    if (isLast_ && isHeard(object)) return true;
    switch (meetAgain(object, references, times)) {
      case Meeting::NotLast:
        return false;
      case Meeting::Last:
        return isHeard(object) || contentIsHeard(object);
      case Meeting::Unknown:
        return isHeard(object);
    }
    __builtin_unreachable();
  }

 private:
  // As a visitproc: 1 stops the walk, at an end that is heard of, or may be.
  static int visit(PyObject* object, void* walk) {
    return static_cast<Walk*>(walk)->meet(object, 1);
  }

  enum class Meeting : uint8_t { NotLast, Last, Unknown };

  // Of an object with several references: have all of them been met, so that it dies as well?
  Meeting meetAgain(PyObject* object, Py_ssize_t references, Py_ssize_t times) {
    auto end = ends_.shared_.begin() + ends_.sharedCount_;
    auto found = std::find_if(ends_.shared_.begin(), end,
                              [&](const Ends::Shared& one) { return one.object == object; });
    if (found == ends_.shared_.end()) return Meeting::Unknown;
    if (found == end) {
      *found = {object, 0};
      ++ends_.sharedCount_;
    }
    found->met += times;
    return found->met >= references ? Meeting::Last : Meeting::NotLast;
  }

  ReferenceCount references_;
  llvm::ArrayRef<PyObject*> owned_;
  bool isLast_;
  int mostReferences_ = 1000;
  int mostDepth_ = 50;
  Ends& ends_;
};

Ends& Ends::operator=(const Ends& other) {
  std::copy_n(other.shared_.begin(), other.sharedCount_, shared_.begin());
  sharedCount_ = other.sharedCount_;
  return *this;
}

bool Ends::letGo(PyObject* object, LettingGo by, ReferenceCount references, Py_ssize_t times) {
  if (isPlainData(Py_TYPE(object))) return true;
  Walk walk(references, by, *this);
  if (by == LettingGo::Content) return !walk.contentIsHeard(object);
  if (isLasting(object)) return true;
  if (by == LettingGo::Last) return !walk.endIsHeard(object);
  if (by == LettingGo::Object && isHeard(object)) return false;
  return !walk.meet(object, times);
}

bool isPlainData(const PyTypeObject* type) {
  return !(type->tp_flags & (Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HEAPTYPE)) && !type->tp_finalize &&
         !type->tp_del && type->tp_weaklistoffset == 0;
}

std::vector<PartPath> ownedGenerators(PyObject* input, ReferenceCount references) {
  if (references(input) > 0 || isLasting(input)) return {};
  OwnedGenerators owned(references);
  owned.follow(input);
  Ends ends;
  bool heard = Walk(references, LettingGo::Owned, ends, owned.found).endIsHeard(input);
  return heard ? std::vector<PartPath>() : std::move(owned.paths);
}

Ref<> describePaths(const std::vector<PartPath>& paths) {
  Ref<> described = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(paths.size())));
  for (size_t i = 0; described && i < paths.size(); ++i) {
    PyObject* path = PyTuple_New(static_cast<Py_ssize_t>(paths[i].size()));
    if (!path) return nullptr;
    PyTuple_SET_ITEM(described.get(), i, path);
    for (size_t j = 0; j < paths[i].size(); ++j) {
      const PartStep& step = paths[i][j];
      PyObject* part = step.attribute ? Py_NewRef(step.attribute) : PyLong_FromLong(step.slot);
      if (!part) return nullptr;
      PyTuple_SET_ITEM(path, j, part);
    }
  }
  return described;
}

namespace {

Py_ssize_t countOf(PyObject* object, const FrameLocalsMapping& inputs) {
  return std::count(inputs.slots, inputs.slots + inputs.count, object);
}

// Has the input the generators of describePaths(), and only these? Allocates no object.
bool ownsGenerators(PyObject* input, PyObject* description, const FrameLocalsMapping& inputs,
                    ReferenceCount references) {
  std::vector<PartPath> paths =
      ownedGenerators(input, [&](PyObject* one) { return references(one) - countOf(one, inputs); });
  if (static_cast<Py_ssize_t>(paths.size()) != PyTuple_GET_SIZE(description)) return false;
  for (size_t i = 0; i < paths.size(); ++i) {
    PyObject* path = PyTuple_GET_ITEM(description, i);
    if (static_cast<Py_ssize_t>(paths[i].size()) != PyTuple_GET_SIZE(path)) return false;
    for (size_t j = 0; j < paths[i].size(); ++j) {
      const PartStep& step = paths[i][j];
      PyObject* part = PyTuple_GET_ITEM(path, j);
      if (static_cast<bool>(step.attribute) != PyUnicode_Check(part)) return false;
      bool same = step.attribute ? PyUnicode_Compare(step.attribute, part) == 0
                                 : PyLong_AsLong(part) == step.slot;
      if (!same) return false;
    }
  }
  return true;
}

bool endTogether(PyObject* numbers, const FrameLocalsMapping& inputs, ReferenceCount references) {
  Ends ends;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); ++i) {
    size_t number = PyLong_AsSize_t(PyTuple_GET_ITEM(numbers, i));
    PyObject* input = number < inputs.count ? inputs.slots[number] : nullptr;
    if (input && !ends.letGo(input, LettingGo::Input, references, countOf(input, inputs))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool isAboutEnds(int64_t number, BorrowedRef<> operand) {
  auto isSmall = [](PyObject* part) {
    return PyLong_CheckExact(part) && cpython::bitLength(part) < 31;
  };
  auto isNumber = [&](PyObject* part) { return isSmall(part) && PyLong_AsLong(part) >= 0; };
  auto isStep = [&](PyObject* part) { return PyUnicode_Check(part) || isSmall(part); };
  auto isTupleOf = [](PyObject* parts, llvm::function_ref<bool(PyObject*)> isPart) {
    if (!PyTuple_CheckExact(parts)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); ++i) {
      if (!isPart(PyTuple_GET_ITEM(parts, i))) return false;
    }
    return true;
  };
  if (number < kEndsAreHeard) return false;
  if (number == kEndsAreHeard) return operand && isTupleOf(operand.get(), isNumber);
  return !operand ||
         isTupleOf(operand.get(), [&](PyObject* path) { return isTupleOf(path, isStep); });
}

bool endHolds(PyObject* object, int64_t number, PyObject* operand, const FrameLocalsMapping& inputs,
              llvm::ArrayRef<Ref<>> pins, Ends& ends) {
  auto references = [&](PyObject* one) -> Py_ssize_t {
    auto isOne = [one](const Ref<>& pin) { return pin.get() == one; };
    return Py_REFCNT(one) - (pins.empty() ? 0 : llvm::count_if(pins, isOne));
  };
  if (number == kEndsAreHeard) return !endTogether(operand, inputs, references);
  if (operand) return ownsGenerators(object, operand, inputs, references);
  if (number == kEndIsHeard) {
    return !endsSilently(object, LettingGo::Last,
                         [&](PyObject* one) { return references(one) - countOf(one, inputs); });
  }
  auto by = static_cast<LettingGo>(number % kTimesLetGo);
  Py_ssize_t times = by == LettingGo::Input ? countOf(object, inputs) : 1;
  return ends.letGo(object, by, references, times);
}

}  // namespace armature
