// `a is b`.
#include "core/constant.h"
#include "cpython/dict_layout.h"
#include "cpython/set_entries.h"
#include "variables/constants/constant.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/containers/set.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/objects/weak_reference.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// Whether a constant tuple is the traced one: a tuple that came from outside, or that the trace has
// made of what was not known to be data, and that became a constant somewhere.
bool isSameTuple(Translator& translator, const Value& constant, TupleVariable* tuple) {
  PyObject* object = constant.object();
  if (!PyTuple_CheckExact(object)) return false;
  if (tuple->existing() == object) {
    translator.addGuard(tuple->source(), GuardType::ID_MATCH, object);
    return true;
  }
  if (static_cast<size_t>(PyTuple_GET_SIZE(object)) != tuple->items().size()) return false;
  throw GraphBreak(GraphBreakKind::IdentityOfConstants,
                   describe(constant) + " is " + describe(Value(tuple)));
}

// Where it stands in a set, frozenset or dict, -1 for nowhere.
int64_t placeOf(PyObject* container, PyObject* object) {
  int64_t place = 0;
  if (PyDict_Check(container)) {
    for (cpython::DictEntry entry; cpython::nextEntry(container, entry); ++place) {
      if (entry.key == object) return place;
    }
  } else if (PyAnySet_Check(container)) {
    for (cpython::SetEntry entry; cpython::nextEntry(container, entry); ++place) {
      if (entry.element == object) return place;
    }
  }
  return -1;
}

// The paths by which the trace may have come to a constant: as an input, or among the keys and
// elements of one. Those are known by their values only, so this is asked where they matter.
llvm::SmallVector<const Source*, 2> pathsTo(Translator& translator, PyObject* constant) {
  llvm::ArrayRef<const Source*> inputs = translator.constantSources(constant);
  llvm::SmallVector<const Source*, 2> paths(inputs.begin(), inputs.end());
  if (!isKnownByValue(constant)) return paths;
  auto lookInto = [&](PyObject* container, const Source* source) {
    int64_t place = placeOf(container, constant);
    if (place < 0) return;
    paths.push_back(PyDict_Check(container)
                        ? translator.sources->item(SourceKind::DictKey, source, place)
                        : elementSource(translator, source, container, place));
  };
  for (const Value& input : translator.knownInputs()) {
    VariableTracker* tracker = input.tracker();
    if (tracker->source() && tracker->existing()) lookInto(tracker->existing(), tracker->source());
  }
  for (const auto& [object, sources] : translator.constantInputs()) {
    for (const Source* source : sources) lookInto(object, source);
  }
  return paths;
}

// `a is b` of two constants. Those that the program makes are the real objects, so that CPython has
// decided; inputs are known by their values only, and guarded to be one object or two.
bool areSameConstants(Translator& translator, const Value& left, const Source* leftSource,
                      const Value& right, const Source* rightSource) {
  PyObject *a = left.object(), *b = right.object();
  if (isSingleton(a) || isSingleton(b)) return a == b;
  if (leftSource && rightSource) {
    bool isDecided = leftSource == rightSource || (a != b && !sameConstant(a, b));
    if (!isDecided) translator.guardSame(leftSource, rightSource, a == b);
    return a == b;
  }
  // One of them is a literal, or was looked at or passed through a function before. Which of the
  // paths it came by, if there are several, is not known.
  if (a != b && !sameConstant(a, b)) return false;
  for (PyObject* object : {a, b}) {
    llvm::SmallVector<const Source*, 2> paths = pathsTo(translator, object);
    for (const Source* path : paths) {
      if (a == b) translator.addGuard(path, GuardType::ID_MATCH, object);
    }
    if (paths.empty() || a == b) continue;
    throw GraphBreak(GraphBreakKind::IdentityOfConstants,
                     describe(left) + " is " + describe(right));
  }
  return a == b;
}

}  // namespace

bool isSame(Translator& translator, Value left, Value right) {
  // What varied is not None.
  if (right.is(Py_None)) realizeType(translator, left);
  if (left.is(Py_None)) realizeType(translator, right);
  if ((trackerOf<SymNodeVariable>(left) && right.is(Py_None)) ||
      (trackerOf<SymNodeVariable>(right) && left.is(Py_None))) {
    return false;
  }
  if (left.isTracker() && left.sameAs(right)) return true;
  // Generated code has one object for both, of which Python makes two (or one, of small numbers).
  if (areSameComputation(left, right)) {
    return pin(translator, left).sameAs(pin(translator, right));
  }
  const Source* sources[2] = {nullptr, nullptr};
  for (int i = 0; i < 2; ++i) {
    Value& value = i == 0 ? left : right;
    if (value.isTracker()) sources[i] = value.tracker()->source();
    translator.realize(value);
  }
  if (left.isConstant() && right.isConstant()) {
    return areSameConstants(translator, left, sources[0], right, sources[1]);
  }
  if (left.sameAs(right)) return true;
  if (mayBeSameReferences(left, right)) return areSameReferences(translator, left, right);
  // One tuple may have been found on two paths.
  auto* leftTuple = trackerOf<SequenceVariable>(left);
  auto* rightTuple = trackerOf<SequenceVariable>(right);
  if (leftTuple && rightTuple && leftTuple->existing() &&
      leftTuple->existing() == rightTuple->existing()) {
    translator.guardSame(sources[0], sources[1], true);
    return true;
  }
  // Two objects that existed before are told apart by a guard: the next call may pass one twice.
  if (left.isTracker() && right.isTracker() && left.tracker()->source() &&
      right.tracker()->source() && typeOf(left) == typeOf(right)) {
    translator.guardSame(left.tracker()->source(), right.tracker()->source(), false);
  }
  // Whether two numbers computed by an array library are one object is the library's affair.
  auto* leftTensor = trackerOf<TensorVariable>(left);
  if (leftTensor && trackerOf<TensorVariable>(right) &&
      leftTensor->library().isImmutable(typeOf(left)) && typeOf(left) == typeOf(right)) {
    throw GraphBreak(GraphBreakKind::IdentityOfNumbers, describe(left) + " is " + describe(right));
  }
  // An operation may have returned its argument; where both existed before, a guard has decided.
  auto* rightTensor = trackerOf<TensorVariable>(right);
  if (leftTensor && rightTensor && &leftTensor->library() == &rightTensor->library() &&
      !(leftTensor->source() && rightTensor->source())) {
    const Library& library = leftTensor->library();
    const Node* first = library.identityOf(leftTensor->node, translator);
    const Node* second = library.identityOf(rightTensor->node, translator);
    if (first != second) translator.guardSame(first->source, second->source, false);
    return first == second;
  }
  // Constants are the real objects, except tuples, which the trace may hold in two forms.
  if (left.isConstant()) {
    auto* tuple = trackerOf<TupleVariable>(right);
    return tuple && isSameTuple(translator, left, tuple);
  }
  if (right.isConstant()) {
    auto* tuple = trackerOf<TupleVariable>(left);
    return tuple && isSameTuple(translator, right, tuple);
  }
  if (auto* a = trackerOf<UserObjectVariable>(left)) {
    auto* b = trackerOf<UserObjectVariable>(right);
    return b && a->existing() && a->existing() == b->existing();
  }
  return false;
}

}  // namespace armature
