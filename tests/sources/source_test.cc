#include "sources/source.h"

#include <gtest/gtest.h>

namespace armature {
namespace {

Ref<> evaluate(const char* expression) {
  Ref<> names = Ref<>::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> value = Ref<>::steal(PyRun_String(expression, Py_eval_input, names.get(), names.get()));
  EXPECT_TRUE(value) << expression;
  return value;
}

Ref<> string(const char* text) { return Ref<>::steal(PyUnicode_FromString(text)); }

class SourceTest : public testing::Test {
 protected:
  const Source* local(const char* name) { return table.local(0, string(name)); }
  const Source* item(const Source* base, const char* key) {
    return table.item(SourceKind::DictItem, base, evaluate(key));
  }

  SourceTable table;
};

TEST_F(SourceTest, EqualSourcesAreOneObject) {
  const Source* x = local("x");
  EXPECT_EQ(x, local("x"));
  EXPECT_NE(x, table.local(1, string("y")));
  EXPECT_NE(x, table.localCell(0, string("x")));
  EXPECT_EQ(table.path(SourceKind::Type, x), table.path(SourceKind::Type, x));
  EXPECT_NE(table.path(SourceKind::Type, x), table.path(SourceKind::InstanceDict, x));
  EXPECT_EQ(table.item(SourceKind::ListItem, x, 3), table.item(SourceKind::ListItem, x, 3));
  EXPECT_NE(table.item(SourceKind::ListItem, x, 3), table.item(SourceKind::TupleItem, x, 3));
  EXPECT_EQ(table.builtinsDict(), table.builtinsDict());
  EXPECT_EQ(table.modulesDict(), table.modulesDict());
}

TEST_F(SourceTest, StringsAndIntsAreKeysByTypeAndValue) {
  const Source* x = local("x");
  EXPECT_EQ(item(x, "'ab'"), item(x, "''.join(['a', 'b'])"));
  EXPECT_EQ(item(x, "10 ** 20"), item(x, "int('1' + '0' * 20)"));
  EXPECT_NE(item(x, "1"), item(x, "True"));
  EXPECT_NE(item(x, "1"), item(x, "1.0"));
  EXPECT_NE(item(x, "1"), item(x, "'1'"));
  EXPECT_NE(item(x, "0"), item(x, "False"));
}

TEST_F(SourceTest, OtherKeysGoByIdentity) {
  const Source* x = local("x");
  Ref<> key = evaluate("(1, 2)");
  EXPECT_EQ(table.item(SourceKind::DictItem, x, key), table.item(SourceKind::DictItem, x, key));
  EXPECT_NE(table.item(SourceKind::DictItem, x, key), item(x, "tuple([1, 2])"));
  EXPECT_NE(item(x, "type('S', (str,), {})('a')"), item(x, "'a'"));
}

TEST_F(SourceTest, KeysAreKeptAlive) {
  Ref<> key = evaluate("type('Key', (), {})()");
  Py_ssize_t before = Py_REFCNT(key.get());
  {
    SourceTable other;
    other.item(SourceKind::DictItem, other.local(0, string("x")), key);
    EXPECT_EQ(Py_REFCNT(key.get()), before + 1);
  }
  EXPECT_EQ(Py_REFCNT(key.get()), before);
}

TEST_F(SourceTest, NamesReadLikePython) {
  const Source* x = local("x");
  auto path = [&](SourceKind kind, const Source* base) { return table.path(kind, base)->name(); };
  EXPECT_EQ(x->name(), "L['x']");
  EXPECT_EQ(item(x, "'k'")->name(), "L['x']['k']");
  EXPECT_EQ(item(item(x, "'k'"), "(1, 'a')")->name(), "L['x']['k'][(1, 'a')]");
  EXPECT_EQ(item(x, "object()")->name(), "L['x'][<object object>]");
  EXPECT_EQ(table.item(SourceKind::ListItem, x, 0)->name(), "L['x'][0]");
  EXPECT_EQ(table.item(SourceKind::TupleItem, x, 1)->name(), "L['x'][1]");
  EXPECT_EQ(table.item(SourceKind::DictKey, x, 2)->name(), "list(dict.keys(L['x']))[2]");
  EXPECT_EQ(table.instanceAttribute(x, string("fc1"))->name(), "L['x'].fc1");
  EXPECT_EQ(table.instanceAttribute(x, string("a b"))->name(), "L['x'].__dict__['a b']");
  EXPECT_EQ(path(SourceKind::InstanceDict, x), "L['x'].__dict__");
  const Source* type = table.path(SourceKind::Type, x);
  EXPECT_EQ(type->name(), "type(L['x'])");
  EXPECT_EQ(table.item(SourceKind::TypeAttribute, type, string("forward"))->name(),
            "type(L['x']).forward");
  EXPECT_EQ(path(SourceKind::TypeMro, type), "type(L['x']).__mro__");
  const Source* closure = table.path(SourceKind::FunctionClosure, x);
  EXPECT_EQ(path(SourceKind::CellContents, table.item(SourceKind::TupleItem, closure, 0)),
            "L['x'].__closure__[0].cell_contents");
  EXPECT_EQ(path(SourceKind::FunctionCode, x), "L['x'].__code__");
  EXPECT_EQ(path(SourceKind::FunctionDefaults, x), "L['x'].__defaults__");
  EXPECT_EQ(path(SourceKind::FunctionKwDefaults, x), "L['x'].__kwdefaults__");
  EXPECT_EQ(path(SourceKind::MethodFunction, x), "L['x'].__func__");
  EXPECT_EQ(path(SourceKind::MethodSelf, x), "L['x'].__self__");
  EXPECT_EQ(table.item(SourceKind::Slot, x, evaluate("slice.start"))->name(), "L['x'].start");
  EXPECT_EQ(table.localCell(0, string("x"))->name(), "cell(L['x'])");
  const Source* iterator = table.item(SourceKind::IteratorField, x, 1);
  EXPECT_EQ(iterator->name(), "L['x'].<iterator>");
  EXPECT_EQ(table.item(SourceKind::IteratorItem, iterator, 2)->name(),
            "ahead(L['x'].<iterator>)[2]");
  EXPECT_EQ(table.item(SourceKind::IteratorValue, x, 0)->name(), "ahead(L['x'])[0].value");
}

TEST_F(SourceTest, NamesNestAndMayBeLong) {
  const Source* keys = table.item(SourceKind::DictKey, local("x"), 2);
  const Source* type = table.path(SourceKind::Type, keys);
  EXPECT_EQ(table.instanceAttribute(type, string("a"))->name(),
            "type(list(dict.keys(L['x']))[2]).a");
  const Source* deep = local("x");
  for (int i = 0; i < 200'000; ++i) deep = table.item(SourceKind::ListItem, deep, 0);
  EXPECT_EQ(deep->name().size(), 6 + 3 * 200'000u);
}

TEST_F(SourceTest, GlobalsNameTheirModule) {
  const Source* root = table.globalsDict(evaluate("{'__name__': 'main'}"), true);
  const Source* other = table.globalsDict(evaluate("{'__name__': 'a.b'}"), false);
  const Source* nameless = table.globalsDict(evaluate("{}"), false);
  EXPECT_EQ(item(root, "'torch'")->name(), "G['torch']");
  EXPECT_EQ(item(other, "'f'")->name(), "globals('a.b')['f']");
  EXPECT_EQ(nameless->name(), "<dict object>");
  EXPECT_EQ(item(table.builtinsDict(), "'len'")->name(), "__builtins__['len']");
  EXPECT_EQ(item(table.modulesDict(), "'math'")->name(), "sys.modules['math']");
}

TEST_F(SourceTest, KnowsItsRootAndDepth) {
  const Source* x = local("x");
  EXPECT_FALSE(item(x, "'k'")->isGlobal());
  EXPECT_FALSE(table.localCell(0, string("x"))->isGlobal());
  EXPECT_TRUE(item(table.builtinsDict(), "'len'")->isGlobal());
  EXPECT_TRUE(table.modulesDict()->isGlobal());
  EXPECT_EQ(x->depth(), 0);
  EXPECT_EQ(item(item(x, "'k'"), "1")->depth(), 2);
  EXPECT_EQ(table.instanceAttribute(x, string("a"))->depth(), 2);
}

}  // namespace
}  // namespace armature
