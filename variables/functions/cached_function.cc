// Calls of what functools.lru_cache has made: the trace goes through the function and leaves the
// cache alone, if it existed before captured code ran. An object that can be changed is the one
// that the cache remembers, which is asked again in each call; what it does not remember yet, the
// trace gives it. What changes objects that the function did not make, Python calls.
#include "variables/functions/cached_function.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include "bytecode/private_function.h"
#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/function_layout.h"
#include "cpython/imported_modules.h"
#include "cpython/lru_cache.h"
#include "cpython/made_descriptors.h"
#include "guards/key.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"

namespace armature {

namespace {

[[noreturn]] void refuse(const Value& wrapper, const char* reason) {
  throw GraphBreak(GraphBreakKind::CachedFunction, describe(wrapper) + ": " + reason);
}

// Its key is made of the arguments: each is asked for its hash, by the program's own method if its
// class has one. One that cannot be hashed is a TypeError of Python's. False with an exception
// pending.
bool hashArgument(Translator& translator, const Value& wrapper, Value argument) {
  RecursionGuard guard(translator);
  translator.realize(argument);
  if (auto* tuple = trackerOf<TupleVariable>(argument)) {
    return llvm::all_of(tuple->items(),
                        [&](const Value& item) { return hashArgument(translator, wrapper, item); });
  }
  PyObject* data = argument.objectOrNull();
  bool isHashable = argument.isTracker() ? slotsOf(argument).tp_hash != nullptr
                                         : !data || !isConstant(data) || PyObject_Hash(data) != -1;
  if (!isHashable) {
    clearException();
    refuse(wrapper, "an argument cannot be hashed");
  }
  static PyObject* const name = staticName("__hash__");
  bool isAsked =
      trackerOf<UserObjectVariable>(argument) && !leavesToPart(translator, argument, name);
  return !isAsked || objectHash(translator, argument, false);
}

bool canBeChanged(Translator& translator, const Value& result) {
  RecursionGuard guard(translator);
  if (!result.isTracker() || result.tracker()->existing()) return false;
  if (trackerOf<SymNodeVariable>(result)) return false;
  auto* tuple = trackerOf<TupleVariable>(result);
  if (!tuple) return true;
  for (const Value& item : tuple->items()) {
    if (canBeChanged(translator, item)) return true;
  }
  return false;
}

bool isOfConstants(const Value& result) {
  auto* tuple = trackerOf<TupleVariable>(result);
  return tuple ? llvm::all_of(tuple->items(), isOfConstants) : result.isConstant();
}

// Nothing is said of the libraries' own functions.
void warn(Translator& translator, PyObject* function) {
  for (const Library* library : registeredLibraries()) {
    if (library->classify(function).kind != CallKind::NotOurs) return;
  }
  PyCodeObject* code = cpython::codeOf(function);
  translator.warnings.insert(
      printable(cpython::read(function, cpython::FunctionField::QualifiedName)) + " (" +
      printable(code->co_filename) + ":" + std::to_string(code->co_firstlineno) +
      ") is called by a function that armature captures. Its functools.lru_cache is ignored: the "
      "captured code does what the function does, in each call anew.");
}

// compile() of a cached function keeps its cache: what stands for it asks the function with it.
bool isCallOfStandIn(Translator& translator) {
  static PyObject* const name = staticName("__name__");
  Value module = translator.realized(translator.runningGlobals()->get(translator, name));
  PyObject* text = module.objectOrNull();
  return text && PyUnicode_Check(text) &&
         PyUnicode_CompareWithASCIIString(text, "armature._caller") == 0;
}

// What is typing's own: its variables, and the classes among them. What a program puts
// there later is none of it.
struct Typing {
  PyObject* variables = nullptr;
  llvm::DenseSet<PyTypeObject*> classes;
};

const Typing& typing() {
  static const Typing* const own = [] {
    auto* made = new Typing;
    Ref<> module = checked(cpython::importModule("typing"));
    made->variables = PyModule_GetDict(module.release());
    PyObject *name, *value;
    for (Py_ssize_t i = 0; PyDict_Next(made->variables, &i, &name, &value);) {
      if (PyType_Check(value)) made->classes.insert(reinterpret_cast<PyTypeObject*>(value));
    }
    return made;
  }();
  return *own;
}

bool isTypingsFunction(PyObject* function) {
  return cpython::read(function, cpython::FunctionField::Globals) == typing().variables;
}

// Does typing run code of the program where it looks into the object and hashes it?
bool isPlainParameter(Translator& translator, PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  bool isPlain =
      type->tp_getattro == PyType_Type.tp_getattro || type->tp_getattro == PyObject_GenericGetAttr;
  static PyObject* const name = staticName("__getattr__");
  bool isTypings = typing().classes.contains(type);
  return hashWithoutCode(object) && (isTypings || (isPlain && !translator.heap.lookup(type, name)));
}

// What existed before the trace, and tuples of such, guarded to be the very objects. Null for all
// else.
Ref<> parameterOf(Translator& translator, const Value& given) {
  RecursionGuard guard(translator);
  Value value = translator.realized(given);
  if (auto* tuple = trackerOf<TupleVariable>(value); tuple && tuple->type() == &PyTuple_Type) {
    Ref<> result = checked(PyTuple_New(static_cast<Py_ssize_t>(tuple->items().size())));
    for (size_t i = 0; i < tuple->items().size(); ++i) {
      Ref<> item = parameterOf(translator, tuple->items()[i]);
      if (!item) return nullptr;
      PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), item.release());
    }
    return result;
  }
  PyObject* object = value.isTracker() ? value.tracker()->existing() : value.object();
  if (!object || !isPlainParameter(translator, object)) return nullptr;
  if (value.isTracker() && value.tracker()->source()) {
    translator.addGuard(value.tracker()->source(), GuardType::ID_MATCH, object);
  }
  return Ref<>::create(object);
}

// typing.List[int] and its like: typing remembers what it has made of the same types, so that the
// program gets one and the same object anyway. Null, with nothing pending, for other parameters.
Value callTyping(Translator& translator, PyObject* wrapper, const CallArguments& arguments) {
  if (arguments.keywordCount()) return Value();
  Ref<> parameters = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.values.size())));
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    Ref<> parameter = parameterOf(translator, arguments.values[i]);
    if (!parameter) return Value();
    PyTuple_SET_ITEM(parameters.get(), static_cast<Py_ssize_t>(i), parameter.release());
  }
  Ref<> result = Ref<>::steal(PyObject_CallObject(wrapper, parameters.get()));
  if (!result) return translator.raiseFromPython();
  return translator.wrap(translator.sources->constant(result), result);
}

// Weak references to the caches that captured code has made.
PyObject* madeCaches() {
  static PyObject* const caches = checked(PySet_New(nullptr)).release();
  return caches;
}

// Called by a reference when its cache is gone. The program can find and call it, too.
PyObject* forgetMadeCache(PyObject*, PyObject* reference) {
  bool isGone = PyWeakref_CheckRef(reference) && PyWeakref_GetObject(reference) == Py_None;
  if (isGone && PySet_Discard(madeCaches(), reference) < 0) return nullptr;
  return Py_NewRef(Py_None);
}

PyMethodDef forgetMethod = {"forget_made_cache", forgetMadeCache, METH_O, nullptr};

bool isMadeCache(BorrowedRef<> wrapper) {
  if (Py_TYPE(wrapper.get()) != cpython::lruCacheType()) return false;
  Ref<> reference = checked(PyWeakref_NewRef(wrapper.get(), nullptr));
  return PySet_Contains(madeCaches(), reference.get()) == 1;
}

// --- What the cache remembers.

// A call of a cache, as a descriptor of its type reads it: arguments that are objects and no data
// are held weakly, as everything is that the program may let go of.
struct RememberedCall {
  std::vector<std::pair<Ref<>, bool>> values;  // constants, or (true) weak references
  // Objects that the trace has made, by their places, where `values` has null: nothing is
  // remembered for a call of them yet.
  std::vector<std::pair<size_t, VariableTracker*>> made;
  Ref<> names;  // tuple of str, or null

  // Null, with no exception set, where nothing is remembered any more.
  Ref<> ask(PyObject* wrapper) const {
    if (!made.empty()) return nullptr;
    size_t keywordCount = names ? static_cast<size_t>(PyTuple_GET_SIZE(names.get())) : 0;
    size_t count = values.size() - keywordCount;
    Ref<> arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    Ref<> keywords = keywordCount ? checked(PyDict_New()) : Ref<>();
    for (size_t i = 0; i < values.size(); ++i) {
      PyObject* value = values[i].first.get();
      if (values[i].second) value = PyWeakref_GetObject(value);
      if (values[i].second && value == Py_None) return nullptr;
      if (i < count) {
        PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), Py_NewRef(value));
      } else {
        PyObject* name = PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(i - count));
        checked(PyDict_SetItem(keywords.get(), name, value));
      }
    }
    return cpython::remembered(wrapper, arguments, keywords.get());
  }
};

PyObject* readRemembered(const RememberedCall& call, PyObject* wrapper) {
  Ref<> found = call.ask(wrapper);
  if (!found) PyErr_SetNone(PyExc_LookupError);
  return found.release();
}

PyObject* isRemembered(const RememberedCall& call, PyObject* wrapper) {
  Ref<> found = call.ask(wrapper);
  return Py_NewRef(found ? Py_True : Py_False);
}

const Source* fieldOf(Translator& translator, const Source* wrapper, const RememberedCall& call,
                      PyObject* (*read)(const RememberedCall&, PyObject*)) {
  Ref<> field = checked(
      cpython::makeGetter(cpython::lruCacheType(), "remembered", [call, read](PyObject* object) {
        return read(call, object);
      }).release());
  return translator.sources->item(SourceKind::Descriptor, wrapper, field);
}

// The arguments as the cache compares them. False where it would run code of the program's, or
// where nothing can be held weakly.
bool readCall(Translator& translator, const CallArguments& arguments, RememberedCall& call) {
  for (const Value& argument : arguments.values) {
    Value value = translator.realized(argument);
    if (Ref<> data = keyData(translator, value); data && isConstant(data)) {
      call.values.emplace_back(std::move(data), false);
      continue;
    }
    PyObject* object = value.isTracker() ? value.tracker()->existing() : nullptr;
    auto* made = object ? nullptr : trackerOf<UserObjectVariable>(value);
    if (!made && (!object || !value.tracker()->source())) return false;
    PyTypeObject* type = typeOf(value);
    static PyObject* const hash = staticName("__hash__");
    static PyObject* const equal = staticName("__eq__");
    bool isByIdentity = PyType_SUPPORTS_WEAKREFS(type) &&
                        translator.heap.inherits(type, &PyBaseObject_Type, hash) &&
                        translator.heap.inherits(type, &PyBaseObject_Type, equal);
    if (!isByIdentity) return false;
    if (made) {
      call.made.emplace_back(call.values.size(), made);
      call.values.emplace_back(Ref<>(), false);
      continue;
    }
    translator.addGuard(value.tracker()->source(), GuardType::ID_MATCH, object);
    call.values.emplace_back(checked(PyWeakref_NewRef(object, nullptr)), true);
  }
  if (arguments.keywordCount()) call.names = Ref<>::create(arguments.keywordNames);
  return true;
}

// Can the program change it, so that it matters which object it is?
bool isChangeable(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      PyObject* item = PyTuple_GET_ITEM(object, i);
      if (item != object && !PyTuple_CheckExact(item) && isChangeable(item)) return true;
    }
    return false;
  }
  return !isConstant(object);
}

// An object that the program can change and that the cache has an answer for: it is the one that
// each call gets, and the cache is asked for it in the next. Null where the function is to be
// called.
Value rememberedResult(Translator& translator, const Source* wrapper, const RememberedCall& call,
                       PyObject* existing) {
  Ref<> found = call.ask(existing);
  if (!found || !isChangeable(found.get())) return Value();
  return translator.wrap(fieldOf(translator, wrapper, call, readRemembered), found);
}

// --- What the trace gives the cache to remember.

// remember(wrapper, (arguments, names, result))
PyObject* remember(PyObject*, PyObject* const* given, Py_ssize_t) {
  PyObject* arguments = PyTuple_GET_ITEM(given[1], 0);
  PyObject* names = PyTuple_GET_ITEM(given[1], 1);
  Py_ssize_t keywordCount = names == Py_None ? 0 : PyTuple_GET_SIZE(names);
  Py_ssize_t count = PyTuple_GET_SIZE(arguments) - keywordCount;
  Ref<> positional = Ref<>::steal(PyTuple_GetSlice(arguments, 0, count));
  Ref<> keywords = Ref<>::steal(keywordCount ? PyDict_New() : nullptr);
  if (!positional || (keywordCount && !keywords)) return nullptr;
  for (Py_ssize_t i = 0; i < keywordCount; ++i) {
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, i),
                       PyTuple_GET_ITEM(arguments, count + i)) < 0) {
      return nullptr;
    }
  }
  bool ok = cpython::remember(given[0], positional, keywords.get(), PyTuple_GET_ITEM(given[1], 2));
  return ok ? Py_NewRef(Py_None) : nullptr;
}

PyObject* rememberFunction() { return privateFunction<remember>("remember"); }

// Are the calls one to the cache? Nothing where that depends on whether it minds types.
std::optional<bool> isSameCall(const RememberedCall& a, const RememberedCall& b) {
  if (a.values.size() != b.values.size() || !a.names != !b.names || a.made != b.made) return false;
  if (a.names && checked(PyObject_RichCompareBool(a.names.get(), b.names.get(), Py_EQ)) == 0) {
    return false;
  }
  bool hasOtherType = false;
  for (size_t i = 0; i < a.values.size(); ++i) {
    PyObject* left = a.values[i].first.get();
    PyObject* right = b.values[i].first.get();
    if (a.values[i].second != b.values[i].second) return false;
    if (!left && !right) continue;
    if (a.values[i].second) {
      if (PyWeakref_GetObject(left) != PyWeakref_GetObject(right)) return false;
      continue;
    }
    if (checked(PyObject_RichCompareBool(left, right, Py_EQ)) == 0) return false;
    hasOtherType = hasOtherType || Py_TYPE(left) != Py_TYPE(right);
  }
  return hasOtherType ? std::nullopt : std::optional<bool>(true);
}

// So many results at most does a trace give to one cache.
constexpr Py_ssize_t kMostGiven = 64;

// What the trace itself has given the cache for the call; null if nothing.
Value givenResult(Translator& translator, const Value& self, const RememberedCall& call) {
  for (int32_t i = 0; i < translator.effects.size(); ++i) {
    const Effect& effect = translator.effects[i];
    bool isGiven = effect.kind == EffectKind::Call && effect.target == self.tracker() &&
                   effect.key.is(rememberFunction());
    if (!isGiven) continue;
    ValueVector parts, values;
    iterateInto(translator, effect.value, parts);
    iterateInto(translator, parts[0], values);
    CallArguments arguments;
    arguments.values.assign(values.begin(), values.end());
    if (!parts[1].is(Py_None)) arguments.keywordNames = parts[1].object();
    RememberedCall other;
    if (!readCall(translator, arguments, other)) refuse(self, "what it returns can be changed");
    std::optional<bool> isSame = isSameCall(call, other);
    if (!isSame) refuse(self, "what it returns can be changed");
    if (*isSame) return parts[2];
  }
  return Value();
}

// Python calls it now and remembers; then there is an answer.
Guard missed(Translator& translator, VariableTracker* wrapper, const RememberedCall& call) {
  Guard guard;
  guard.source = fieldOf(translator, wrapper->source(), call, isRemembered);
  guard.type = GuardType::ID_MATCH;
  guard.operand = Ref<>::create(Py_False);
  return guard;
}

// The cache is to remember what the function has returned. False where it might forget something
// in this very trace.
bool giveResult(Translator& translator, const Value& self, const CallArguments& arguments,
                const RememberedCall& call, const Value& result) {
  VariableTracker* wrapper = self.tracker();
  if (cpython::roomIn(wrapper->existing()) < kMostGiven ||
      translator.effects.chainLength(translator.effects.last(wrapper)) >= kMostGiven ||
      !trackerOf<UserObjectVariable>(self) || !translator.effects.concerns(wrapper)) {
    return false;
  }
  if (call.made.empty()) translator.addGuard(missed(translator, wrapper, call));
  ValueVector values(arguments.values.begin(), arguments.values.end());
  Value names = arguments.keywordCount() ? Value::constant(arguments.keywordNames) : Value::none();
  Value all = makeTuple(translator, std::move(values));
  translator.effects.append({EffectKind::Call, wrapper, Value::constant(rememberFunction()),
                             makeTuple(translator, {all, names, result})});
  return true;
}

Value callCached(Translator& translator, const Value& self, CallArguments& arguments) {
  VariableTracker* wrapper = self.isTracker() ? self.tracker() : nullptr;
  PyObject* existing = wrapper ? wrapper->existing() : nullptr;
  PyObject* real = existing ? cpython::cachedFunction(existing) : nullptr;
  if (!real || !PyFunction_Check(real)) refuse(self, "it calls no function of Python's");
  if (isMadeCache(existing)) refuse(self, "it is a cache of the program's captured code itself");
  if (isCallOfStandIn(translator)) refuse(self, "the cached function itself was compiled");
  if (wrapper->source()) translator.addGuard(wrapper->source(), GuardType::ID_MATCH, existing);
  for (const Value& argument : arguments.values) {
    if (!hashArgument(translator, self, argument)) return Value();
  }
  if (isTypingsFunction(real)) {
    Value made = callTyping(translator, existing, arguments);
    if (made || translator.exceptionPending()) return made;
    // Unions are equal in any order, and what typing remembers of the one is not made of the other.
    for (const Value& argument : arguments.values) {
      if (isKeyByMethods(translator.realized(argument))) {
        refuse(self, "an argument may be equal to another one that is remembered");
      }
    }
  }
  CallArguments given = arguments;
  for (Value& argument : given.values) translator.realize(argument);
  if (Value result = translator.cachedResults.find(wrapper, given)) return result;
  RememberedCall remembered;
  bool isReadable = wrapper->source() && readCall(translator, arguments, remembered);
  if (isReadable) {
    if (Value given = givenResult(translator, self, remembered)) return given;
    Value result = rememberedResult(translator, wrapper->source(), remembered, existing);
    if (result) return result;
  }
  Value function = translator.wrapOnce(translator.sources->constant(real), real);
  Value result;
  {
    SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
    arguments.tail = false;
    try {
      result = call(translator, function, arguments);
    } catch (const GraphBreak& reason) {
      bool isOfFrames = reason.kind() == GraphBreakKind::SkipFrameCall ||
                        reason.kind() == GraphBreakKind::RecursionLimit ||
                        reason.kind() == GraphBreakKind::FailedOperation;
      bool isMiss =
          isReadable && remembered.made.empty() && !isOfFrames && !remembered.ask(existing);
      if (!isMiss || dynamic_cast<const MissedCall*>(&reason)) throw;
      throw MissedCall(reason, missed(translator, wrapper, remembered));
    }
  }
  if (result && canBeChanged(translator, result)) {
    const std::string what = describe(self) + ": what it returns can be changed";
    // What is remembered for the call now must not be made anew.
    if (!isReadable || remembered.ask(existing)) {
      throw GraphBreak(GraphBreakKind::CachedFunction, what);
    }
    if (giveResult(translator, self, given, remembered, result)) return result;
    if (!remembered.made.empty()) throw GraphBreak(GraphBreakKind::CachedFunction, what);
    throw MissedCall(GraphBreak(GraphBreakKind::CachedFunction, what),
                     missed(translator, wrapper, remembered));
  }
  warn(translator, real);
  // As long as the cache lets go of nothing.
  bool isKept =
      result && isOfConstants(result) &&
      static_cast<size_t>(cpython::roomIn(existing)) > translator.cachedResults.count(wrapper);
  if (isKept) translator.cachedResults.add(wrapper, given, result);
  return result;
}

void registerCachedFunctions() {
  typing();  // before a trace begins
  PyTypeObject* type = cpython::lruCacheType();
  if (!type) return;
  registerMethodHandler(type, "__call__", callCached);
  registerInstanceHandler(type, callCached);
}
ARMATURE_REGISTER_HANDLERS(registerCachedFunctions);

}  // namespace

bool noteMadeCache(BorrowedRef<> wrapper) {
  static PyObject* const forget = PyCFunction_New(&forgetMethod, nullptr);
  Ref<> reference = Ref<>::steal(forget ? PyWeakref_NewRef(wrapper.get(), forget) : nullptr);
  return reference && PySet_Add(madeCaches(), reference.get()) == 0;
}

}  // namespace armature
