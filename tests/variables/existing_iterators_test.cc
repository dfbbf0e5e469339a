// Iterators that existed before the trace: what is guarded, what is recorded, and that a rewind
// forgets it.
#include "variables/containers/existing_iterators.h"

#include <gtest/gtest.h>

#include "core/graph_break.h"
#include "tests/variables/test_translator.h"
#include "variables/containers/iterators.h"
#include "variables/protocol/object_protocol.h"

namespace armature {
namespace {

class ExistingIterator : public testing::Test {
 protected:
  Value load(const char* expression) {
    object_ = evaluate(expression);
    return input("i", object_.get());
  }
  Value input(const char* name, PyObject* object) {
    Value value = translator_.realized(translator_.input(name, object));
    translator_.trail.cut();
    return value;
  }
  // What the next steps give, as Python writes them.
  std::string steps(const Value& iterator, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      Value item = iteratorNext(translator_, iterator);
      text += item ? repr(translator_.real(item).get()) + " " : "end ";
    }
    return text;
  }
  // The steps recorded for each iterator, in order.
  std::vector<int64_t> recorded() const {
    std::vector<int64_t> steps;
    for (int32_t i = 0; i < translator_.effects.size(); ++i) {
      const Effect& effect = translator_.effects[i];
      if (effect.kind == EffectKind::IteratorAdvance) steps.push_back(effect.index);
    }
    return steps;
  }

  TestTranslator translator_;
  Ref<> object_;
};

TEST_F(ExistingIterator, GuardsThatThereIsAnItemAndNotWhere) {
  Value iterator = load("iter([object, 2, 3])");
  Value item = iteratorNext(translator_, iterator);
  EXPECT_EQ(item.tracker()->source()->name(), "ahead(L['i'])[0]");
  EXPECT_EQ(translator_.guardText(),
            "TYPE_MATCH L['i']\n"
            "TYPE_MATCH L['i'].<container>\n"
            "ITERATOR_ITEM L['i']\n");
  EXPECT_EQ(recorded(), std::vector<int64_t>{1});
}

TEST_F(ExistingIterator, EndsOnce) {
  Value iterator = load("iter([1, 2])");
  EXPECT_EQ(steps(iterator, 4), "1 2 end end ");
  EXPECT_EQ(recorded(), std::vector<int64_t>{3});
  EXPECT_NE(translator_.guardText().find("ITERATOR_END L['i']"), std::string::npos);
}

TEST_F(ExistingIterator, ForgetsARewoundStep) {
  Value iterator = load("iter([1, 2])");
  EXPECT_EQ(steps(iterator, 1), "1 ");
  translator_.trail.cut();
  EXPECT_EQ(steps(iterator, 3), "2 end end ");
  translator_.trail.rewind();
  EXPECT_EQ(recorded(), std::vector<int64_t>{1});
  EXPECT_EQ(steps(iterator, 2), "2 end ");
}

TEST_F(ExistingIterator, GivesWhatWasAppended) {
  Ref<> list = evaluate("[1]");
  Value items = input("xs", list.get());
  object_ = Ref<>::steal(PyObject_GetIter(list.get()));
  Value iterator = input("i", object_.get());
  trackerOf<ListVariable>(items)->append(translator_, Value::integer(5));
  EXPECT_EQ(steps(iterator, 3), "1 5 end ");
  EXPECT_EQ(translator_.guardText().find("SEQUENCE_LENGTH"), std::string::npos);
}

TEST_F(ExistingIterator, BreaksWhereItemsHaveMoved) {
  Ref<> list = evaluate("[1, 2]");
  Value items = input("xs", list.get());
  object_ = Ref<>::steal(PyObject_GetIter(list.get()));
  Value iterator = input("i", object_.get());
  trackerOf<ListVariable>(items)->pop(translator_, 0);
  EXPECT_THROW(iteratorNext(translator_, iterator), GraphBreak);
}

TEST_F(ExistingIterator, CountsTheStepsOfSeveralTogether) {
  Value iterator = load("zip('abc', (object(), object(), object()))");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(iteratorNext(translator_, iterator));
  EXPECT_EQ(recorded(), (std::vector<int64_t>{3, 3}));
}

TEST_F(ExistingIterator, LooksAtANumberOnlyWhenItIsAsked) {
  Value iterator = load("enumerate([object()], 7)");
  Value pair = iteratorNext(translator_, iterator);
  EXPECT_EQ(translator_.guardText().find("EQUALS_MATCH"), std::string::npos);
  EXPECT_EQ(recorded(), (std::vector<int64_t>{1, 1}));
  Value number = translator_.realized(trackerOf<TupleVariable>(pair)->items()[0]);
  EXPECT_TRUE(number.isConstant());
  EXPECT_NE(translator_.guardText().find("EQUALS_MATCH L['i'].<count> 7"), std::string::npos);
}

}  // namespace
}  // namespace armature
