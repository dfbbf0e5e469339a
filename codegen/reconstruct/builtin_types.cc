#include "codegen/reconstruct/builtin_types.h"

#include <llvm/ADT/STLExtras.h>

#include "bytecode/private_function.h"
#include "codegen/unsupported.h"
#include "core/checked.h"
#include "core/constant.h"
#include "cpython/dict_layout.h"
#include "cpython/instance_attributes.h"
#include "cpython/iterators.h"
#include "cpython/made_classes.h"
#include "cpython/set_entries.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// advance_iterator(iterator, steps)
PyObject* advanceIterator(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  if (!cpython::advance(arguments[0], PyLong_AsLong(arguments[1]))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* advanceFunction() { return privateFunction<advanceIterator>("advance_iterator"); }

// end_iterator(iterator)
PyObject* endIterator(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  cpython::endIterator(arguments[0]);
  Py_RETURN_NONE;
}

// make_at_end(type)
PyObject* makeAtEnd(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return cpython::makeAtEnd(reinterpret_cast<PyTypeObject*>(arguments[0])).release();
}

PyObject* endFunction() { return privateFunction<endIterator>("end_iterator"); }

// set_item_of_hash(dict, key, value, hash)
PyObject* setItemOfHash(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  Py_hash_t hash = PyLong_AsSsize_t(arguments[3]);
  if (!cpython::setItem(arguments[0], arguments[1], arguments[2], hash)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* setItemOfHashFunction() { return privateFunction<setItemOfHash>("set_item_of_hash"); }

// delete_item_of_hash(dict, key, hash)
PyObject* deleteItemOfHash(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  Py_hash_t hash = PyLong_AsSsize_t(arguments[2]);
  if (!cpython::deleteItem(arguments[0], arguments[1], hash)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* deleteItemOfHashFunction() {
  return privateFunction<deleteItemOfHash>("delete_item_of_hash");
}

// set_of_hashes(type, hashes, *keys)
PyObject* setOfHashes(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  Ref<> keys = Ref<>::steal(PyDict_New());
  for (Py_ssize_t i = 2; keys && i < count; ++i) {
    // Of the others, the hash is that of the real object.
    PyObject* said = PyTuple_GET_ITEM(arguments[1], i - 2);
    Py_hash_t hash = said == Py_None ? PyObject_Hash(arguments[i]) : PyLong_AsSsize_t(said);
    if (hash == -1 && PyErr_Occurred()) return nullptr;
    if (!cpython::setItem(keys, arguments[i], Py_None, hash)) return nullptr;
  }
  if (!keys) return nullptr;
  bool isFrozen = arguments[0] == reinterpret_cast<PyObject*>(&PyFrozenSet_Type);
  return isFrozen ? PyFrozenSet_New(keys.get()) : PySet_New(keys.get());
}

PyObject* setOfHashesFunction() { return privateFunction<setOfHashes>("set_of_hashes"); }

// take_table(set, other)
PyObject* takeTableOf(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return cpython::takeTable(arguments[0], arguments[1]) ? Py_NewRef(arguments[0]) : nullptr;
}

PyObject* takeTableFunction() { return privateFunction<takeTableOf>("take_table"); }

// change_set(set, items, adds)
PyObject* changeSetBy(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  const char* adds = PyBytes_AS_STRING(arguments[2]);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments[1]); ++i) {
    PyObject* item = PyTuple_GET_ITEM(arguments[1], i);
    int done = adds[i] ? PySet_Add(arguments[0], item) : PySet_Discard(arguments[0], item);
    if (done < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* changeSetFunction() { return privateFunction<changeSetBy>("change_set"); }

Ref<> hashOf(const Value& key) { return checked(PyLong_FromSsize_t(hashKey(key).hash)); }

// set_class_attribute(cls, name[, value])
PyObject* setClassAttribute(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* value = count > 2 ? arguments[2] : nullptr;
  if (!cpython::setClassAttribute(arguments[0], arguments[1], value)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* setClassAttributeFunction() {
  return privateFunction<setClassAttribute>("set_class_attribute");
}

// set_own_attribute(object, name, value)
PyObject* setOwnAttribute(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  if (!cpython::setOwnAttribute(arguments[0], arguments[1], arguments[2])) return nullptr;
  Py_RETURN_NONE;
}

PyObject* setOwnAttributeFunction() {
  return privateFunction<setOwnAttribute>("set_own_attribute");
}

}  // namespace

void setItemOfHash(PyCodegen& codegen, DictVariable* dict, const Value& key, const Value& value) {
  codegen.prepareCall(value ? setItemOfHashFunction() : deleteItemOfHashFunction());
  codegen.load(dict);
  codegen.load(key);
  if (value) codegen.load(value);
  codegen.loadConstant(hashOf(key));
  codegen.call(value ? 4 : 3);
  codegen.assembler().emit(Opcode::POP_TOP);
}

void buildSet(PyCodegen& codegen, PyTypeObject* type, llvm::ArrayRef<Value> keys) {
  if (!llvm::any_of(keys, isKeyByMethods)) {
    // Out of a tuple, as out of no other set, items are taken one by one.
    bool isFrozen = type == &PyFrozenSet_Type;
    if (isFrozen) codegen.prepareCall(reinterpret_cast<PyObject*>(type));
    for (const Value& key : keys) codegen.load(key);
    codegen.assembler().emit(isFrozen ? Opcode::BUILD_TUPLE : Opcode::BUILD_SET,
                             static_cast<int32_t>(keys.size()));
    if (isFrozen) codegen.call(1);
    return;
  }
  Ref<> hashes = checked(PyTuple_New(static_cast<Py_ssize_t>(keys.size())));
  for (size_t i = 0; i < keys.size(); ++i) {
    Ref<> hash = isKeyByMethods(keys[i]) ? hashOf(keys[i]) : Ref<>::create(Py_None);
    PyTuple_SET_ITEM(hashes.get(), static_cast<Py_ssize_t>(i), hash.release());
  }
  codegen.prepareCall(setOfHashesFunction());
  codegen.loadConstant(reinterpret_cast<PyObject*>(type));
  codegen.loadConstant(hashes);
  for (const Value& key : keys) codegen.load(key);
  codegen.call(static_cast<int32_t>(2 + keys.size()));
}

Ref<> ownTable(Translator& translator, SetVariable* set) {
  Ref<> real = set->existing() ? nullptr : set->real(translator);
  if (!real) return nullptr;
  Ref<> plain = checked(PySet_New(nullptr));
  set->forEach(translator, [&](const Value& item) {
    if (Ref<> data = keyData(translator, item)) checked(PySet_Add(plain.get(), data.get()));
  });
  return cpython::haveSameTable(real.get(), plain.get(), sameConstant) ? nullptr : std::move(real);
}

void prepareTakeTable(PyCodegen& codegen) { codegen.prepareCall(takeTableFunction()); }

void takeTable(PyCodegen& codegen, const Ref<>& table) {
  codegen.loadConstant(table);
  codegen.call(2);
}

void changeSet(PyCodegen& codegen, SetVariable* set, const Ref<>& items, const Ref<>& adds) {
  codegen.prepareCall(changeSetFunction());
  codegen.load(set);
  codegen.loadConstant(items);
  codegen.loadConstant(adds);
  codegen.call(3);
  codegen.assembler().emit(Opcode::POP_TOP);
}

void changeClassAttribute(PyCodegen& codegen, llvm::function_ref<void()> loadClass,
                          const Value& key, const Value& value) {
  codegen.prepareCall(setClassAttributeFunction());
  loadClass();
  codegen.load(key);
  if (value) codegen.load(value);
  codegen.call(value ? 3 : 2);
  codegen.assembler().emit(Opcode::POP_TOP);
}

PyObject* builtinAttribute(PyTypeObject* type, const char* name) {
  Ref<> key = checked(PyUnicode_InternFromString(name));
  PyObject* found = cpython::lookup(cpython::staticBase(type), key);
  if (!found) throw UnsupportedReconstruction(std::string(name) + " of a builtin type");
  return found;
}

void prepareMethodCall(PyCodegen& codegen, VariableTracker* self, const char* name) {
  codegen.prepareCall(builtinAttribute(self->type(), name));
  codegen.load(self);
}

namespace {

// own_attribute(class, name)
PyObject* ownAttributeOf(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  auto* type = reinterpret_cast<PyTypeObject*>(arguments[0]);
  PyObject* attribute = cpython::ownAttribute(type, arguments[1]);
  if (!attribute) PyErr_SetObject(PyExc_AttributeError, arguments[1]);
  return Py_XNewRef(attribute);
}

}  // namespace

void loadMadeDescriptor(PyCodegen& codegen, const MadeClass& made, PyObject* name) {
  Value held = made.attributes->get(codegen.translator(), name);
  auto* descriptor = trackerOf<MadeDescriptorVariable>(held);
  bool isItsOwn = descriptor && descriptor->owner == made.variable &&
                  PyUnicode_Compare(descriptor->name.object(), name) == 0;
  if (!isItsOwn) throw UnsupportedReconstruction("a descriptor that its class has lost");
  codegen.prepareCall(privateFunction<ownAttributeOf>("own_attribute"));
  codegen.load(made.variable);
  codegen.load(descriptor->name);
  codegen.call(2);
}

namespace {

// The code keeps no class alive: the descriptor is found again in each call.
void loadDescriptor(PyCodegen& codegen, PyObject* descriptor) {
  PyTypeObject* owner = PyDescr_TYPE(descriptor);
  if (MadeClass* made = codegen.translator().madeClasses().find(owner)) {
    return loadMadeDescriptor(codegen, *made, PyDescr_NAME(descriptor));
  }
  if (cpython::isHeapType(owner)) {
    Found found = codegen.translator().heap.lookup(owner, PyDescr_NAME(descriptor));
    if (found.object == descriptor && found.source) return codegen.loadSource(found.source);
  }
  codegen.loadConstant(descriptor);
}

}  // namespace

void setThroughDescriptor(PyCodegen& codegen, PyObject* descriptor, VariableTracker* object,
                          const Value& value) {
  codegen.prepareCall(builtinAttribute(Py_TYPE(descriptor), "__set__"));
  loadDescriptor(codegen, descriptor);
  codegen.load(object);
  codegen.load(value);
  codegen.call(3);
  codegen.assembler().emit(Opcode::POP_TOP);
}

void deleteThroughDescriptor(PyCodegen& codegen, PyObject* descriptor, VariableTracker* object) {
  codegen.prepareCall(builtinAttribute(Py_TYPE(descriptor), "__delete__"));
  loadDescriptor(codegen, descriptor);
  codegen.load(object);
  codegen.call(2);
  codegen.assembler().emit(Opcode::POP_TOP);
}

void replayAdvance(PyCodegen& codegen, const Effect& effect) {
  PyTypeObject* type = effect.target->type();
  // Those of which a step is all that there is to it (cpython::advance).
  bool isUsual = type == &PyRangeIter_Type || type == &PyListIter_Type ||
                 type == &PyTupleIter_Type || cpython::walksOverDict(type);
  if (isUsual && effect.index == 1) {
    // As the program's own loop does it.
    Assembler& assembler = codegen.assembler();
    Assembler::Label end = assembler.newLabel();
    codegen.load(effect.target);
    assembler.emitJump(Opcode::FOR_ITER, end);
    assembler.emit(Opcode::POP_TOP);
    assembler.emit(Opcode::POP_TOP);
    assembler.bind(end);
    return;
  }
  codegen.prepareCall(advanceFunction());
  codegen.load(effect.target);
  codegen.load(Value::integer(effect.index));
  codegen.call(2);
  codegen.assembler().emit(Opcode::POP_TOP);
}

void replayEnd(PyCodegen& codegen, const Effect& effect) {
  codegen.prepareCall(endFunction());
  codegen.load(effect.target);
  codegen.call(1);
  codegen.assembler().emit(Opcode::POP_TOP);
}

void buildAtEnd(PyCodegen& codegen, PyTypeObject* type) {
  codegen.prepareCall(privateFunction<makeAtEnd>("make_at_end"));
  codegen.loadConstant(reinterpret_cast<PyObject*>(type));
  codegen.call(1);
}

void advanceTop(PyCodegen& codegen, int64_t steps) {
  codegen.prepareCall(advanceFunction());
  codegen.assembler().emit(Opcode::COPY, 3);
  codegen.load(Value::integer(steps));
  codegen.call(2);
  codegen.assembler().emit(Opcode::POP_TOP);
}

void fillInstanceDict(PyCodegen& codegen, VariableTracker* object, DictVariable* dict) {
  dict->forEach(codegen.translator(), [&](const OrderedValueMap::Entry& entry) {
    codegen.prepareCall(setOwnAttributeFunction());
    codegen.load(object);
    codegen.load(entry.key);
    codegen.load(entry.value);
    codegen.call(3);
    codegen.assembler().emit(Opcode::POP_TOP);
  });
}

}  // namespace armature
