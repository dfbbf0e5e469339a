#include "variables/objects/exception_group.h"

#include <llvm/ADT/DenseSet.h>

#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/exception.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyTypeObject* typeObject(PyObject* type) { return reinterpret_cast<PyTypeObject*>(type); }

PyTypeObject* groupType() { return typeObject(PyExc_BaseExceptionGroup); }

// ExceptionGroup, which CPython makes at its start and keeps to itself.
PyTypeObject* plainGroupType() {
  static PyObject* const type = PyDict_GetItemString(PyEval_GetBuiltins(), "ExceptionGroup");
  return typeObject(type);
}

bool isGroup(Translator& translator, const Value& value) {
  return translator.heap.isSubtype(typeOf(value), groupType());
}

// PySequence_Check
bool isSequence(Translator& translator, const Value& value) {
  Heap& heap = translator.heap;
  PyTypeObject* type = typeOf(value);
  return heap.hasSpecial(type, cpython::SpecialSlot::Item) && !heap.isSubtype(type, &PyDict_Type);
}

// PySequence_Tuple
Value toTuple(Translator& translator, const Value& sequence) {
  if (typeOf(sequence) == &PyTuple_Type) return sequence;
  ValueVector items;
  return collectInto(translator, sequence, items) ? makeTuple(translator, std::move(items))
                                                  : Value();
}

// The exceptions of a group, looked at.
ValueVector exceptionsOf(Translator& translator, const ExceptionVariable& group) {
  ValueVector exceptions;
  iterateInto(translator, fieldValue(translator, group, kExceptions), exceptions);
  for (Value& exception : exceptions) translator.realize(exception);
  return exceptions;
}

// Which class a call of `type` makes; null with the exception pending.
PyTypeObject* madeType(Translator& translator, PyTypeObject* type, bool holdsBaseExceptions) {
  if (type == groupType()) return holdsBaseExceptions ? type : plainGroupType();
  if (!holdsBaseExceptions) return type;
  if (type == plainGroupType()) {
    translator.raise(PyExc_TypeError, "Cannot nest BaseExceptions in an ExceptionGroup");
    return nullptr;
  }
  if (!translator.heap.isSubtype(type, typeObject(PyExc_Exception))) return type;
  translator.raise(PyExc_TypeError, "Cannot nest BaseExceptions in '%.200s'",
                   nameOf(translator, type));
  return nullptr;
}

// _PyExc_CreateExceptionGroup
Value makeGroup(Translator& translator, Value exceptions) {
  CallArguments arguments;
  arguments.values = {Value::string(""), std::move(exceptions)};
  Value type = Value::constant(PyExc_BaseExceptionGroup);
  return constructGroup(translator, type, groupType(), groupType(), arguments);
}

// --- Taking apart.

// What split() and subgroup() take: exceptions of some classes, those for which a function says so,
// or certain ones that are no groups.
struct Matcher {
  ValueVector classes;
  Value predicate;
  llvm::DenseSet<uintptr_t> leaves;  // the words of their values

  // 1, 0, or -1 with the exception pending.
  int matches(Translator& translator, const Value& exception) const {
    if (predicate) {
      Value answer = call(translator, predicate, {exception});
      return answer ? isTrue(translator, answer) : -1;
    }
    if (classes.empty()) return leaves.contains(exception.word());
    bool matches = false;
    for (const Value& type : classes) matches |= isOfClass(translator, exception, type);
    return matches;
  }
};

// get_matcher_type. False with the TypeError pending.
bool readMatcher(Translator& translator, Value value, Matcher& matcher) {
  translator.realize(value);
  if (typeOf(value) == &PyFunction_Type) {
    matcher.predicate = value;
    return true;
  }
  if (typeOf(value) == &PyTuple_Type) {
    iterateInto(translator, value, matcher.classes);
  } else {
    matcher.classes.push_back(value);
  }
  for (Value& type : matcher.classes) {
    translator.realize(type);
    if (isExceptionClass(type)) continue;
    translator.raise(PyExc_TypeError,
                     "expected a function, exception type or tuple of exception types");
    return false;
  }
  return true;
}

// Null for what was not set, as for None.
Value setOrNull(Translator& translator, Value value) {
  translator.realize(value);
  return value.is(Py_None) ? Value() : value;
}

bool copyNotes(Translator& translator, const Value& from, const Value& to) {
  static PyObject* const notesName = staticName("__notes__");
  Value notes = translator.realized(getOptionalAttribute(translator, from, notesName));
  if (!notes) return !translator.exceptionPending();
  if (!isSequence(translator, notes)) return true;
  ValueVector copy;
  if (!collectInto(translator, notes, copy)) return false;
  return setAttribute(translator, to, notesName, translator.make<ListVariable>(std::move(copy)));
}

// exceptiongroup_subset: a group like `original` with some of its exceptions; None without any.
Value subset(Translator& translator, ExceptionVariable& original, ValueVector exceptions) {
  if (exceptions.empty()) return Value::none();
  Value list = translator.make<ListVariable>(std::move(exceptions));
  Value derived =
      translator.realized(callMethod(translator, Value(&original), "derive", {std::move(list)}));
  if (!derived) return derived;
  if (!isGroup(translator, derived)) {
    return translator.raise(PyExc_TypeError,
                            "derive must return an instance of BaseExceptionGroup");
  }
  auto* group = requireKind<ExceptionVariable>(derived);
  if (Value traceback = setOrNull(translator, tracebackOf(translator, original))) {
    setTraceback(translator, *group, std::move(traceback));
  }
  setContext(translator, *group, setOrNull(translator, contextOf(translator, original)));
  setCause(translator, *group, setOrNull(translator, causeOf(translator, original)));
  return copyNotes(translator, Value(&original), derived) ? derived : Value();
}

// exceptiongroup_split_recursive. `rest` is null where nobody asks for it. None: nothing.
bool split(Translator& translator, const Value& exception, const Matcher& matcher, Value& match,
           Value* rest) {
  RecursionGuard guard(translator);
  match = Value::none();
  if (rest) *rest = Value::none();
  int isMatch = matcher.matches(translator, exception);
  if (isMatch < 0) return false;
  if (isMatch) {
    match = exception;
    return true;
  }
  if (!isGroup(translator, exception)) {
    if (rest) *rest = exception;
    return true;
  }
  auto* group = requireKind<ExceptionVariable>(exception);
  ValueVector matching, others;
  for (const Value& part : exceptionsOf(translator, *group)) {
    Value partMatch, partRest;
    if (!split(translator, part, matcher, partMatch, rest ? &partRest : nullptr)) return false;
    if (!partMatch.is(Py_None)) matching.push_back(std::move(partMatch));
    if (rest && !partRest.is(Py_None)) others.push_back(std::move(partRest));
  }
  match = subset(translator, *group, std::move(matching));
  if (match && rest) *rest = subset(translator, *group, std::move(others));
  return match && (!rest || *rest);
}

void collectLeaves(Translator& translator, const Value& exception, Matcher& matcher) {
  RecursionGuard guard(translator);
  if (!isGroup(translator, exception)) {
    matcher.leaves.insert(exception.word());
    return;
  }
  for (const Value& part : exceptionsOf(translator, *requireKind<ExceptionVariable>(exception))) {
    collectLeaves(translator, part, matcher);
  }
}

// is_same_exception_metadata: does `exception` come from taking `original` apart?
bool isPartOf(Translator& translator, const Value& exception, const Value& original) {
  auto* part = requireKind<ExceptionVariable>(exception);
  auto* whole = requireKind<ExceptionVariable>(original);
  using Link = Value (*)(Translator&, const ExceptionVariable&);
  constexpr Link kLinks[] = {tracebackOf, causeOf, contextOf};
  return llvm::all_of(kLinks, [&](Link link) {
    Value one = setOrNull(translator, link(translator, *part));
    Value other = setOrNull(translator, link(translator, *whole));
    return one && other ? isSame(translator, one, other) : !one && !other;
  });
}

// --- Methods.

// The one argument of a method of groups; null with the TypeError pending.
const Value* onlyArgument(Translator& translator, const char* method, const char* counted,
                          const CallArguments& arguments) {
  if (arguments.keywordCount()) {
    translator.raise(PyExc_TypeError, "BaseExceptionGroup.%s() takes no keyword arguments", method);
    return nullptr;
  }
  size_t count = arguments.values.size();
  if (count == 1) return &arguments.values[0];
  translator.raise(PyExc_TypeError, counted, count);
  return nullptr;
}

Value groupSplit(Translator& translator, const Value& self, CallArguments& arguments) {
  const Value* wanted =
      onlyArgument(translator, "split", "split expected 1 argument, got %zu", arguments);
  Matcher matcher;
  if (!wanted || !readMatcher(translator, *wanted, matcher)) return Value();
  Value match, rest;
  if (!split(translator, self, matcher, match, &rest)) return Value();
  return makeTuple(translator, {std::move(match), std::move(rest)});
}

Value groupSubgroup(Translator& translator, const Value& self, CallArguments& arguments) {
  const Value* wanted =
      onlyArgument(translator, "subgroup", "subgroup expected 1 argument, got %zu", arguments);
  Matcher matcher;
  if (!wanted || !readMatcher(translator, *wanted, matcher)) return Value();
  Value match;
  return split(translator, self, matcher, match, nullptr) ? match : Value();
}

Value groupDerive(Translator& translator, const Value& self, CallArguments& arguments) {
  const Value* exceptions = onlyArgument(
      translator, "derive", "function takes exactly 1 argument (%zu given)", arguments);
  if (!exceptions) return Value();
  CallArguments made;
  made.values = {fieldValue(translator, *requireKind<ExceptionVariable>(self), kMessage),
                 *exceptions};
  Value type = Value::constant(PyExc_BaseExceptionGroup);
  return constructGroup(translator, type, groupType(), groupType(), made);
}

void registerGroupHandlers() {
  registerMethodHandler(groupType(), "split", groupSplit);
  registerMethodHandler(groupType(), "subgroup", groupSubgroup);
  registerMethodHandler(groupType(), "derive", groupDerive);
}
ARMATURE_REGISTER_HANDLERS(registerGroupHandlers);

}  // namespace

bool isGroupType(PyTypeObject* type) { return PyType_IsSubtype(type, groupType()); }

Value constructGroup(Translator& translator, const Value& classVariable, PyTypeObject* type,
                     PyTypeObject* initOwner, const CallArguments& arguments) {
  size_t count = arguments.positionalCount();
  if (count != 2) {
    return translator.raise(PyExc_TypeError,
                            "BaseExceptionGroup.__new__() takes exactly 2 arguments (%zu given)",
                            count);
  }
  Value message = translator.realized(arguments.values[0]);
  if (!translator.heap.isSubtype(typeOf(message), &PyUnicode_Type)) {
    return translator.raise(PyExc_TypeError,
                            "BaseExceptionGroup.__new__() argument 1 must be str, not %.50s",
                            message.is(Py_None) ? "None" : nameOf(translator, message));
  }
  Value sequence = translator.realized(arguments.values[1]);
  if (!isSequence(translator, sequence)) {
    return translator.raise(PyExc_TypeError, "second argument (exceptions) must be a sequence");
  }
  Value exceptions = toTuple(translator, sequence);
  if (!exceptions) return exceptions;
  ValueVector items;
  iterateInto(translator, exceptions, items);
  if (items.empty()) {
    return translator.raise(PyExc_ValueError,
                            "second argument (exceptions) must be a non-empty sequence");
  }
  bool holdsBaseExceptions = false;
  auto* base = typeObject(PyExc_BaseException);
  for (size_t i = 0; i < items.size(); ++i) {
    translator.realize(items[i]);
    if (!translator.heap.isSubtype(typeOf(items[i]), base)) {
      return translator.raise(PyExc_ValueError,
                              "Item %zu of second argument (exceptions) is not an exception", i);
    }
    int isOrdinary = isInstance(translator, items[i], Value::constant(PyExc_Exception));
    if (isOrdinary < 0) return Value();
    holdsBaseExceptions |= !isOrdinary;
  }
  PyTypeObject* made = madeType(translator, type, holdsBaseExceptions);
  if (!made) return Value();
  if (initOwner && arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "%.200s() takes no keyword arguments",
                            nameOf(translator, made));
  }
  llvm::ArrayRef<Value> positional = arguments.positional();
  auto* group = translator.make<ExceptionVariable>(
      made, made == type ? classVariable : translator.knownClass(made),
      ValueVector(positional.begin(), positional.end()));
  group->members[kMessage] = std::move(message);
  group->members[kExceptions] = std::move(exceptions);
  return group;
}

Value groupStr(Translator& translator, const ExceptionVariable& group) {
  Value text = toStr(translator, fieldValue(translator, group, kMessage));
  if (!text) return text;
  int64_t count = length(translator, fieldValue(translator, group, kExceptions));
  return translator.fromPython(PyUnicode_FromFormat("%U (%zd sub-exception%s)", text.object(),
                                                    static_cast<Py_ssize_t>(count),
                                                    count > 1 ? "s" : ""));
}

bool matchGroup(Translator& translator, const Value& exception, Value wanted, Value& match,
                Value& rest) {
  translator.realize(wanted);
  ValueVector classes;
  if (!readHandledClasses(translator, wanted, classes)) return false;
  for (const Value& type : classes) {
    int isGroupClass = isSubclass(translator, type, Value::constant(PyExc_BaseExceptionGroup));
    if (isGroupClass < 0) return false;
    if (!isGroupClass) continue;
    translator.raise(PyExc_TypeError,
                     "catching ExceptionGroup with except* is not allowed. Use except instead.");
    return false;
  }
  match = rest = Value::none();
  if (exception.is(Py_None)) return true;
  bool isWhole = llvm::any_of(
      classes, [&](const Value& type) { return isOfClass(translator, exception, type); });
  if (isWhole) {
    match = isGroup(translator, exception)
                ? exception
                : makeGroup(translator, makeTuple(translator, {exception}));
    return static_cast<bool>(match);
  }
  if (!isGroup(translator, exception)) return true;
  Value pair = translator.realized(callMethod(translator, exception, "split", {wanted}));
  if (!pair) return false;
  ValueVector parts;
  if (typeOf(pair) == &PyTuple_Type) iterateInto(translator, pair, parts);
  // CPython does not look.
  if (parts.size() < 2) throw GraphBreak(GraphBreakKind::UnsupportedCResult, "split()");
  match = translator.realized(parts[0]);
  rest = translator.realized(parts[1]);
  return true;
}

Value prepareReraise(Translator& translator, const Value& original, const ValueVector& raised) {
  if (raised.empty()) return Value::none();
  // The one clause for a naked exception.
  if (!isGroup(translator, original)) return raised[0];
  ValueVector anew;
  Matcher again;
  for (Value exception : raised) {
    translator.realize(exception);
    if (exception.is(Py_None)) continue;
    if (isPartOf(translator, exception, original)) {
      collectLeaves(translator, exception, again);
    } else {
      anew.push_back(std::move(exception));
    }
  }
  Value left;
  if (!split(translator, original, again, left, nullptr)) return Value();
  if (anew.empty()) return left;
  if (!left.is(Py_None)) anew.push_back(std::move(left));
  if (anew.size() == 1) return anew[0];
  return makeGroup(translator, translator.make<ListVariable>(std::move(anew)));
}

}  // namespace armature
