#include <gtest/gtest.h>

#include <string>

#include "cpython/c_functions.h"
#include "cpython/dict_layout.h"
#include "cpython/instance_attributes.h"
#include "cpython/ordered_dict.h"
#include "cpython/set_entries.h"
#include "cpython/version_tags.h"

namespace armature::cpython {
namespace {

Ref<> run(const char* program) {
  Ref<> names = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> result = Ref<>::steal(PyRun_String(program, Py_file_input, names.get(), names.get()));
  if (!result) PyErr_Print();
  EXPECT_TRUE(result);
  return names;
}

PyObject* named(const Ref<>& names, const char* name) {
  return PyDict_GetItemString(names.get(), name);
}

Presence cannotTell(BorrowedRef<>, BorrowedRef<>) { return Presence::Unknown; }
Presence different(BorrowedRef<>, BorrowedRef<>) { return Presence::Absent; }

constexpr const char* kHostileKeys = R"(
class Key:
    def __hash__(self): return 7
    def __eq__(self, other): raise AssertionError('asked')
key, other = Key(), Key()
in_dict = {'a': 1, key: 2}
in_set = {'a', key}
)";

TEST(DictLayout, AsksNoKeyOfTheProgram) {
  Ref<> names = run(kHostileKeys);
  auto* dict = reinterpret_cast<PyDictObject*>(named(names, "in_dict"));
  DictItem found = lookUp(dict, named(names, "key"), 7, different);
  EXPECT_EQ(found.presence, Presence::Present);
  EXPECT_EQ(PyLong_AsLong(found.value), 2);
  EXPECT_EQ(lookUp(dict, named(names, "other"), 7, cannotTell).presence, Presence::Unknown);
  EXPECT_EQ(lookUp(dict, named(names, "other"), 7, different).presence, Presence::Absent);
  EXPECT_EQ(lookUp(dict, named(names, "other"), 8, cannotTell).presence, Presence::Absent);
}

TEST(DictLayout, FindsASubclassOfStrAmongStrings) {
  Ref<> names = run("class Name(str): pass\nname = Name('a')\ndict = {'a': 1}");
  auto* dict = reinterpret_cast<PyDictObject*>(named(names, "dict"));
  Py_hash_t hash = PyObject_Hash(named(names, "name"));
  EXPECT_EQ(lookUp(dict, named(names, "name"), hash, cannotTell).presence, Presence::Unknown);
}

TEST(SetEntries, AsksNoElementOfTheProgram) {
  Ref<> names = run(kHostileKeys);
  PyObject* set = named(names, "in_set");
  EXPECT_EQ(contains(set, named(names, "key"), 7, cannotTell), Presence::Present);
  EXPECT_EQ(contains(set, named(names, "other"), 7, cannotTell), Presence::Unknown);
  EXPECT_EQ(contains(set, named(names, "other"), 7, different), Presence::Absent);
  EXPECT_EQ(contains(set, named(names, "other"), 8, cannotTell), Presence::Absent);
}

// Full tables, collisions and removed elements, against Python's own answer.
TEST(SetEntries, FindsWhatPythonFinds) {
  Ref<> names = run(R"(
import random
random.seed(5)
sets = []
for size in (0, 1, 4, 5, 31, 200, 5000):
    one = {random.randrange(3 * size + 1) << random.choice((0, 5, 16)) for _ in range(size)}
    for element in random.sample(sorted(one), len(one) // 3):
        one.discard(element)
    sets.append(one)
keys = [number << shift for number in range(300) for shift in (0, 5, 16)]
)");
  KeyEquality equal = [](BorrowedRef<> stored, BorrowedRef<> key) {
    return PyObject_RichCompareBool(stored, key, Py_EQ) ? Presence::Present : Presence::Absent;
  };
  PyObject *sets = named(names, "sets"), *keys = named(names, "keys");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sets); ++i) {
    PyObject* set = PyList_GET_ITEM(sets, i);
    for (Py_ssize_t j = 0; j < PyList_GET_SIZE(keys); ++j) {
      PyObject* key = PyList_GET_ITEM(keys, j);
      bool isIn = contains(set, key, PyObject_Hash(key), equal) == Presence::Present;
      ASSERT_EQ(isIn, PySet_Contains(set, key) == 1) << i << " " << j;
    }
  }
}

// The set that is copied counts no reference to the mark of a removed element, so its copy gives
// none back either.
TEST(SetEntries, LeaveTheMarkOfRemovedElementsUncounted) {
  Ref<> names = run("set = {0, 1, 2}; set.discard(0)");
  auto* set = reinterpret_cast<PySetObject*>(named(names, "set"));
  PyObject* mark = set->table[0].key;
  ASSERT_EQ(set->table[0].hash, -1);
  Py_ssize_t references = Py_REFCNT(mark), ofTwo = Py_REFCNT(set->table[2].key);
  Ref<> copy = copyTable(&PyFrozenSet_Type, named(names, "set"));
  ASSERT_TRUE(copy);
  EXPECT_EQ(Py_REFCNT(mark), references);
  copy = nullptr;
  EXPECT_EQ(Py_REFCNT(mark), references);
  EXPECT_EQ(Py_REFCNT(set->table[2].key), ofTwo);
}

TEST(InstanceAttributes, AreFoundWithoutMakingADict) {
  Ref<> names = run(R"(
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
point = Point('x of point', 'y of point')
del point.x
)");
  PyObject* point = named(names, "point");
  Ref<> x = Ref<>::steal(PyUnicode_InternFromString("x"));
  Ref<> y = Ref<>::steal(PyUnicode_InternFromString("y"));
  EXPECT_EQ(inlineValue(point, x), nullptr);
  EXPECT_STREQ(PyUnicode_AsUTF8(inlineValue(point, y)), "y of point");
  EXPECT_EQ(*instanceDictPlace(point), nullptr);
  PyObject* dict = materializedInstanceDict(point);
  EXPECT_EQ(*instanceDictPlace(point), dict);
  EXPECT_EQ(PyDict_Size(dict), 1);
  EXPECT_EQ(inlineValue(point, y), nullptr);
}

// A subclass's own method of that name changes nothing: the bound method is what it is.
TEST(CFunctions, KnowWhereABoundMethodComesFrom) {
  Ref<> names = run(R"(
class Names(list):
    def append(self, item): pass
names = Names()
bound = super(Names, names).append
unbound = list.append
new = list.__new__
import math
function = math.sin
)");
  EXPECT_EQ(descriptorOf(named(names, "bound")), named(names, "unbound"));
  EXPECT_EQ(descriptorOf(named(names, "new")), nullptr);
  EXPECT_EQ(descriptorOf(named(names, "function")), nullptr);
}

TEST(VersionTags, StandWhileNothingChanges) {
  Ref<> names = run("dict = {'a': 1}\nclass C: pass");
  auto* dict = reinterpret_cast<PyDictObject*>(named(names, "dict"));
  uint64_t version = contentVersion(dict);
  run("1 + 1");
  EXPECT_EQ(contentVersion(dict), version);
  PyDict_SetItemString(named(names, "dict"), "b", Py_None);
  EXPECT_NE(contentVersion(dict), version);
}

}  // namespace
}  // namespace armature::cpython
