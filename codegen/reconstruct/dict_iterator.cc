// A new iterator of the dict or set, advanced past the items that the trace has seen: it must
// notice what happens to the container later. Of an existing one it is made before effects are
// replayed, where that has its keys already, or behind them, where they give it those that it had
// when the iterator was made. Otherwise there is no such iterator.
#include <algorithm>

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/checked.h"
#include "variables/containers/dict.h"
#include "variables/containers/iterators.h"
#include "variables/containers/set.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

DictIteratorVariable* iteratorOf(VariableTracker* tracker) {
  return llvm::cast<DictIteratorVariable>(tracker);
}

// Had the dict, when the iterator was made, the keys that it has before effects are replayed? What
// the iterator has given since comes before all changes of keys, behind which it gives nothing; it
// notices them when they are replayed.
bool isOlderThanChanges(Translator& translator, DictIteratorVariable* iterator,
                        DictVariable* dict) {
  if (!dict->existing() || dict->isOrdered() || iterator->reversed) return false;
  size_t keysBefore = 0;
  for (int32_t i = 0; i < dict->entries().entryCount(); ++i) {
    bool existed = dict->entries()[i].existed;
    if (i < iterator->entryCount && !existed) return false;
    keysBefore += existed;
  }
  // One that has failed fails again.
  bool failsAgain = iterator->expectedSize == SIZE_MAX && dict->size(translator) != keysBefore;
  return failsAgain || iterator->expectedSize == keysBefore;
}

enum class Moment : uint8_t { BeforeEffects, BehindEffects, Never };

Moment momentOf(Translator& translator, DictIteratorVariable* iterator, DictVariable* dict) {
  if (isOlderThanChanges(translator, iterator, dict)) return Moment::BeforeEffects;
  if (dict->size(translator) != iterator->expectedSize ||
      dict->entries().entryCount() != iterator->entryCount) {
    return Moment::Never;
  }
  for (int32_t i = 0; dict->existing() && i < dict->entries().entryCount(); ++i) {
    const OrderedValueMap::Entry& entry = dict->entries()[i];
    if (entry.existed != entry.live()) return Moment::BehindEffects;
  }
  return Moment::BeforeEffects;
}

// Items that come and go may leave a set in another order.
Moment momentOf(Translator& translator, DictIteratorVariable* iterator, SetVariable* set) {
  if (set->existing() && !translator.effects.isWritten(set)) return Moment::BeforeEffects;
  ValueVector order;
  if (!set->inOrder(translator, order) || order.size() != iterator->order.size() ||
      !std::equal(order.begin(), order.end(), iterator->order.begin(),
                  [](const Value& left, const Value& right) { return left.sameAs(right); })) {
    return Moment::Never;
  }
  return set->existing() ? Moment::BehindEffects : Moment::BeforeEffects;
}

Moment momentOf(Translator& translator, DictIteratorVariable* iterator) {
  if (iterator->exhausted) return Moment::BeforeEffects;
  auto* dict = llvm::dyn_cast<DictVariable>(iterator->container);
  return dict ? momentOf(translator, iterator, dict)
              : momentOf(translator, iterator, llvm::cast<SetVariable>(iterator->container));
}

constexpr const char* kViews[] = {"keys", "values", "items"};

void buildExhausted(PyCodegen& codegen, DictIteratorVariable* iterator) {
  auto* dict = llvm::dyn_cast<DictVariable>(iterator->container);
  if (!dict) {
    codegen.assembler().emit(Opcode::BUILD_SET, 0);
    codegen.assembler().emit(Opcode::GET_ITER);
    return;
  }
  PyTypeObject* type = dict->isOrdered() ? &PyODict_Type : &PyDict_Type;
  if (iterator->reversed) codegen.prepareCall(reinterpret_cast<PyObject*>(&PyReversed_Type));
  codegen.prepareCall(builtinAttribute(type, kViews[static_cast<int>(iterator->view)]));
  codegen.prepareCall(reinterpret_cast<PyObject*>(type));
  codegen.call(0);
  codegen.call(1);
  if (iterator->reversed) {
    codegen.call(1);
  } else {
    codegen.assembler().emit(Opcode::GET_ITER);
  }
}

class DictIteratorReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    if (!iteratorOf(tracker)->exhausted) visit(iteratorOf(tracker)->container);
  }
  void filledBefore(VariableTracker* tracker, PartVisitor visit) const override {
    auto* iterator = iteratorOf(tracker);
    if (iterator->exhausted) return;
    auto* dict = llvm::dyn_cast<DictVariable>(iterator->container);
    visit(dict && dict->owner() ? dict->owner() : iterator->container);
  }
  bool showsState() const override { return true; }
  VariableTracker* showsReplayed(Translator& translator, VariableTracker* tracker) const override {
    DictIteratorVariable* iterator = iteratorOf(tracker);
    bool isBehind = momentOf(translator, iterator) == Moment::BehindEffects;
    return isBehind ? iterator->container : nullptr;
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* iterator = iteratorOf(tracker);
    bool isSet = llvm::isa<SetVariable>(iterator->container);
    if (momentOf(codegen.translator(), iterator) == Moment::Never ||
        (isSet && !iterator->exhausted && codegen.isMadeInTwoSteps(iterator->container))) {
      throw UnsupportedReconstruction(describe(tracker));
    }
    Assembler& assembler = codegen.assembler();
    if (iterator->exhausted) {
      // One of an empty container of its own.
      return buildExhausted(codegen, iterator);
    }
    if (llvm::isa<SetVariable>(iterator->container)) {
      prepareMethodCall(codegen, iterator->container, "__iter__");
      codegen.call(1);
      if (iterator->position > 0) advanceTop(codegen, iterator->position);
      return;
    }
    if (iterator->reversed) {
      codegen.prepareCall(reinterpret_cast<PyObject*>(&PyReversed_Type));
    }
    prepareMethodCall(codegen, iterator->container, kViews[static_cast<int>(iterator->view)]);
    codegen.call(1);
    if (iterator->reversed) {
      codegen.call(1);
    } else {
      assembler.emit(Opcode::GET_ITER);
    }
    bool hasFailed = iterator->expectedSize == SIZE_MAX;
    size_t seen = hasFailed ? 0 : iterator->expectedSize - iterator->remaining;
    if (seen) advanceTop(codegen, static_cast<int64_t>(seen));
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(DictIterator)

}  // namespace armature
