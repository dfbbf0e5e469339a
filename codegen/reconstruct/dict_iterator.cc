// A new iterator of the dict, advanced past the items that the trace has seen: it must notice what
// happens to the dict later. Where the trace has changed the keys of a new dict since it began,
// there is no such iterator.
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

bool canBeMade(PyCodegen& codegen, DictIteratorVariable* iterator) {
  if (iterator->exhausted) return true;
  auto* dict = llvm::dyn_cast<DictVariable>(iterator->container);
  // A copy of a set, and a set that was changed and changed back, may have another order.
  if (!dict) {
    return iterator->container->source() &&
           !codegen.translator().effects.isWritten(iterator->container);
  }
  // The dict of a new object gets its items when everything else is there.
  const VariableTracker* object = dict->instance ? dict->instance : dict->owner();
  bool isFilledLater = object ? !object->existing() : codegen.isMadeInTwoSteps(dict);
  if (isFilledLater && dict->size(codegen.translator()) > 0) return false;
  if (isOlderThanChanges(codegen.translator(), iterator, dict)) return true;
  if (dict->size(codegen.translator()) != iterator->expectedSize ||
      dict->entries().entryCount() != iterator->entryCount) {
    return false;
  }
  // It is made before effects are replayed: an existing dict must have its keys already.
  for (int32_t i = 0; dict->existing() && i < dict->entries().entryCount(); ++i) {
    const OrderedValueMap::Entry& entry = dict->entries()[i];
    if (entry.existed != entry.live()) return false;
  }
  return true;
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
  bool showsState() const override { return true; }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* iterator = iteratorOf(tracker);
    if (!canBeMade(codegen, iterator)) throw UnsupportedReconstruction(describe(tracker));
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
