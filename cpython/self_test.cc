#include "cpython/self_test.h"

#include <string_view>
#include <vector>

#include "cpython/c_functions.h"
#include "cpython/code_objects.h"
#include "cpython/deferred_signals.h"
#include "cpython/deque_layout.h"
#include "cpython/dict_layout.h"
#include "cpython/frame_evaluation.h"
#include "cpython/function_layout.h"
#include "cpython/generator_frames.h"
#include "cpython/given_arguments.h"
#include "cpython/imported_modules.h"
#include "cpython/instance_attributes.h"
#include "cpython/integers.h"
#include "cpython/iterators.h"
#include "cpython/lru_cache.h"
#include "cpython/made_classes.h"
#include "cpython/mapping_proxy.h"
#include "cpython/member_descriptors.h"
#include "cpython/ordered_dict.h"
#include "cpython/set_entries.h"
#include "cpython/specimens.h"
#include "cpython/string_writer.h"
#include "cpython/thread_state.h"
#include "cpython/type_lookup.h"
#include "cpython/version_tags.h"

namespace armature::cpython {

namespace {

// What the checks look at.
constexpr const char* kSpecimens = R"(
__name__ = 'specimens'
class Base:
    shared = 'of Base'
class Derived(Base):
    pass
class Slotted:
    __slots__ = ('first', 'second')
class Items(tuple):
    pass
def make(captured):
    def function(a, b='b', *, c='c') -> None:
        'doc'
        return captured
    return function
function = make('captured')
def compiled(text):
    return compile(text, 'code', 'eval')
code = [compiled('a + b'), compiled('a + b'), compiled('a - b')]
for number in range(20):
    eval(code[1], {'a': number, 'b': 1})
big = [0, 1, -1, 2**30, -2**30, 2**60 + 1, 2**90, -2**90]
same = [int(str(number)) for number in big]
)";

class Specimens {
 public:
  bool complete() const { return static_cast<bool>(names_); }
  PyObject* get(const char* name) const { return PyDict_GetItemString(names_.get(), name); }
  PyTypeObject* type(const char* name) const { return reinterpret_cast<PyTypeObject*>(get(name)); }
  Ref<> instance(const char* name) const { return Ref<>::steal(PyObject_CallNoArgs(get(name))); }

 private:
  Ref<> names_ = makeSpecimens(kSpecimens);
};

Ref<> text(const char* characters) { return Ref<>::steal(PyUnicode_InternFromString(characters)); }
Ref<> number(long value) { return Ref<>::steal(PyLong_FromLong(value)); }
Ref<> attribute(BorrowedRef<> object, const char* name) {
  return Ref<>::steal(PyObject_GetAttrString(object, name));
}
PyDictObject* asDict(const Ref<>& object) { return reinterpret_cast<PyDictObject*>(object.get()); }

Presence equalNumbers(BorrowedRef<> stored, BorrowedRef<> key) {
  return PyObject_RichCompareBool(stored, key, Py_EQ) == 1 ? Presence::Present : Presence::Absent;
}

bool hasItem(PyDictObject* dict, const Ref<>& key, PyObject* value) {
  return lookUp(dict, key, PyObject_Hash(key.get()), equalNumbers).value == value;
}

bool versionMatches(const Specimens&) {
  if ((Py_Version >> 16) != (PY_VERSION_HEX >> 16)) return false;
#if PY_VERSION_HEX < 0x030C0000
  constexpr long bytecodeFormat = 3495;
  return (PyImport_GetMagicNumber() & 0xFFFF) == bytecodeFormat;
#else
  return true;
#endif
}

bool sizesMatch(const Specimens&) {
  const struct {
    const PyTypeObject& type;
    size_t size;
  } expected[] = {
      {PyDict_Type, sizeof(PyDictObject)},
      {PySet_Type, sizeof(PySetObject)},
      {PyFunction_Type, sizeof(PyFunctionObject)},
      {PyCell_Type, sizeof(PyCellObject)},
      {PyCFunction_Type, sizeof(PyCFunctionObject)},
      {PyMethodDescr_Type, sizeof(PyMethodDescrObject)},
      {PyMemberDescr_Type, sizeof(PyMemberDescrObject)},
      {PySlice_Type, sizeof(PySliceObject)},
      {PyUnicode_Type, sizeof(PyUnicodeObject)},
      {PyType_Type, sizeof(PyHeapTypeObject)},
      {PyRange_Type, sizeof(PyObject) + sizeof(RangeFields)},
  };
  for (const auto& each : expected)
    if (static_cast<size_t>(each.type.tp_basicsize) != each.size) return false;
  return static_cast<size_t>(PyODict_Type.tp_basicsize) > sizeof(PyDictObject);
}

bool dictVersionsChange(const Specimens&) {
  Ref<> dict = Ref<>::steal(PyDict_New());
  Ref<> key = text("key");
  std::vector<uint64_t> versions{contentVersion(asDict(dict))};
  auto change = [&](int done) {
    versions.push_back(contentVersion(asDict(dict)));
    return done == 0;
  };
  bool changed = change(PyDict_SetItem(dict.get(), key.get(), Py_None)) &&
                 change(PyDict_SetItem(dict.get(), key.get(), Py_True)) &&
                 change(PyDict_DelItem(dict.get(), key.get())) &&
                 change(PyDict_SetItem(dict.get(), key.get(), Py_True));
  PyDict_Clear(dict.get());
  change(0);
  Ref<> other = Ref<>::steal(PyDict_New());
  PyDict_SetItem(other.get(), key.get(), Py_None);
  versions.push_back(contentVersion(asDict(other)));
  for (size_t i = 0; i < versions.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (versions[i] == versions[j] && versions[i]) return false;
  bool isRead = PyDict_GetItemWithError(other.get(), key.get()) == Py_None;
  return changed && isRead && contentVersion(asDict(other)) == versions.back();
}

bool typeVersionsChange(const Specimens& specimens) {
  PyTypeObject* derived = specimens.type("Derived");
  Ref<> name = text("shared");
  auto versionAfterLookup = [&] {
    lookup(derived, name);
    return contentVersion(derived);
  };
  uint64_t first = versionAfterLookup();
  if (!first || versionAfterLookup() != first) return false;
  // A change of the type, and one of its base.
  for (const char* changed : {"Derived", "Base"}) {
    uint64_t before = versionAfterLookup();
    if (PyObject_SetAttrString(specimens.get(changed), "added", Py_None) < 0) return false;
    if (contentVersion(derived) == before || versionAfterLookup() == before) return false;
  }
  return true;
}

bool dictTablesAreRead(const Specimens& specimens) {
  constexpr long count = 300;  // more than one byte can number
  Ref<> strings = Ref<>::steal(PyDict_New()), numbers = Ref<>::steal(PyDict_New());
  for (long i = 0; i < count; ++i) {
    Ref<> key = number(i * 8), name = Ref<>::steal(PyUnicode_FromFormat("name %ld", i));
    PyDict_SetItem(numbers.get(), key.get(), name.get());
    PyDict_SetItem(strings.get(), name.get(), key.get());
  }
  for (long i = 0; i < count; i += 3) {
    Ref<> key = number(i * 8);
    PyDict_DelItem(strings.get(), PyDict_GetItem(numbers.get(), key.get()));
    PyDict_DelItem(numbers.get(), key.get());
  }
  for (long i = 0; i < count; ++i) {
    Ref<> key = number(i * 8), name = Ref<>::steal(PyUnicode_FromFormat("name %ld", i));
    if (!hasItem(asDict(numbers), key, PyDict_GetItem(numbers.get(), key.get())) ||
        !hasItem(asDict(strings), name, PyDict_GetItem(strings.get(), name.get())))
      return false;
  }
  // Instances of a class share a table of names.
  Ref<> one = specimens.instance("Base"), two = specimens.instance("Base");
  PyObject_SetAttrString(one.get(), "x", Py_True);
  PyObject_SetAttrString(one.get(), "y", Py_False);
  PyObject_SetAttrString(two.get(), "y", Py_None);
  Ref<> ones = attribute(one, "__dict__"), twos = attribute(two, "__dict__");
  return hasItem(asDict(ones), text("x"), Py_True) && hasItem(asDict(ones), text("y"), Py_False) &&
         hasItem(asDict(twos), text("x"), nullptr) && hasItem(asDict(twos), text("y"), Py_None) &&
         usedCount(asDict(ones)) == 2 && usedCount(asDict(twos)) == 1;
}

bool inlineValuesAreFound(const Specimens& specimens) {
  Ref<> object = specimens.instance("Derived");
  Ref<> x = text("x"), y = text("y");
  PyObject_SetAttr(object.get(), x.get(), Py_True);
  PyObject_SetAttr(object.get(), y.get(), Py_False);
#if PY_VERSION_HEX < 0x030C0000
  PyObject** place = instanceDictPlace(object);
  if (!place || *place) return false;
  if (inlineValue(object, x) != Py_True || inlineValue(object, y) != Py_False ||
      inlineValue(object, text("z")))
    return false;
#endif
  PyObject* dict = materializedInstanceDict(object);
  return dict && PyDict_CheckExact(dict) && PyDict_GetItem(dict, y.get()) == Py_False &&
         *instanceDictPlace(object) == dict && !inlineValue(object, y);
}

bool instanceDictsAreFound(const Specimens& specimens) {
  // With the place behind the fields, and behind the items of an object of variable size.
  Ref<> fixed = Ref<>::steal(PyObject_CallNoArgs(PyExc_ValueError));
  Ref<> arguments = Ref<>::steal(Py_BuildValue("((OOO))", Py_None, Py_None, Py_None));
  Ref<> variable = Ref<>::steal(PyObject_CallObject(specimens.get("Items"), arguments.get()));
  for (BorrowedRef<> object : {BorrowedRef<>(fixed), BorrowedRef<>(variable)}) {
    if (!object || PyObject_SetAttrString(object, "x", Py_True) < 0) return false;
    PyObject** place = instanceDictPlace(object);
    Ref<> dict = attribute(object, "__dict__");
    if (!place || *place != dict.get() || materializedInstanceDict(object) != dict.get())
      return false;
    if (!hasInstanceDict(Py_TYPE(object.get()))) return false;
  }
  return !instanceDictPlace(Py_None) && !hasInstanceDict(&PyLong_Type) &&
         instanceDictOffset(&PyLong_Type) == 0;
}

bool membersAreRead(const Specimens& specimens) {
  Ref<> object = specimens.instance("Slotted");
  Ref<> first = attribute(specimens.get("Slotted"), "first");
  Ref<> second = attribute(specimens.get("Slotted"), "second");
  PyObject_SetAttrString(object.get(), "second", Py_True);
  return isObjectMember(first) && !memberValue(object, first) &&
         memberValue(object, second) == Py_True && !memberValue(Py_None, second);
}

bool structSequencesAreTuples(const Specimens&) {
  PyObject* info = PySys_GetObject("float_info");  // borrowed
  if (!info || !PyTuple_Check(info)) return false;
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(info));
  for (const char* name : {"max", "epsilon"}) {
    Ref<> field = attribute(type, name), value = attribute(info, name);
    Py_ssize_t index = field && isMember(field) ? tupleItemIndex(field) : -1;
    if (index < 0 || index >= PyTuple_GET_SIZE(info)) return false;
    if (PyTuple_GET_ITEM(info, index) != value.get()) return false;
  }
  return true;
}

bool codeIsCompared(const Specimens& specimens) {
  PyObject* codes = specimens.get("code");
  PyObject* fresh = PyList_GET_ITEM(codes, 0);
  return sameCodeButConstants(fresh, PyList_GET_ITEM(codes, 1)) &&
         sameCodeButConstants(PyList_GET_ITEM(codes, 1), fresh) &&
         !sameCodeButConstants(fresh, PyList_GET_ITEM(codes, 2));
}

bool functionFieldsAreRead(const Specimens& specimens) {
  PyObject* function = specimens.get("function");
  if (read(function, FunctionField::Dict)) return false;  // not yet made
  PyObject_SetAttrString(function, "tag", Py_None);
  const struct {
    FunctionField field;
    const char* name;
  } fields[] = {
      {FunctionField::Code, "__code__"},
      {FunctionField::Globals, "__globals__"},
      {FunctionField::Builtins, "__builtins__"},
      {FunctionField::Name, "__name__"},
      {FunctionField::QualifiedName, "__qualname__"},
      {FunctionField::Defaults, "__defaults__"},
      {FunctionField::KeywordDefaults, "__kwdefaults__"},
      {FunctionField::Closure, "__closure__"},
      {FunctionField::Doc, "__doc__"},
      {FunctionField::Dict, "__dict__"},
      {FunctionField::Module, "__module__"},
  };
  for (const auto& each : fields) {
    Ref<> value = attribute(function, each.name);
    if (!value || read(function, each.field) != value.get()) return false;
  }
  return true;
}

bool cellsAreRead(const Specimens& specimens) {
  PyObject* closure = read(specimens.get("function"), FunctionField::Closure);
  if (!closure || PyTuple_GET_SIZE(closure) != 1) return false;
  PyObject* cell = PyTuple_GET_ITEM(closure, 0);
  Ref<> contents = attribute(cell, "cell_contents");
  Ref<> empty = Ref<>::steal(PyCell_New(nullptr));
  return PyCell_GET(cell) == contents.get() && PyCell_GET(empty.get()) == nullptr;
}

bool setEntriesAreRead(const Specimens&) {
  Ref<> set = Ref<>::steal(PySet_New(nullptr));
  for (long i = 0; i < 100; ++i) PySet_Add(set.get(), number(i * 64).get());
  for (long i = 0; i < 100; i += 3) PySet_Discard(set.get(), number(i * 64).get());
  Py_ssize_t count = 0;
  for (SetEntry entry; nextEntry(set, entry); ++count)
    if (PyObject_Hash(entry.element) != entry.hash) return false;
  for (long i = 0; i < 100; ++i) {
    Ref<> key = number(i * 64);
    Presence presence = contains(set, key, PyObject_Hash(key.get()), equalNumbers);
    if ((presence == Presence::Present) != (PySet_Contains(set.get(), key.get()) == 1))
      return false;
  }
  return count == PySet_GET_SIZE(set.get());
}

bool orderedDictsAreRead(const Specimens&) {
  Ref<> dict = Ref<>::steal(PyODict_New());
  for (PyObject* key : {Py_None, Py_True, Py_False}) PyODict_SetItem(dict.get(), key, key);
  if (!isOrderedDict(dict)) return false;
  Ref<> moved = Ref<>::steal(PyObject_CallMethod(dict.get(), "move_to_end", "O", Py_None));
  if (!moved) return false;
  const OrderedDictNode* node = firstNode(dict);
  for (PyObject* key : {Py_True, Py_False, Py_None}) {
    if (!node || keyOf(node) != key) return false;
    node = nextNode(node);
  }
  return !node;
}

bool typesAreSearched(const Specimens& specimens) {
  PyTypeObject *base = specimens.type("Base"), *derived = specimens.type("Derived");
  PyObject* order = mro(derived);
  if (!order || !PyTuple_CheckExact(order) || PyTuple_GET_SIZE(order) != 3) return false;
  if (PyTuple_GET_ITEM(order, 1) != reinterpret_cast<PyObject*>(base)) return false;
  Ref<> name = text("shared"), value = attribute(specimens.get("Derived"), "shared");
  return lookup(derived, name) == value.get() && !ownAttribute(derived, name) &&
         ownAttribute(base, name) == value.get() && lookupPlace(derived, name).index == 1 &&
         !lookupAfter(derived, base, name) && lookup(&PyList_Type, text("append")) &&
         PyTuple_GET_SIZE(bases(derived)) == 1 && cpython::base(derived) == base &&
         isHeapType(derived) && isImmutable(&PyList_Type) &&
         std::string_view(nameOf(derived)) == "Derived" &&
         attribute(specimens.get("Derived"), "__qualname__").get() == qualifiedName(derived);
}

bool integersAreCompared(const Specimens& specimens) {
  PyObject *numbers = specimens.get("big"), *same = specimens.get("same");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(numbers); ++i)
    for (Py_ssize_t j = 0; j < PyList_GET_SIZE(same); ++j)
      if (sameInteger(PyList_GET_ITEM(numbers, i), PyList_GET_ITEM(same, j)) != (i == j))
        return false;
  return true;
}

bool rangesAreRead(const Specimens&) {
  Ref<> range = Ref<>::steal(
      PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "iii", 2, 12, 3));
  if (!range) return false;
  const RangeFields& fields = rangeFields(range);
  return PyLong_AsLong(fields.start) == 2 && PyLong_AsLong(fields.stop) == 12 &&
         PyLong_AsLong(fields.step) == 3 && PyLong_AsLong(fields.length) == 4;
}

bool definitionsAreRead(const Specimens&) {
  Ref<> list = Ref<>::steal(PyList_New(0));
  auto* type = reinterpret_cast<PyObject*>(&PyList_Type);
  Ref<> bound = attribute(list, "append"), unbound = attribute(type, "append");
  Ref<> other = attribute(type, "extend");
  PyMethodDef* definition = methodDefinition(bound);
  PyObject* len = PyDict_GetItemString(PyEval_GetBuiltins(), "len");
  return definition && definition == methodDefinition(unbound) &&
         definition != methodDefinition(other) &&
         std::string_view(definition->ml_name) == "append" && !methodDefinition(list) && len &&
         descriptorOf(bound) == unbound.get() && PyCFunction_Check(len) && moduleOf(len) &&
         PyUnicode_CompareWithASCIIString(moduleOf(len), "builtins") == 0;
}

bool dequesAreRead(const Specimens&) {
  if (!dequeType() || !dequeIteratorType() || !dequeReverseIteratorType()) return false;
  auto* type = reinterpret_cast<PyObject*>(dequeType());
  Ref<> deque = Ref<>::steal(PyObject_CallFunction(type, "sn", "abc", Py_ssize_t{7}));
  return deque && isDeque(deque) && dequeLength(deque) == 3 && !isDeque(type) &&
         dequeBound(deque) == 7 && PyUnicode_CompareWithASCIIString(dequeItem(deque, 2), "c") == 0;
}

bool proxiesAreOpened(const Specimens&) {
  Ref<> dict = Ref<>::steal(PyDict_New());
  Ref<> proxy = Ref<>::steal(dict ? PyDictProxy_New(dict.get()) : nullptr);
  return proxy && isMappingProxy(proxy) && proxiedMapping(proxy) == dict.get();
}

bool cachedFunctionsAreFound(const Specimens& specimens) {
  Ref<> module = Ref<>::steal(importModule("functools"));
  Ref<> cached = Ref<>::steal(
      module ? PyObject_CallMethod(module.get(), "cache", "O", specimens.get("function"))
             : nullptr);
  // functools may do without the one in C.
  if (cached && Py_TYPE(cached.get()) != lruCacheType()) return true;
  return cached && cachedFunction(cached) == specimens.get("function");
}

bool stringsAreWritten(const Specimens&) {
  StringWriter writer;
  Ref<> written = text("ä");
  if (!writer.writeAscii("a") || !writer.write(written)) return false;
  Ref<> result = writer.finish();
  return result && PyUnicode_Compare(result.get(), text("aä").get()) == 0;
}

bool signalsAreHeldBack(const Specimens&) { return holdsSignalsBack(); }

bool tracingIsSeen(const Specimens&) {
  bool isSet = false;
  for (const char* getter : {"gettrace", "getprofile"}) {
    PyObject* function = PySys_GetObject(getter);  // borrowed
    // A debugger may have put its own there, which says what it likes.
    if (function && !PyCFunction_Check(function)) return true;
    Ref<> current = Ref<>::steal(function ? PyObject_CallNoArgs(function) : nullptr);
    if (!current) return false;
    isSet |= current.get() != Py_None;
  }
  // What is written in C may trace without an object that Python sees.
  return !isSet || isTraced();
}

struct Check {
  Assumption assumption;
  bool (*holds)(const Specimens&);
};

// In this order: those that keep the later ones from reading at random come first.
constexpr Check kChecks[] = {
    {{"version", "the interpreter is of the version that Armature was built for"}, versionMatches},
    {{"sizes", "objects have the sizes of the headers that Armature was built with"}, sizesMatch},
    {{"dict versions", "a dict's version changes with each write, and with nothing else"},
     dictVersionsChange},
    {{"type versions", "a type's version changes when the type or a base of it changes"},
     typeVersionsChange},
    {{"dict tables", "a dict's hash table can be read"}, dictTablesAreRead},
    {{"inline values", "instances keep attributes in an array in the order of their class's keys"},
     inlineValuesAreFound},
    {{"instance dicts", "instances keep their dict at the place that their type names"},
     instanceDictsAreFound},
    {{"members", "member descriptors read objects at their offset"}, membersAreRead},
    {{"struct sequences", "the members of a struct sequence are its items"},
     structSequencesAreTuples},
    {{"function fields", "a function's fields are its attributes"}, functionFieldsAreRead},
    {{"code objects", "code that has run is the same as code that has not"}, codeIsCompared},
    {{"cells", "a cell holds its contents"}, cellsAreRead},
    {{"set entries", "a set's hash table can be read"}, setEntriesAreRead},
    {{"ordered dicts", "an OrderedDict keeps a list of its keys"}, orderedDictsAreRead},
    {{"type lookup", "an attribute of a type is that of the first type of its MRO that has one"},
     typesAreSearched},
    {{"integers", "equal integers have equal digits"}, integersAreCompared},
    {{"ranges", "a range holds its start, stop, step and length"}, rangesAreRead},
    {{"method definitions", "a method and its bound form have one definition"}, definitionsAreRead},
    {{"deques", "a deque counts its items as a list does, and gives them by index"}, dequesAreRead},
    {{"iterators", "builtin iterators keep what they walk over, and where they stand"},
     [](const Specimens&) { return iteratorsAreRead(); }},
    {{"mapping proxies", "a MappingProxyType holds its mapping"}, proxiesAreOpened},
    {{"lru_cache", "what functools.lru_cache makes holds the function"}, cachedFunctionsAreFound},
    {{"generator frames", "a generator keeps what it holds, and where it stands, in a frame"},
     [](const Specimens&) { return generatorFramesAreRead(); }},
    {{"frame evaluation", "a function's arguments are bound when its frame is to be evaluated"},
     [](const Specimens&) { return framesAreEvaluated(); }},
    {{"given arguments", "a call may take its arguments from the stack of the frame that makes it"},
     [](const Specimens&) { return argumentsAreTaken(); }},
    {{"made classes", "a class is known by its bases' __subclasses__() and the garbage collector"},
     [](const Specimens&) { return classesAreHidden(); }},
    {{"string writer", "a string can be written in pieces"}, stringsAreWritten},
    {{"tracing", "the thread's state says whether it is traced"}, tracingIsSeen},
    {{"signals", "handlers of signals run only on the thread that the runtime calls the main one"},
     signalsAreHeldBack},
};

void refuse(const Assumption& assumption) {
  PyErr_Clear();
  PyErr_Format(PyExc_ImportError,
               "armature cannot work in this interpreter: it was built for CPython %d.%d and "
               "assumes that %s; CPython %s fails its test of that (\"%s\")",
               PY_MAJOR_VERSION, PY_MINOR_VERSION, assumption.statement, Py_GetVersion(),
               assumption.name);
}

}  // namespace

std::span<const Assumption> assumptions() {
  static const auto* const all = [] {
    auto* list = new std::vector<Assumption>;
    for (const Check& check : kChecks) list->push_back(check.assumption);
    return list;
  }();
  return *all;
}

int verifyInterpreter(const char* failing) {
  // The engine keeps its registries once in a process, with objects of the interpreter that made
  // it.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "armature works in a process's main interpreter only, not in a subinterpreter");
    return -1;
  }
  Specimens specimens;
  if (!specimens.complete()) return -1;
  for (const Check& check : kChecks) {
    bool holds = check.holds(specimens);
    // Nothing is wrong with an interpreter that has no memory, or whose user presses Ctrl-C.
    if (PyErr_Occurred() && (PyErr_ExceptionMatches(PyExc_MemoryError) ||
                             PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)))
      return -1;
    if (PyErr_Occurred() || !holds ||
        (failing && check.assumption.name == std::string_view(failing))) {
      refuse(check.assumption);
      return -1;
    }
  }
  return 0;
}

}  // namespace armature::cpython
