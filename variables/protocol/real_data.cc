#include "variables/protocol/real_data.h"

#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

Ref<> realSequence(Translator& translator, const SequenceVariable* sequence) {
  Ref<> list = Ref<>::steal(PyList_New(0));
  for (const Value& item : sequence->items()) {
    Ref<> real = toRealData(translator, item);
    if (!real) return nullptr;
    PyList_Append(list.get(), real.get());
  }
  return llvm::isa<ListVariable>(sequence) ? list : Ref<>::steal(PyList_AsTuple(list.get()));
}

Ref<> realDict(Translator& translator, DictVariable* dict) {
  Ref<> result = Ref<>::steal(PyDict_New());
  bool data = true;
  dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    Ref<> value = data ? toRealData(translator, entry.value) : nullptr;
    data = value && isConstantData(entry.key);
    if (data) PyDict_SetItem(result.get(), entry.key.object(), value.get());
  });
  return data ? result : nullptr;
}

}  // namespace

Ref<> toRealData(Translator& translator, Value value) {
  translator.realize(value);
  if (value.isConstant()) return isConstantData(value) ? Ref<>::create(value.object()) : nullptr;
  if (auto* sequence = trackerOf<SequenceVariable>(value)) {
    return llvm::isa<NamedTupleVariable>(sequence) ? nullptr : realSequence(translator, sequence);
  }
  auto* dict = trackerOf<DictVariable>(value);
  return dict && dict->type() == &PyDict_Type ? realDict(translator, dict) : nullptr;
}

bool makeData(Translator& translator, CallArguments& arguments) {
  llvm::SmallVector<Value, 6> copies;
  for (const Value& argument : arguments.values) {
    Ref<> real = toRealData(translator, argument);
    if (!real) return false;
    copies.push_back(Value::steal(real.release()));
  }
  arguments.values = std::move(copies);
  return true;
}

}  // namespace armature
