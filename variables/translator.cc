#include "variables/translator.h"

#include <cmath>
#include <cstdarg>

#include "core/checked.h"
#include "core/constant.h"
#include "core/describe.h"
#include "cpython/set_entries.h"
#include "variables/constants/constant.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/dict.h"
#include "variables/data_errors.h"
#include "variables/lazy.h"
#include "variables/objects/address.h"
#include "variables/objects/exception.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"
#include "variables/variable_builder.h"

namespace armature {

namespace {

// Undoes what was appended to the graph since it had `size` nodes.
constexpr Trail::Operation kGraphGrowth = {
    [](void* graph, uintptr_t size) { static_cast<Graph*>(graph)->truncate(size); }, nullptr};

// Likewise for the guards.
constexpr Trail::Operation kGuardGrowth = {
    [](void* guards, uintptr_t size) { static_cast<std::vector<Guard>*>(guards)->resize(size); },
    nullptr};

}  // namespace

const Value* CallArguments::keyword(const char* name) const {
  for (size_t i = 0; i < keywordCount(); ++i) {
    if (PyUnicode_CompareWithASCIIString(keywordName(i), name) == 0) return &keywordValue(i);
  }
  return nullptr;
}

const Value* CallArguments::keyword(PyObject* name) const {
  for (size_t i = 0; i < keywordCount(); ++i) {
    if (PyUnicode_Compare(keywordName(i), name) == 0) return &keywordValue(i);
  }
  return nullptr;
}

Translator::Translator()
    : sources(std::make_shared<SourceTable>()),
      heap(trail, *sources, *this),
      madeClasses_(std::make_unique<MadeClasses>(*this)) {
  graph = std::make_shared<Graph>(sources);
}

Translator::~Translator() = default;

// --- Exceptions.

Value Translator::raiseValue(Value exception) {
  if (auto* raised = trackerOf<ExceptionVariable>(exception)) {
    effects.changes(raised);  // its context and its traceback
    chainContext(*this, *raised, handledInTrace());
    raised->tracebackWhenRaised.reset();
  }
  exception_ = std::move(exception);
  return Value();
}

void Translator::dropException() {
  Value dropped = takeException();
  auto* raised = trackerOf<ExceptionVariable>(dropped);
  if (!raised || !raised->tracebackWhenRaised) return;
  setTraceback(*this, *raised, std::move(*raised->tracebackWhenRaised));
  raised->tracebackWhenRaised.reset();
}

Value Translator::raise(PyObject* type, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  PyObject* text = PyUnicode_FromFormatV(format, arguments);
  va_end(arguments);
  Value message = Value::steal(checked(text).release());
  return raiseWithArguments(type, {std::move(message)});
}

Value Translator::raiseWithArguments(PyObject* type, std::vector<Value> arguments) {
  ValueVector values(std::make_move_iterator(arguments.begin()),
                     std::make_move_iterator(arguments.end()));
  return raiseValue(make<ExceptionVariable>(reinterpret_cast<PyTypeObject*>(type),
                                            Value::constant(type), std::move(values)));
}

Value Translator::raiseFromPython() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref<> ownedType = Ref<>::steal(type), real = Ref<>::steal(value);
  Py_XDECREF(traceback);
  // What comes from outside while an operation is evaluated is not its doing.
  if (!PyErr_GivenExceptionMatches(type, PyExc_Exception)) {
    PyErr_Restore(ownedType.release(), real.release(), nullptr);
    throw PendingPythonException();
  }
  // Whether memory and stack suffice is for the call to say that does the operation.
  if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError) ||
      PyErr_GivenExceptionMatches(type, PyExc_RecursionError)) {
    throw GraphBreak(GraphBreakKind::OutOfMemory);
  }
  return raiseValue(tracedException(*this, real.get()));
}

// --- Inputs.

Value Translator::wrap(const Source* source, BorrowedRef<> object) {
  if (Value value = madeClasses_->standsFor(object)) return value;
  // Every call would walk the whole path again; a linked list has as many steps as nodes.
  constexpr int kDeepestPath = 1000;
  if (source && source->depth() > kDeepestPath) {
    throw GraphBreak(GraphBreakKind::DeepPath, describe(object));
  }
  return make<LazyVariable>(source, object);
}

Value Translator::wrapOnce(const Source* source, BorrowedRef<> object) {
  if (!source) return wrap(source, object);
  auto [place, isFirst] = wrapped_.try_emplace(source);
  if (isFirst) {
    recordUndo(trail, [this, source] { wrapped_.erase(source); });
    place->second = wrap(source, object);
  }
  return place->second;
}

bool Translator::countComparison(const Source* source) {
  constexpr int kMostComparisons = 16;
  return ++comparisons_[source] <= kMostComparisons;
}

void Translator::realizeLazy(Value& value) {
  faultSite();
  auto* lazy = static_cast<LazyVariable*>(value.tracker());
  if (!lazy->realized) {
    requireConstancy(*this, value);
    Value built = VariableBuilder(*this, lazy->source(), lazy->existing()).build();
    assignTrailed(trail, lazy->realized, std::move(built));
  }
  value = Value(lazy->realized);
}

void Translator::specializeNumber(Value& value) {
  auto* symbolic = trackerOf<SymNodeVariable>(value);
  value = symbolic ? specialize(*this, symbolic) : pinAddress(*this, value);
}

void Translator::rememberConstant(PyObject* object, const Source* source) {
  rememberExisting(object);
  llvm::SmallVector<const Source*, 1>& sources = constantSources_[object];
  if (llvm::is_contained(sources, source)) return;
  sources.push_back(source);
  recordUndo(trail, [this, object] { constantSources_[object].pop_back(); });
}

void Translator::rememberExisting(PyObject* constant) {
  // Constants are nested to a small depth only.
  if (PyTuple_Check(constant)) {
    if (PyTuple_GET_SIZE(constant) == 0 || !existingConstants_.insert(constant).second) return;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant); ++i) {
      rememberExisting(PyTuple_GET_ITEM(constant, i));
    }
  } else if (PySlice_Check(constant) || PyRange_Check(constant) || hasMaker(Py_TYPE(constant))) {
    existingConstants_.insert(constant);
  } else if (PyFrozenSet_CheckExact(constant)) {
    if (!existingConstants_.insert(constant).second) return;
    for (cpython::SetEntry entry; cpython::nextEntry(constant, entry);) {
      rememberExisting(entry.element);
    }
  }
}

void Translator::rememberNan(PyObject* number) {
  if (std::isnan(PyFloat_AS_DOUBLE(number))) madeNans_[number] = Ref<>::create(number);
}

bool Translator::isMadeHere(PyObject* constant) const {
  if (PyFloat_CheckExact(constant)) return madeNans_.count(constant) > 0;
  bool mayBeMade = PySlice_Check(constant) || PyRange_Check(constant) ||
                   hasMaker(Py_TYPE(constant)) ||
                   (PyTuple_CheckExact(constant) && PyTuple_GET_SIZE(constant) > 0) ||
                   (PyFrozenSet_CheckExact(constant) && PySet_GET_SIZE(constant) > 0);
  return mayBeMade && !existingConstants_.contains(constant);
}

void Translator::remember(PyObject* object, Value variable) {
  if (!identities_.insert({object, std::move(variable)}).second) return;
  recordUndo(trail, [this] { identities_.pop_back(); });
}

std::vector<Value> Translator::knownInputs() const {
  std::vector<Value> inputs;
  for (const auto& [object, variable] : identities_) {
    if (variable.isTracker()) inputs.push_back(variable);
  }
  return inputs;
}

void Translator::rememberWalked(const Source* source, BorrowedRef<> container) {
  walked_.emplace_back(container, source);
  recordUndo(trail, [this] { walked_.pop_back(); });
}

void Translator::rememberKey(const Source* source, BorrowedRef<> object) {
  auto [known, isNew] = keysByIdentity_.insert({object.get(), source});
  // One tuple may have been found on two paths.
  if (!isNew && known->second != source) guardSame(known->second, source, true);
  if (!isNew) return;
  recordUndo(trail, [this] { keysByIdentity_.pop_back(); });
}

Found Translator::ownAttributeOfMade(PyTypeObject* type, PyObject* name) {
  return madeClasses_->ownAttribute(type, name);
}

std::optional<Found> Translator::writtenAttribute(PyTypeObject* type, PyObject* name) {
  return madeClasses_->writtenAttribute(type, name);
}

DictVariable* Translator::moduleDict(BorrowedRef<> dict) {
  if (Value value = known(dict)) {
    if (auto* variable = partOf<DictVariable>(value)) return variable;
    throw GraphBreak(GraphBreakKind::UnsupportedGlobals, describe(value));
  }
  auto* variable = make<DictVariable>(sources->globalsDict(dict, dict == rootGlobals_), dict);
  remember(dict, variable);
  return variable;
}

Value Translator::dictValue(DictVariable* dict) {
  if (!dict->existing()) return dict;
  // Only here is it seen whether the program gave the object a dict of another class.
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(dict->existing()));
  addGuard(dict->source(), GuardType::TYPE_MATCH, type);
  Value value = known(dict->existing());
  return value ? value : Value(dict);
}

void Translator::guardSame(const Source* source, const Source* other, bool same) {
  if (!source || !other || source == other) return;
  Guard guard;
  guard.source = source;
  guard.detail = other;
  guard.type = GuardType::DUPLICATE_INPUT;
  guard.number = same;
  addGuard(std::move(guard));
}

Value Translator::knownClass(PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return Value::constant(object);
  if (MadeClass* made = madeClasses_->find(type)) return made->variable;
  if (Value value = known(object)) return value;
  heap.metaclassOf(type);
  Value variable = make<UserClassVariable>(heap.classSource(type), object);
  remember(object, variable);
  return variable;
}

void Translator::recordGraphGrowth() {
  trail.recordGrowth(kGraphGrowth, graph.get(), graph->size(), graphRecordedIn_);
}

Node* Translator::addInput(const Source* source, BorrowedRef<> object) {
  recordGraphGrowth();
  usedLibraries_ = true;
  return graph->addPlaceholder(source, object);
}

void Translator::checkItemCount(const Source* container, Py_ssize_t count) {
  if (static_cast<size_t>(count) <= kMostGuards) return;
  throw GraphBreak(GraphBreakKind::HugeIterable, container ? container->name() : "");
}

void Translator::addGuard(Guard guard) {
  faultSite();
  // What a computation gives is another object each time.
  bool isIdentity = guard.type == GuardType::ID_MATCH || guard.type == GuardType::DUPLICATE_INPUT;
  for (const Source* source : {guard.source, guard.other()}) {
    if (isIdentity && source && source->kind() == SourceKind::Computed) {
      throw GraphBreak(GraphBreakKind::IdentityOfConstants, source->name());
    }
  }
  if (guards_.size() >= mostGuards_) {
    throw GraphBreak(GraphBreakKind::HugeIterable, guard.source ? guard.source->name() : "");
  }
  trail.recordGrowth(kGuardGrowth, &guards_, guards_.size(), guardsRecordedIn_);
  guards_.push_back(std::move(guard));
}

void Translator::addGuard(const Source* source, GuardType type, BorrowedRef<> operand,
                          int64_t number) {
  if (!source) return;
  Guard guard;
  guard.source = source;
  guard.type = type;
  guard.operand = Ref<>::create(operand);
  guard.number = number;
  addGuard(std::move(guard));
}

void Translator::observe(Node* placeholder, uint32_t observed) {
  Guard guard;
  guard.source = placeholder->source;
  guard.type = GuardType::TENSOR_MATCH;
  guard.number = observed;
  guard.detail = placeholder->metadata;
  if (placeholder->example) {
    guard.operand = Ref<>::create(reinterpret_cast<PyObject*>(Py_TYPE(placeholder->example.get())));
  }
  // The type of a scalar, which is guarded, says all.
  if (!placeholder->metadata || placeholder->metadata->isScalar) return;
  // The same observation again adds nothing; the last guards are where it would be.
  for (size_t i = guards_.size(); i > 0 && i + 16 > guards_.size(); --i) {
    const Guard& previous = guards_[i - 1];
    if (previous.source == guard.source && previous.type == guard.type &&
        (previous.number & guard.number) == guard.number) {
      return;
    }
  }
  addGuard(std::move(guard));
}

}  // namespace armature
