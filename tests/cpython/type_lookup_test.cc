#include "cpython/type_lookup.h"

#include <gtest/gtest.h>

#include <string>

namespace armature::cpython {
namespace {

// The globals after a program was run.
Ref<> run(const char* program) {
  Ref<> names = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> result = Ref<>::steal(PyRun_String(program, Py_file_input, names.get(), names.get()));
  if (!result) PyErr_Print();
  EXPECT_TRUE(result);
  return names;
}

PyTypeObject* typeNamed(const Ref<>& names, const char* name) {
  return reinterpret_cast<PyTypeObject*>(PyDict_GetItemString(names.get(), name));
}

Ref<> text(const char* characters) { return Ref<>::steal(PyUnicode_InternFromString(characters)); }

constexpr const char* kDiamond = R"(
class Meta(type):
    def __getattribute__(cls, name): raise AssertionError('asked')
class A(metaclass=Meta):
    x = 'a'
    y = 'a'
class B(A):
    x = 'b'
class C(A):
    x = 'c'
    @property
    def z(self): raise AssertionError('run')
class D(B, C): pass
)";

TEST(TypeLookup, FollowsTheMroAndRunsNothing) {
  Ref<> names = run(kDiamond);
  PyTypeObject* d = typeNamed(names, "D");
  EXPECT_STREQ(PyUnicode_AsUTF8(lookup(d, text("x"))), "b");
  EXPECT_EQ(Py_TYPE(lookup(d, text("z"))), &PyProperty_Type);
  EXPECT_EQ(lookup(d, text("absent")), nullptr);
  MroAttribute found = lookupPlace(d, text("y"));
  EXPECT_EQ(found.owner, typeNamed(names, "A"));
  EXPECT_EQ(found.index, 3);
  EXPECT_FALSE(PyErr_Occurred());
}

TEST(TypeLookup, SearchesBehindAClassAsSuperDoes) {
  Ref<> names = run(kDiamond);
  PyTypeObject* d = typeNamed(names, "D");
  MroAttribute found = lookupAfter(d, typeNamed(names, "B"), text("x"));
  EXPECT_STREQ(PyUnicode_AsUTF8(found.object), "c");
  EXPECT_EQ(found.owner, typeNamed(names, "C"));
  EXPECT_EQ(found.index, 2);
  EXPECT_FALSE(lookupAfter(d, typeNamed(names, "A"), text("x")));
  EXPECT_FALSE(lookupAfter(d, &PyLong_Type, text("x")));
}

TEST(TypeLookup, TellsATypeFromItsBases) {
  Ref<> names = run(kDiamond);
  PyTypeObject* d = typeNamed(names, "D");
  EXPECT_EQ(ownAttribute(d, text("x")), nullptr);
  EXPECT_NE(ownAttribute(d, "__doc__"), nullptr);
  EXPECT_EQ(base(typeNamed(names, "B")), typeNamed(names, "A"));
  EXPECT_EQ(PyTuple_GET_SIZE(bases(d)), 2);
  EXPECT_EQ(PyTuple_GET_SIZE(mro(d)), 5);
  EXPECT_TRUE(isHeapType(d));
  EXPECT_FALSE(isImmutable(d));
  EXPECT_TRUE(isImmutable(&PyLong_Type));
  EXPECT_EQ(staticBase(d), &PyBaseObject_Type);
  EXPECT_EQ(staticBase(&PyLong_Type), &PyLong_Type);
  EXPECT_EQ(std::string(nameOf(d)), "D");
}

}  // namespace
}  // namespace armature::cpython
