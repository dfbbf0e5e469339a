#include "core/constant.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/SmallVector.h>

#include "core/describe.h"
#include "core/pending_python_exception.h"
#include "core/same_data.h"
#include "core/text.h"
#include "cpython/code_objects.h"
#include "cpython/integers.h"
#include "cpython/set_entries.h"

namespace armature {
namespace {

constexpr int kMaximumDepth = 64;
constexpr int64_t kMaximumParts = 1 << 16;
constexpr size_t kLongestText = 200;
constexpr size_t kLongestComposite = 1000;

// --- Builtin types

size_t hashInteger(PyObject* object) { return static_cast<size_t>(PyObject_Hash(object)); }

bool sameInteger(PyObject* a, PyObject* b) { return cpython::sameInteger(a, b); }

uint64_t bitsOf(double value) { return std::bit_cast<uint64_t>(value); }

// Python hashes a nan by its identity.
size_t hashFloat(PyObject* object) { return llvm::hash_value(bitsOf(PyFloat_AS_DOUBLE(object))); }

// Within a composite, a nan is found by its identity, so that only itself is the same.
bool isExactNan(PyObject* object) {
  return (PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) && isNan(object);
}

size_t hashComplex(PyObject* object) {
  Py_complex value = reinterpret_cast<PyComplexObject*>(object)->cval;
  return llvm::hash_combine(bitsOf(value.real), bitsOf(value.imag));
}

std::string codeText(PyObject* code) {
  return "<code " + printable(reinterpret_cast<PyCodeObject*>(code)->co_qualname) + ">";
}

// --- Composite builtin types

bool forEachCodeConstant(PyObject* code, llvm::function_ref<bool(PyObject*)> visit) {
  PyObject* constants = cpython::constantsOf(code);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i)
    if (!visit(PyTuple_GET_ITEM(constants, i))) return false;
  return true;
}

bool sameCode(PyObject* a, PyObject* b) {
  return PyTuple_GET_SIZE(cpython::constantsOf(a)) == PyTuple_GET_SIZE(cpython::constantsOf(b)) &&
         cpython::sameCodeButConstants(a, b);
}

size_t hashCode(PyObject* code) {
  return llvm::hash_combine(reinterpret_cast<PyCodeObject*>(code)->co_firstlineno, Py_SIZE(code));
}

// Subclasses of tuple that add nothing to it (torch.Size) have the same parts.
bool forEachItem(PyObject* tuple, llvm::function_ref<bool(PyObject*)> visit) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    if (!visit(PyTuple_GET_ITEM(tuple, i))) return false;
  return true;
}

bool sameSize(PyObject* a, PyObject* b) { return PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b); }

size_t hashSize(PyObject* tuple) { return static_cast<size_t>(PyTuple_GET_SIZE(tuple)); }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += ", ";
    if (text.size() > kLongestComposite) return text + "...";
    text += part;
  }
  return text;
}

std::vector<std::string> partTexts(PyObject* object, const ConstantType& type) {
  std::vector<std::string> parts;
  size_t length = 0;
  type.forEachPart(object, [&](PyObject* part) {
    parts.push_back(constantText(part));
    length += parts.back().size();
    return length <= kLongestComposite;
  });
  return parts;
}

std::string tupleText(PyObject* tuple) {
  std::vector<std::string> parts = partTexts(tuple, {.forEachPart = forEachItem});
  return "(" + joined(parts) + (PyTuple_GET_SIZE(tuple) == 1 ? ",)" : ")");
}

bool forEachElement(PyObject* set, llvm::function_ref<bool(PyObject*)> visit) {
  for (cpython::SetEntry entry; cpython::nextEntry(set, entry);)
    if (!visit(entry.element)) return false;
  return true;
}

size_t hashTable(PyObject* set) { return static_cast<size_t>(PySet_GET_SIZE(set)); }

// Sorted: the order of a set of strings differs from run to run.
std::string frozensetText(PyObject* set) {
  if (PySet_GET_SIZE(set) == 0) return "frozenset()";
  std::vector<std::string> parts = partTexts(set, {.forEachPart = forEachElement});
  std::sort(parts.begin(), parts.end());
  return "frozenset({" + joined(parts) + "})";
}

bool always(PyObject*, PyObject*) { return true; }
size_t zero(PyObject*) { return 0; }

bool forEachSlicePart(PyObject* object, llvm::function_ref<bool(PyObject*)> visit) {
  auto* slice = reinterpret_cast<PySliceObject*>(object);
  return visit(slice->start) && visit(slice->stop) && visit(slice->step);
}

std::string sliceText(PyObject* slice) {
  return "slice(" + joined(partTexts(slice, {.forEachPart = forEachSlicePart})) + ")";
}

bool forEachRangePart(PyObject* object, llvm::function_ref<bool(PyObject*)> visit) {
  const cpython::RangeFields& range = cpython::rangeFields(object);
  return visit(range.start) && visit(range.stop) && visit(range.step);
}

// --- The registry

using Registry = llvm::DenseMap<const PyTypeObject*, ConstantType>;

Registry& registry() {
  static Registry* const types = new Registry{
      {Py_TYPE(Py_None), {}},
      {Py_TYPE(Py_Ellipsis), {}},
      {Py_TYPE(Py_NotImplemented), {}},
      {&PyBool_Type, {}},
      {&PyCode_Type,
       {.same = sameCode, .hash = hashCode, .forEachPart = forEachCodeConstant, .text = codeText}},
      {&PyLong_Type, {.same = sameInteger, .hash = hashInteger}},
      {&PyFloat_Type, {.same = sameFloat, .hash = hashFloat}},
      {&PyComplex_Type, {.same = sameComplex, .hash = hashComplex}},
      {&PyUnicode_Type, {.same = sameString}},
      {&PyBytes_Type, {.same = sameBytes}},
      {&PyTuple_Type,
       {.same = sameSize, .hash = hashSize, .forEachPart = forEachItem, .text = tupleText}},
      {&PyFrozenSet_Type,
       {.same = cpython::haveLikeTables,
        .hash = hashTable,
        .forEachPart = forEachElement,
        .text = frozensetText}},
      {&PySlice_Type,
       {.same = always, .hash = zero, .forEachPart = forEachSlicePart, .text = sliceText}},
      {&PyRange_Type, {.same = always, .hash = zero, .forEachPart = forEachRangePart}},
  };
  return *types;
}

const ConstantType* find(const PyTypeObject* type) {
  auto found = registry().find(type);
  return found == registry().end() ? nullptr : &found->second;
}

// The types of nearly all constants, which need no lookup.
bool isAtom(const PyTypeObject* type) {
  return type == &PyLong_Type || type == &PyUnicode_Type || type == &PyFloat_Type ||
         type == &PyBool_Type || type == Py_TYPE(Py_None);
}

// What a walk over a composite knows of the composites in it, which may be shared: how often parts
// of theirs are met, and how deep they nest.
struct SharedParts {
  int64_t parts;
  int height;
};

class ConstantWalk {
 public:
  bool visit(PyObject* object, int depth) {
    deepest_ = std::max(deepest_, depth);
    if (--budget_ < 0) return false;
    PyTypeObject* type = Py_TYPE(object);
    if (isAtom(type)) return true;
    const ConstantType* constant = find(type);
    if (!constant || !constant->forEachPart) return constant;
    if (depth >= kMaximumDepth) return false;
    if (auto known = shared_.find(object); known != shared_.end()) {
      deepest_ = std::max(deepest_, depth + known->second.height);
      budget_ -= known->second.parts;
      return budget_ >= 0 && deepest_ <= kMaximumDepth;
    }
    int64_t budget = budget_;
    int deepest = std::exchange(deepest_, depth);
    bool isConstant =
        constant->forEachPart(object, [&](PyObject* part) { return visit(part, depth + 1); });
    // What is met again is not walked again.
    if (isConstant && depth > 0 && Py_REFCNT(object) > 1 && budget - budget_ > kFewParts) {
      shared_[object] = {budget - budget_, deepest_ - depth};
    }
    deepest_ = std::max(deepest_, deepest);
    return isConstant;
  }

 private:
  static constexpr int64_t kFewParts = 8;
  int64_t budget_ = kMaximumParts;
  int deepest_ = 0;
  llvm::SmallDenseMap<PyObject*, SharedParts, 4> shared_;
};

bool sameWithin(PyObject* a, PyObject* b, int depth, int64_t& budget) {
  if (a == b) return true;
  PyTypeObject* type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyLong_Type) return sameInteger(a, b);
  if (type == &PyUnicode_Type) return sameString(a, b);
  const ConstantType* constant = find(type);
  if (depth > 0 && (isExactNan(a) || (constant && constant->maker))) return false;
  if (!constant || !constant->same || !constant->same(a, b)) return false;
  if (!constant->forEachPart) return true;
  if (depth >= kMaximumDepth) return false;
  llvm::SmallVector<PyObject*, 8> parts;
  constant->forEachPart(b, [&](PyObject* part) {
    parts.push_back(part);
    return true;
  });
  size_t next = 0;
  return constant->forEachPart(a, [&](PyObject* part) {
    return --budget >= 0 && sameWithin(part, parts[next++], depth + 1, budget);
  });
}

size_t hashWithin(PyObject* object, int depth, int64_t& budget) {
  PyTypeObject* type = Py_TYPE(object);
  const ConstantType* constant = find(type);
  if (!constant || !constant->same) return llvm::hash_value(object);
  size_t hash =
      constant->hash ? constant->hash(object) : static_cast<size_t>(PyObject_Hash(object));
  hash = llvm::hash_combine(type, hash);
  if (!constant->forEachPart || depth >= kMaximumDepth) return hash;
  constant->forEachPart(object, [&](PyObject* part) {
    hash = llvm::hash_combine(hash, hashWithin(part, depth + 1, budget));
    return --budget >= 0;
  });
  return hash;
}

std::string shortened(std::string text) {
  if (text.size() <= kLongestText) return text;
  size_t end = kLongestText;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + "...";
}

}  // namespace

bool isConstantType(const PyTypeObject* type) { return isAtom(type) || find(type); }

bool isConstant(BorrowedRef<> object) {
  PyTypeObject* type = Py_TYPE(object.get());
  return isAtom(type) || (find(type) && ConstantWalk().visit(object, 0));
}

bool hasMaker(const PyTypeObject* type) {
  const ConstantType* known = find(type);
  return known && known->maker;
}

bool goesByIdentity(BorrowedRef<> constant) {
  return isExactNan(constant) || hasMaker(Py_TYPE(constant.get()));
}

Ref<> makerOf(BorrowedRef<> constant) { return find(Py_TYPE(constant.get()))->maker(constant); }

bool sameConstant(BorrowedRef<> a, BorrowedRef<> b) {
  int64_t budget = kMaximumParts;
  return sameWithin(a, b, 0, budget);
}

size_t hashConstant(BorrowedRef<> object) {
  int64_t budget = kMaximumParts;
  return hashWithin(object, 0, budget);
}

std::string constantText(BorrowedRef<> object) {
  if (!object) return "NULL";
  PyTypeObject* type = Py_TYPE(object.get());
  // The repr of any other object may run code of the program, and may differ from run to run.
  if (!isConstant(object)) return "<" + typeName(type) + " object>";
  const ConstantType* constant = find(type);
  if (constant->text) return constant->text(object);
  Ref<> text = Ref<>::steal(PyObject_Repr(object));
  if (text) return shortened(printable(text));
  clearException();  // an int beyond sys.get_int_max_str_digits()
  return "<" + typeName(type) + " too long to print>";
}

void registerConstantType(PyTypeObject* type, const ConstantType& constant) {
  registry()[type] = constant;
}

void registerConstantTuple(PyTypeObject* type) {
  registerConstantType(type, {.same = sameSize, .hash = hashSize, .forEachPart = forEachItem});
}

}  // namespace armature
