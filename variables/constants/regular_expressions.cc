// Patterns and matches of re over constant text. Both are objects that nothing can change, so they
// are constants (two matches of one kind differ by their identity alone); what the methods of a
// pattern say of a text is computed while tracing.
#include <new>
#include <utility>

#include "bytecode/private_function.h"
#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/iterators.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/partial.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// re.LOCALE, by which the answer depends on a setting of the process; re.DEBUG, which prints; and
// re.TEMPLATE, which warns.
constexpr long kLocale = 4, kDebug = 128, kTemplate = 1;

PyObject* attributeOfModule(const char* name) {
  // The module, which a program may replace in sys.modules, is kept with it.
  static PyObject* const module = cpython::importModule("re");
  PyObject* found = module ? PyObject_GetAttrString(module, name) : nullptr;
  if (!found) clearException();
  return found;
}

PyTypeObject* typeOfModule(const char* name) {
  PyObject* type = attributeOfModule(name);
  bool isOwn =
      type && PyType_Check(type) && cpython::isImmutable(reinterpret_cast<PyTypeObject*>(type));
  return isOwn ? reinterpret_cast<PyTypeObject*>(type) : nullptr;
}

PyTypeObject* patternType() {
  static PyTypeObject* const type = typeOfModule("Pattern");
  return type;
}
PyTypeObject* matchType() {
  static PyTypeObject* const type = typeOfModule("Match");
  return type;
}

bool isText(PyObject* object) { return PyUnicode_CheckExact(object) || PyBytes_CheckExact(object); }

long flagsOf(PyObject* pattern) {
  Ref<> flags = checked(PyObject_GetAttrString(pattern, "flags"));
  return PyLong_AsLong(flags.get());
}

// Breaks unless the pattern, or that of the match, gives one answer for one text.
void requireSteady(const Value& self) {
  PyObject* object = self.objectOrNull();
  bool steady = object && (Py_TYPE(object) == patternType() || Py_TYPE(object) == matchType());
  if (steady) {
    Ref<> pattern = Py_TYPE(object) == matchType() ? checked(PyObject_GetAttrString(object, "re"))
                                                   : Ref<>::create(object);
    // Text of a subclass may have code of the program.
    Ref<> text = checked(PyObject_GetAttrString(pattern.get(), "pattern"));
    steady = isText(text.get()) && !(flagsOf(pattern.get()) & kLocale);
  }
  if (!steady) throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(self));
}

// The methods that answer by their object and their arguments alone.
constexpr const char* kPatternMethods[] = {
    "match", "fullmatch", "search", "sub", "subn", "findall", "split", "__copy__", "__deepcopy__"};
constexpr const char* kMatchMethods[] = {"group",  "groups",      "start",    "end",         "span",
                                         "expand", "__getitem__", "__copy__", "__deepcopy__"};

// A template whose groups are named may warn.
bool namesGroups(PyObject* object) {
  Ref<> name =
      checked(PyUnicode_Check(object) ? PyUnicode_FromString("\\g") : PyBytes_FromString("\\g"));
  bool isTemplate = PyUnicode_Check(object) || PyBytes_Check(object);
  return isTemplate && PySequence_Contains(object, name.get()) == 1;
}

template <const auto& names, size_t index>
Value answer(Translator& translator, const Value& self, CallArguments& arguments) {
  requireSteady(self);
  for (Value& argument : arguments.values) {
    translator.realize(argument);
    // Of an instance of a subclass, re reads the text alone, and a match keeps the instance.
    auto* instance = trackerOf<UserObjectVariable>(argument);
    bool isInstance = instance && instance->existing() && builtinData(translator, argument);
    if (isInstance) argument = Value::constant(instance->existing());
    if ((!isInstance && !isConstantData(argument)) || namesGroups(argument.object())) {
      throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(argument));
    }
  }
  Ref<> method = checked(PyObject_GetAttrString(self.object(), names[index]));
  Value result = callWithData(translator, method.get(), arguments);
  // An error of re has more than its arguments.
  if (!result && cpython::isHeapType(typeOf(translator.exception()))) {
    translator.dropException();
    throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(self));
  }
  return result;
}

// A functools.partial that makes the iterator of all matches of the pattern.
Ref<> matchesMaker(Translator& translator, const Value& self, CallArguments& arguments) {
  requireSteady(self);
  for (Value& argument : arguments.values) {
    translator.realize(argument);
    if (!isConstantData(argument)) {
      throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(argument));
    }
  }
  if (!partialType()) throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(self));
  Ref<> method = checked(PyObject_GetAttrString(self.object(), "finditer"));
  llvm::SmallVector<PyObject*, 4> objects{method.get()};
  for (const Value& argument : arguments.values) objects.push_back(argument.object());
  return checked(PyObject_Vectorcall(reinterpret_cast<PyObject*>(partialType()), objects.data(),
                                     1 + arguments.positionalCount(), arguments.keywordNames));
}

// What the iterator gives. Null with an exception pending.
Ref<> allMatches(Translator& translator, const Ref<>& maker) {
  Ref<> iterator = Ref<>::steal(PyObject_CallNoArgs(maker.get()));
  if (iterator) return checked(PySequence_Tuple(iterator.get()));
  translator.raiseFromPython();
  return nullptr;
}

// Pattern.finditer: the matches are found beforehand, of which nobody hears.
Value findEach(Translator& translator, const Value& self, CallArguments& arguments) {
  Ref<> maker = matchesMaker(translator, self, arguments);
  Ref<> matches = allMatches(translator, maker);
  if (!matches) return Value();
  auto* iterator =
      translator.make<SequenceIteratorVariable>(&PyCallIter_Type, Value::constant(matches));
  iterator->maker = std::move(maker);
  return iterator;
}

// Pattern.sub and subn with a function, which is called with each match (pattern_subx).
template <bool countsThem>
Value substitute(Translator& translator, const Value& self, CallArguments& arguments) {
  constexpr const auto& names = kPatternMethods;
  constexpr size_t index = countsThem ? 4 : 3;
  bool isPlain =
      !arguments.keywordCount() && arguments.values.size() >= 2 && arguments.values.size() <= 3;
  Value function = isPlain ? translator.realized(arguments.values[0]) : Value();
  if (!isPlain || function.isConstant() || !slotsOf(function).tp_call) {
    return answer<names, index>(translator, self, arguments);
  }
  Value limit =
      arguments.values.size() == 3 ? translator.realized(arguments.values[2]) : Value::integer(0);
  Py_ssize_t most =
      limit.isConstant() && PyLong_Check(limit.object()) ? PyLong_AsSsize_t(limit.object()) : -1;
  CallArguments ofText;
  ofText.values.push_back(translator.realized(arguments.values[1]));
  PyObject* text = ofText.values[0].objectOrNull();
  if (most < 0 || !text || !PyUnicode_CheckExact(text)) {
    clearException();
    throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(self));
  }
  Ref<> matches = allMatches(translator, matchesMaker(translator, self, ofText));
  if (!matches) return Value();
  Ref<> pieces = checked(PyList_New(0));
  Py_ssize_t end = 0, count = 0;
  for (; count < PyTuple_GET_SIZE(matches.get()) && (most == 0 || count < most); ++count) {
    PyObject* match = PyTuple_GET_ITEM(matches.get(), count);
    Ref<> span = checked(PyObject_CallMethod(match, "span", nullptr));
    Py_ssize_t from = PyLong_AsSsize_t(PyTuple_GET_ITEM(span.get(), 0));
    Value piece = translator.realized(call(translator, function, {Value::constant(match)}));
    if (!piece) return piece;
    PyObject* replacement = piece.objectOrNull();
    if (!replacement || !(piece.is(Py_None) || PyUnicode_CheckExact(replacement))) {
      throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(piece));
    }
    Ref<> before = checked(PyUnicode_Substring(text, end, from));
    bool ok = PyList_Append(pieces.get(), before.get()) == 0 &&
              (piece.is(Py_None) || PyList_Append(pieces.get(), replacement) == 0);
    if (!ok) throw std::bad_alloc();
    end = PyLong_AsSsize_t(PyTuple_GET_ITEM(span.get(), 1));
  }
  Ref<> rest = checked(PyUnicode_Substring(text, end, PyUnicode_GET_LENGTH(text)));
  if (PyList_Append(pieces.get(), rest.get()) < 0) throw std::bad_alloc();
  Ref<> nothing = checked(PyUnicode_FromString(""));
  Ref<> joined = checked(PyUnicode_Join(nothing.get(), pieces.get()));
  Value result = Value::constant(joined);
  return countsThem ? makeTuple(translator, {result, Value::integer(count)}) : result;
}

template <const auto& names, size_t... indexes>
void registerAnswers(PyTypeObject* type, std::index_sequence<indexes...>) {
  (registerMethodHandler(type, names[indexes], answer<names, indexes>), ...);
}

Value groupDict(Translator& translator, const Value& self, CallArguments& arguments) {
  requireSteady(self);
  if (!allData(arguments) || arguments.keywordCount()) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, "re.Match.groupdict");
  }
  static PyObject* const name = staticName("groupdict");
  llvm::SmallVector<PyObject*, 2> given{self.object()};
  for (const Value& argument : arguments.values) given.push_back(argument.object());
  Ref<> groups = Ref<>::steal(PyObject_VectorcallMethod(name, given.data(), given.size(), nullptr));
  if (!groups) return translator.raiseFromPython();
  auto* dict = translator.make<DictVariable>();
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(groups.get(), &position, &key, &value)) {
    if (!dict->set(translator, Value::constant(key), Value::constant(value))) return Value();
  }
  return dict;
}

// Does the pattern compile, and without a warning? Nothing is kept of the answer.
bool compilesSilently(PyObject* pattern, PyObject* flags) {
  if (Py_TYPE(pattern) == patternType()) return true;
  Ref<> warnings = checked(cpython::importModule("warnings"));
  Ref<> scope = checked(PyObject_CallMethod(warnings.get(), "catch_warnings", nullptr));
  checked(PyObject_CallMethod(scope.get(), "__enter__", nullptr));
  checked(PyObject_CallMethod(warnings.get(), "simplefilter", "s", "error"));
  static PyObject* const compiler = attributeOfModule("_compiler");
  Ref<> compiled = Ref<>::steal(
      compiler ? PyObject_CallMethod(compiler, "compile", "OO", pattern, flags) : nullptr);
  clearException();
  checked(PyObject_CallMethod(scope.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  return static_cast<bool>(compiled);
}

// re._compile(pattern, flags), to which all functions of the module come. What it has compiled it
// keeps, here as in the call that is traced.
Value compile(Translator& translator, const Value&, CallArguments& arguments) {
  auto refuse = [] { return GraphBreak(GraphBreakKind::UnknownCFunction, "re._compile"); };
  if (arguments.values.size() != 2 || arguments.keywordCount()) throw refuse();
  Value pattern = translator.realized(arguments.values[0]);
  Value flags = translator.realized(arguments.values[1]);
  if (Value number = builtinData(translator, flags)) flags = number;
  PyObject* given = pattern.objectOrNull();
  PyObject* number = flags.objectOrNull();
  bool isKnown =
      given && number && PyLong_Check(number) && (isText(given) || Py_TYPE(given) == patternType());
  if (!isKnown) throw refuse();
  int overflow = 0;
  long value = PyLong_AsLongAndOverflow(number, &overflow);
  if (overflow || (value & (kLocale | kDebug | kTemplate))) throw refuse();
  if (!compilesSilently(given, number)) throw refuse();
  static PyObject* const function = attributeOfModule("_compile");
  Ref<> compiled = Ref<>::steal(PyObject_CallFunctionObjArgs(function, given, number, nullptr));
  if (compiled) return Value::constant(compiled);
  // An error of re is an object of its own in each call.
  clearException();
  throw refuse();
}

bool samePattern(PyObject* a, PyObject* b) {
  auto textOf = [](PyObject* pattern) {
    return Ref<>::steal(PyObject_GetAttrString(pattern, "pattern"));
  };
  Ref<> text = textOf(a), other = textOf(b);
  bool isPlain = text && other && isText(text.get()) && isText(other.get());
  int equal = isPlain ? PyObject_RichCompareBool(a, b, Py_EQ) : a == b;
  clearException();
  return equal == 1;
}

size_t hashPattern(PyObject* pattern) {
  Ref<> text = Ref<>::steal(PyObject_GetAttrString(pattern, "pattern"));
  size_t hash = text && isText(text.get()) ? static_cast<size_t>(PyObject_Hash(text.get())) : 0;
  clearException();
  return hash;
}

// What a match knows: the text, where it was searched, and what was found. Null where the text is
// of a class of the program's, and without memory.
Ref<> foundBy(PyObject* match) {
  constexpr const char* kNames[] = {"string", "pos", "endpos", "regs", "lastindex"};
  Ref<> found = Ref<>::steal(PyTuple_New(std::size(kNames)));
  for (size_t i = 0; found && i < std::size(kNames); ++i) {
    PyObject* part = PyObject_GetAttrString(match, kNames[i]);
    if (!part || (i == 0 && !isText(part))) found = nullptr;
    if (found) {
      PyTuple_SET_ITEM(found.get(), static_cast<Py_ssize_t>(i), part);
    } else {
      Py_XDECREF(part);
    }
  }
  clearException();
  return found;
}

bool sameMatch(PyObject* a, PyObject* b) {
  Ref<> pattern = Ref<>::steal(PyObject_GetAttrString(a, "re"));
  Ref<> other = Ref<>::steal(PyObject_GetAttrString(b, "re"));
  clearException();
  Ref<> found = foundBy(a), foundByOther = foundBy(b);
  bool isKnown = pattern && other && found && foundByOther;
  return isKnown ? samePattern(pattern.get(), other.get()) && sameConstant(found, foundByOther)
                 : a == b;
}

// again(): the match that self, a tuple of a method of a pattern, the arguments, and the number
// among those that are found, tells of.
PyObject* findAgain(PyObject* self, PyObject* const*, Py_ssize_t) {
  PyObject* method = PyTuple_GET_ITEM(self, 0);
  Ref<> found = Ref<>::steal(PyObject_CallObject(method, PyTuple_GET_ITEM(self, 1)));
  Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(self, 2));
  if (!found || number < 0) return PyErr_Occurred() ? nullptr : found.release();
  for (;;) {
    Ref<> next = Ref<>::steal(PyIter_Next(found.get()));
    if (!next && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a match is gone");
    if (!next || number-- == 0) return next.release();
  }
}

// Of the ways to find a match, the first that finds the same again.
Ref<> matchMaker(PyObject* match) {
  auto attribute = [&](const char* name) { return checked(PyObject_GetAttrString(match, name)); };
  Ref<> pattern = attribute("re");
  Ref<> arguments = checked(PyTuple_Pack(3, attribute("string").get(), attribute("pos").get(),
                                         attribute("endpos").get()));
  auto madeBy = [&](const Ref<>& method, Py_ssize_t number) {
    Ref<> self = checked(Py_BuildValue("(OOn)", method.get(), arguments.get(), number));
    return checked(boundPrivateFunction<findAgain>("again", self).release());
  };
  for (const char* name : {"match", "fullmatch", "search"}) {
    Ref<> method = checked(PyObject_GetAttrString(pattern.get(), name));
    Ref<> found = checked(PyObject_CallObject(method.get(), arguments.get()));
    if (found.get() != Py_None && sameMatch(found.get(), match)) return madeBy(method, -1);
  }
  Ref<> method = checked(PyObject_GetAttrString(pattern.get(), "finditer"));
  Ref<> matches = checked(PyObject_CallObject(method.get(), arguments.get()));
  for (Py_ssize_t number = 0;; ++number) {
    Ref<> found = Ref<>::steal(PyIter_Next(matches.get()));
    if (!found) break;
    if (sameMatch(found.get(), match)) return madeBy(method, number);
  }
  clearException();
  return nullptr;
}

size_t hashMatch(PyObject* match) {
  Ref<> found = foundBy(match);
  return found ? hashConstant(found) : 0;
}

void registerRegularExpressions() {
  PyObject* function = attributeOfModule("_compile");
  if (!patternType() || !matchType() || !function) return;
  registerConstantType(patternType(), {.same = samePattern, .hash = hashPattern});
  registerConstantType(matchType(), {.same = sameMatch, .hash = hashMatch, .maker = matchMaker});
  registerObjectHandler(function, compile);
  registerAnswers<kPatternMethods>(patternType(),
                                   std::make_index_sequence<std::size(kPatternMethods)>());
  registerAnswers<kMatchMethods>(matchType(), std::make_index_sequence<std::size(kMatchMethods)>());
  registerMethodHandler(matchType(), "groupdict", groupDict);
  registerMethodHandler(patternType(), "finditer", findEach);
  registerMethodHandler(patternType(), "sub", substitute<false>);
  registerMethodHandler(patternType(), "subn", substitute<true>);
}
ARMATURE_REGISTER_HANDLERS(registerRegularExpressions);

}  // namespace

}  // namespace armature
