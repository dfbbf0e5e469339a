// dict, OrderedDict and defaultdict, and the __dict__ of a new object.
#include "variables/containers/dict.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict_methods.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

DictVariable* dictOf(VariableTracker* tracker) { return llvm::cast<DictVariable>(tracker); }

// dict[key] = value, by the builtin type's own function.
void setItem(PyCodegen& codegen, DictVariable* dict, const Value& key, const Value& value) {
  if (isKeyByMethods(key)) return setItemOfHash(codegen, dict, key, value);
  if (cpython::isHeapType(dict->type())) {
    prepareMethodCall(codegen, dict, "__setitem__");
    codegen.load(key);
    codegen.load(value);
    codegen.call(3);
    codegen.assembler().emit(Opcode::POP_TOP);
    return;
  }
  codegen.load(value);
  codegen.load(dict);
  codegen.load(key);
  codegen.assembler().emit(Opcode::STORE_SUBSCR);
}

// Of the dict behind a class's __dict__, which nothing else may write.
void replayInClass(PyCodegen& codegen, DictVariable* dict, const Effect& effect) {
  bool isSet = effect.kind == EffectKind::DictSet;
  if (!isSet && effect.kind != EffectKind::DictDelete) {
    throw UnsupportedReconstruction("a change of a class's __dict__");
  }
  changeClassAttribute(
      codegen, [&] { codegen.loadSource(dict->source()->base()); }, effect.key,
      isSet ? dict->written(effect.key) : Value());
}

class DictReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker* tracker) const override {
    DictVariable* dict = dictOf(tracker);
    if (dict->owner()) return Steps::One;
    bool byMethods = false;
    for (int32_t i = 0; !byMethods && i < dict->entries().entryCount(); ++i) {
      byMethods = isKeyByMethods(dict->entries()[i].key);
    }
    return dict->type() == &PyDict_Type && !byMethods ? Steps::OneOrTwo : Steps::Two;
  }

  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    DictVariable* dict = dictOf(tracker);
    if (dict->owner()) visit(dict->owner());
    visit(dict->defaultFactory);
  }

  void holds(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    DictVariable* dict = dictOf(tracker);
    if (dict->owner()) return;  // Which fills it.
    for (DictVariable* each : {dict, dict->attributes}) {
      if (!each) continue;
      each->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
        visit(entry.key);
        visit(entry.value);
      });
    }
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    DictVariable* dict = dictOf(tracker);
    if (dict->owner()) return codegen.loadInstanceDict(dict->owner());
    int32_t size = 0;
    dict->forEach(codegen.translator(), [&](const OrderedValueMap::Entry& entry) {
      codegen.load(entry.key);
      codegen.load(entry.value);
      ++size;
    });
    codegen.assembler().emit(Opcode::BUILD_MAP, size);
  }

  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    DictVariable* dict = dictOf(tracker);
    PyTypeObject* type = dict->type();
    if (type == &PyDict_Type) {
      codegen.assembler().emit(Opcode::BUILD_MAP, 0);
    } else if (type == &PyODict_Type || type == defaultDictType()) {
      codegen.prepareCall(reinterpret_cast<PyObject*>(type));
      if (dict->defaultFactory) codegen.load(dict->defaultFactory);
      codegen.call(dict->defaultFactory ? 1 : 0);
    } else {
      throw UnsupportedReconstruction(std::string("a new ") + type->tp_name);
    }
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }

  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    DictVariable* dict = dictOf(tracker);
    dict->forEach(codegen.translator(), [&](const OrderedValueMap::Entry& entry) {
      setItem(codegen, dict, entry.key, entry.value);
    });
    if (dict->attributes) fillInstanceDict(codegen, dict, dict->attributes);
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    visit(effect.key);
    if (effect.kind == EffectKind::DictSet) visit(dictOf(effect.target)->written(effect.key));
  }

  void replay(PyCodegen& codegen, const Effect& effect) const override {
    DictVariable* dict = dictOf(effect.target);
    if (dict->source()->kind() == SourceKind::TypeDict) return replayInClass(codegen, dict, effect);
    switch (effect.kind) {
      case EffectKind::DictSet:
        setItem(codegen, dict, effect.key, dict->written(effect.key));
        return;
      case EffectKind::DictDelete:
        if (effect.index && dict->type() == &PyDict_Type) {
          prepareMethodCall(codegen, dict, "popitem");
          codegen.call(1);
          codegen.assembler().emit(Opcode::POP_TOP);
          return;
        }
        if (isKeyByMethods(effect.key)) return setItemOfHash(codegen, dict, effect.key, Value());
        if (cpython::isHeapType(dict->type())) {
          prepareMethodCall(codegen, dict, "__delitem__");
          codegen.load(effect.key);
          codegen.call(2);
          codegen.assembler().emit(Opcode::POP_TOP);
          return;
        }
        codegen.load(dict);
        codegen.load(effect.key);
        codegen.assembler().emit(Opcode::DELETE_SUBSCR);
        return;
      case EffectKind::DictClear:
        prepareMethodCall(codegen, dict, "clear");
        codegen.call(1);
        codegen.assembler().emit(Opcode::POP_TOP);
        return;
      default:
        Reconstructor::replay(codegen, effect);
    }
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Dict)

}  // namespace armature
