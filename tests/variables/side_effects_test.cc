// The log of effects: what stands in it after changes that take each other back, and after a
// rewind.
#include "variables/side_effects.h"

#include <gtest/gtest.h>

#include "tests/variables/test_translator.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"

namespace armature {
namespace {

class Effects : public testing::Test {
 protected:
  ListVariable* list(const char* name, const char* expression) {
    objects_.push_back(evaluate(expression));
    Value value = translator_.realized(translator_.input(name, objects_.back().get()));
    return trackerOf<ListVariable>(value);
  }
  // The kinds of the records that stand, in order.
  std::vector<EffectKind> log() const {
    std::vector<EffectKind> kinds;
    const SideEffects& effects = translator_.effects;
    for (int32_t i = 0; i < effects.size(); ++i) {
      if (effects[i].kind != EffectKind::Cancelled) kinds.push_back(effects[i].kind);
    }
    return kinds;
  }

  TestTranslator translator_;
  std::vector<Ref<>> objects_;
};

TEST_F(Effects, KeepTheOrderOverAllObjects) {
  ListVariable* a = list("a", "[1, 2]");
  ListVariable* b = list("b", "[3]");
  a->append(translator_, Value::integer(1));
  b->setItem(translator_, 0, Value::integer(2));
  a->pop(translator_, 0);
  const SideEffects& effects = translator_.effects;
  ASSERT_EQ(effects.size(), 3);
  EXPECT_EQ(effects[0].target, a);
  EXPECT_EQ(effects[1].target, b);
  EXPECT_EQ(effects[2].kind, EffectKind::SequenceDelete);
  EXPECT_EQ(effects.last(b), 1);
  EXPECT_EQ(effects.written(), (std::vector<VariableTracker*>{a, b}));
}

TEST_F(Effects, CancelAnAppendByTheNextPop) {
  ListVariable* a = list("a", "[1]");
  ListVariable* b = list("b", "[1]");
  for (int i = 0; i < 5; ++i) {
    a->append(translator_, Value::none());
    b->append(translator_, Value::none());
    a->pop(translator_, a->size() - 1);
  }
  // The list has been changed all the same, which is said once.
  std::vector<EffectKind> expected(6, EffectKind::SequenceAppend);
  expected[1] = EffectKind::SequenceTouch;
  EXPECT_EQ(log(), expected);
  EXPECT_EQ(translator_.effects[translator_.effects.last(a)].kind, EffectKind::SequenceTouch);
  EXPECT_EQ(translator_.effects.written().front(), a);
}

TEST_F(Effects, OfManyChangesAreTheItemsOfTheEnd) {
  ListVariable* a = list("a", "[1, 2, 3]");
  for (int i = 0; i < 100; ++i) a->setItem(translator_, i % 3, Value::integer(i));
  EXPECT_EQ(log(), std::vector<EffectKind>{EffectKind::SequenceRewrite});
}

TEST_F(Effects, DoNotReadAListThatOnlyGrows) {
  ListVariable* a = list("a", "[1, 2, 3]");
  for (int i = 0; i < 100; ++i) a->append(translator_, Value::integer(i));
  EXPECT_EQ(translator_.guardText(), "TYPE_MATCH L['a']\n");
  EXPECT_EQ(a->size(), 103u);
  EXPECT_EQ(translator_.guardText(), "TYPE_MATCH L['a']\nSEQUENCE_LENGTH L['a']\n");
  EXPECT_EQ(log().size(), 100u);
}

TEST_F(Effects, OfNewObjectsAreNone) {
  auto* fresh = translator_.make<ListVariable>(ValueVector{});
  fresh->append(translator_, Value::none());
  EXPECT_TRUE(translator_.effects.empty());
}

TEST_F(Effects, AreForgottenByARewind) {
  ListVariable* a = list("a", "[1, 2, 3]");
  a->append(translator_, Value::none());
  translator_.trail.cut();
  a->pop(translator_, 3);
  a->append(translator_, Value::integer(1));
  a->setItem(translator_, 0, Value::none());
  a->replace(translator_, {});
  EXPECT_EQ(log(), std::vector<EffectKind>{EffectKind::SequenceRewrite});
  translator_.trail.rewind();
  EXPECT_EQ(log(), std::vector<EffectKind>{EffectKind::SequenceAppend});
  EXPECT_EQ(translator_.effects.last(a), 0);
  EXPECT_EQ(repr(translator_.real(Value(a)).get()), "[1, 2, 3, None]");
}

}  // namespace
}  // namespace armature
