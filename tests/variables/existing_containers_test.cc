// Containers that existed before the trace: what is guarded, what is recorded as changed, and that
// a rewind forgets all of it.
#include <gtest/gtest.h>

#include "tests/variables/test_translator.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/ends_of_objects.h"
#include "variables/protocol/object_protocol.h"

namespace armature {
namespace {

class ExistingDict : public testing::Test {
 protected:
  // The variable of the dict that an expression makes, found in the local variable `d`.
  DictVariable* load(const char* expression) {
    object_ = evaluate(expression);
    Value value = translator_.realized(translator_.input("d", object_.get()));
    translator_.trail.cut();
    guardsBefore_ = translator_.guards().size();
    return trackerOf<DictVariable>(value);
  }
  // The guards since then.
  std::string guards() const {
    std::string text = translator_.guardText();
    for (size_t i = 0; i < guardsBefore_; ++i) text.erase(0, text.find('\n') + 1);
    return text;
  }
  Value key(const char* expression) { return translator_.traced(evaluate(expression).get()); }
  std::string real(const Value& value) { return repr(translator_.real(value).get()); }

  // What replay would do: "del 'a'" and "'b' = 1", in order.
  std::string changes(const DictVariable* dict) {
    std::string text;
    for (int32_t i = 0; i < translator_.effects.size(); ++i) {
      const Effect& effect = translator_.effects[i];
      if (effect.kind == EffectKind::Cancelled) continue;
      text += text.empty() ? "" : ", ";
      if (effect.kind == EffectKind::DictClear) {
        text += "clear";
      } else if (effect.kind == EffectKind::DictDelete) {
        text += "del " + real(effect.key);
      } else {
        text += real(effect.key) + " = " + real(dict->written(effect.key));
      }
    }
    return text;
  }

  TestTranslator translator_;
  Ref<> object_;
  size_t guardsBefore_ = 0;
};

TEST_F(ExistingDict, GuardsOnlyTheKeysThatAreAsked) {
  DictVariable* dict = load("{'a': 1, 'b': 2}");
  EXPECT_TRUE(dict->get(translator_, key("'a'")));
  EXPECT_FALSE(dict->get(translator_, key("'c'")));
  EXPECT_EQ(guards(), "DICT_CONTAINS L['d'] 'a'\nDICT_NOT_CONTAINS L['d'] 'c'\n");
}

TEST_F(ExistingDict, GuardsAKeyOnce) {
  DictVariable* dict = load("{'a': 1}");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(dict->has(translator_, key("'a'")));
    EXPECT_FALSE(dict->has(translator_, key("'c'")));
  }
  EXPECT_EQ(guards(), "DICT_CONTAINS L['d'] 'a'\nDICT_NOT_CONTAINS L['d'] 'c'\n");
}

TEST_F(ExistingDict, GuardsAllKeysWhereTheirNumberMatters) {
  DictVariable* dict = load("{'a': 1, 'b': 2}");
  EXPECT_EQ(dict->size(translator_), 2u);
  EXPECT_EQ(guards(), "DICT_KEYS_MATCH L['d'] ['a', 'b']\n");
}

TEST_F(ExistingDict, AnswersEqualKeysOfOtherTypes) {
  DictVariable* dict = load("{1: 'one', (2, 3): 'pair'}");
  EXPECT_EQ(real(dict->get(translator_, key("True"))), "'one'");
  EXPECT_EQ(real(dict->get(translator_, key("1.0"))), "'one'");
  EXPECT_EQ(real(dict->get(translator_, key("(2.0, 3)"))), "'pair'");
  // The keys stay those of the dict.
  EXPECT_EQ(real(Value(dict)), "{1: 'one', (2, 3): 'pair'}");
}

TEST_F(ExistingDict, PutsEntriesInTheDictsOrder) {
  DictVariable* dict = load("{'a': 1, 'b': 2, 'c': 3}");
  dict->set(translator_, key("'new'"), key("0"));
  dict->get(translator_, key("'c'"));
  dict->set(translator_, key("'b'"), key("20"));
  EXPECT_EQ(real(Value(dict)), "{'a': 1, 'b': 20, 'c': 3, 'new': 0}");
}

TEST_F(ExistingDict, ReplaysDeletionBeforeReinsertion) {
  DictVariable* dict = load("{'a': 1, 'b': 2, 'c': 3}");
  dict->set(translator_, key("'x'"), key("5"));
  dict->remove(translator_, key("'a'"));
  dict->set(translator_, key("'a'"), key("10"));
  dict->remove(translator_, key("'x'"));
  EXPECT_EQ(changes(dict), "del 'a', 'a' = 10");
  EXPECT_EQ(real(Value(dict)), "{'b': 2, 'c': 3, 'a': 10}");
  // The order of the changes survives that all keys were loaded.
  EXPECT_EQ(changes(dict), "del 'a', 'a' = 10");
}

TEST_F(ExistingDict, DeletesAgainWhatWasPutBack) {
  DictVariable* dict = load("{'a': 1, 'b': 2}");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(dict->remove(translator_, key("'a'")));
    EXPECT_FALSE(dict->remove(translator_, key("'a'")));
    EXPECT_TRUE(dict->set(translator_, key("'a'"), key("3")));
  }
  dict->remove(translator_, key("'a'"));
  EXPECT_EQ(real(Value(dict)), "{'b': 2}");
  EXPECT_EQ(changes(dict), "del 'a'");
}

TEST_F(ExistingDict, RecordsWhatWasDoneAndNotTakenBack) {
  DictVariable* dict = load("{'a': 1}");
  dict->get(translator_, key("'a'"));
  EXPECT_TRUE(translator_.effects.written().empty());
  dict->set(translator_, key("'b'"), key("1"));
  dict->remove(translator_, key("'b'"));
  EXPECT_EQ(changes(dict), "");
  dict->set(translator_, key("'c'"), key("1"));
  dict->set(translator_, key("'a'"), key("2"));
  dict->set(translator_, key("'c'"), key("3"));
  EXPECT_EQ(changes(dict), "'c' = 3, 'a' = 2");
  dict->clear(translator_);
  EXPECT_EQ(changes(dict), "clear");
  EXPECT_EQ(translator_.effects.written().size(), 1u);
}

TEST_F(ExistingDict, ForgetsAllWhenRewound) {
  DictVariable* dict = load("{'a': 1, 'b': 2}");
  dict->get(translator_, key("'b'"));
  dict->get(translator_, key("'zz'"));
  dict->remove(translator_, key("'a'"));
  dict->set(translator_, key("'a'"), key("7"));
  dict->size(translator_);
  dict->set(translator_, key("'q'"), key("8"));
  dict->clear(translator_);
  translator_.trail.rewind();
  EXPECT_EQ(guards(), "");
  EXPECT_EQ(dict->entries().entryCount(), 0);
  EXPECT_TRUE(translator_.effects.written().empty());
  EXPECT_EQ(changes(dict), "");
  EXPECT_EQ(real(Value(dict)), "{'a': 1, 'b': 2}");
}

TEST_F(ExistingDict, NeverRunsTheCodeOfItsKeys) {
  // A class whose instances count how often they are hashed and compared.
  Ref<> made = evaluate(
      "(lambda calls: (lambda K: ({K(): 1, 'a': 2, 1: 3}, calls.clear(), calls))("
      "type('K', (), {'__hash__': lambda self: calls.append('hash') or 1,"
      "'__eq__': lambda self, other: calls.append('eq') or False})))([])");
  object_ = Ref<>::create(PyTuple_GET_ITEM(made.get(), 0));
  PyObject* calls = PyTuple_GET_ITEM(made.get(), 2);
  Value value = translator_.realized(translator_.input("d", object_.get()));
  auto* dict = trackerOf<DictVariable>(value);
  EXPECT_TRUE(dict->get(translator_, key("'a'")));
  EXPECT_FALSE(dict->get(translator_, key("'b'")));
  // An int may meet such a key: the dict has to be read whole, and its key is not modelled.
  EXPECT_THROW(dict->get(translator_, key("1")), GraphBreak);
  EXPECT_THROW(dict->size(translator_), GraphBreak);
  EXPECT_EQ(PyList_GET_SIZE(calls), 0);
}

TEST_F(ExistingDict, ReadsAnOrderedDictInItsOwnOrder) {
  DictVariable* dict =
      load("(lambda o: (o.move_to_end('a'), o)[1])(collections.OrderedDict(a=1, b=2, c=3))");
  EXPECT_EQ(real(Value(dict)), "OrderedDict([('b', 2), ('c', 3), ('a', 1)])");
  EXPECT_EQ(guards(),
            "DICT_KEYS_MATCH L['d'] ['b', 'c', 'a']\n"
            "EQUALS_MATCH L['d']['b'] 2\nEQUALS_MATCH L['d']['c'] 3\n"
            "EQUALS_MATCH L['d']['a'] 1\n");
}

TEST(ExistingList, GuardsTheItemsThatAreLookedAt) {
  TestTranslator translator;
  Ref<> object = evaluate("[1, 'x', None]");
  Value value = translator.realized(translator.input("xs", object.get()));
  auto* list = trackerOf<ListVariable>(value);
  list->append(translator, list->items()[2]);
  list->setItem(translator, 0, list->items()[1]);
  EXPECT_EQ(translator.effects.written().size(), 1u);
  EXPECT_EQ(contains(translator, value, Value::string("x")), 1);
  settleEnds(translator);
  EXPECT_EQ(translator.guardText(),
            "TYPE_MATCH L['xs']\nSEQUENCE_LENGTH L['xs']\nEQUALS_MATCH L['xs'][1] 'x'\n"
            "ENDS_SILENTLY L['xs'][0]\n");
  EXPECT_EQ(repr(translator.real(value).get()), "['x', 'x', None, None]");
}

TEST(ExistingList, ForgetsAllWhenRewound) {
  TestTranslator translator;
  Ref<> object = evaluate("[1, 2, 3]");
  Value value = translator.realized(translator.input("xs", object.get()));
  translator.trail.cut();
  auto* list = trackerOf<ListVariable>(value);
  for (int i = 0; i < 20; ++i) list->append(translator, Value::integer(i));
  list->setItem(translator, 5, Value::none());
  list->pop(translator, 0);
  list->replace(translator, {Value::integer(9)});
  list->setItem(translator, 0, Value::none());
  list->append(translator, Value::none());
  translator.trail.rewind();
  EXPECT_TRUE(translator.effects.written().empty());
  EXPECT_EQ(repr(translator.real(value).get()), "[1, 2, 3]");
}

}  // namespace
}  // namespace armature
