#include "variables/protocol/real_data.h"

#include <llvm/ADT/DenseMap.h>

#include "core/checked.h"
#include "variables/constants/constant.h"
#include "variables/containers/deque.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"

namespace armature {

namespace {

// Containers that are met twice become one object, as they are; one that holds itself is no data.
class RealData {
 public:
  explicit RealData(Translator& translator) : translator_(translator) {}

  Ref<> make(Value value) {
    translator_.realize(value);
    if (value.isConstant()) return isConstantData(value) ? Ref<>::create(value.object()) : nullptr;
    auto* sequence = trackerOf<SequenceVariable>(value);
    auto* dict = trackerOf<DictVariable>(value);
    bool plain = sequence ? !llvm::isa<NamedTupleVariable, DequeVariable>(sequence)
                          : dict && dict->type() == &PyDict_Type;
    if (!plain) return nullptr;
    auto [found, inserted] = made_.try_emplace(value.tracker());
    if (!inserted) return found->second;
    RecursionGuard guard(translator_);
    Ref<> real = sequence ? makeSequence(sequence) : makeDict(dict);
    made_[value.tracker()] = real;
    return real;
  }

 private:
  Ref<> makeSequence(const SequenceVariable* sequence) {
    Ref<> list = checked(PyList_New(0));
    for (const Value& item : sequence->items()) {
      Ref<> real = make(item);
      if (!real) return nullptr;
      checked(PyList_Append(list.get(), real.get()));
    }
    return llvm::isa<ListVariable>(sequence) ? list : checked(PyList_AsTuple(list.get()));
  }

  Ref<> makeDict(DictVariable* dict) {
    Ref<> result = checked(PyDict_New());
    bool data = true;
    dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
      Ref<> key = data ? make(entry.key) : nullptr;
      Ref<> value = key ? make(entry.value) : nullptr;
      data = static_cast<bool>(value);
      if (data) checked(PyDict_SetItem(result.get(), key.get(), value.get()));
    });
    return data ? result : nullptr;
  }

  Translator& translator_;
  // Null while a container is being made.
  llvm::DenseMap<const VariableTracker*, Ref<>> made_;
};

}  // namespace

Ref<> toRealData(Translator& translator, Value value) {
  return RealData(translator).make(std::move(value));
}

bool makeData(Translator& translator, CallArguments& arguments) {
  llvm::SmallVector<Value, 6> copies;
  RealData data(translator);
  for (const Value& argument : arguments.values) {
    Ref<> real = data.make(argument);
    if (!real) return false;
    copies.push_back(Value::steal(real.release()));
  }
  arguments.values = std::move(copies);
  return true;
}

void requireNoUnknownText(Translator& translator, const Value& value) {
  if (!translator.heap.isSubtype(typeOf(value), &PyUnicode_Type)) return;
  throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(value));
}

bool dropTypeErrorOfData(Translator& translator) {
  auto* error = reinterpret_cast<PyTypeObject*>(PyExc_TypeError);
  if (!translator.exceptionPending() || typeOf(translator.exception()) != error) return false;
  translator.dropException();
  return true;
}

Value fromRealData(Translator& translator, PyObject* object) {
  if (PyList_CheckExact(object)) {
    ValueVector items;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {
      items.push_back(fromRealData(translator, PyList_GET_ITEM(object, i)));
    }
    return translator.make<ListVariable>(std::move(items));
  }
  if (!PyDict_CheckExact(object)) return Value::constant(object);
  auto* dict = translator.make<DictVariable>();
  PyObject *key, *value;
  for (Py_ssize_t place = 0; PyDict_Next(object, &place, &key, &value);) {
    dict->set(translator, Value::constant(key), fromRealData(translator, value));
  }
  return dict;
}

}  // namespace armature
