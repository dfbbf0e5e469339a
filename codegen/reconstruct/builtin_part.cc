#include "codegen/reconstruct/builtin_part.h"

#include "bytecode/private_function.h"
#include "codegen/reconstruct/builtin_types.h"
#include "cpython/instance_attributes.h"
#include "cpython/type_lookup.h"
#include "variables/containers/deque.h"
#include "variables/containers/set.h"
#include "variables/functions/partial.h"

namespace armature {

namespace {

// The items of all but dicts.
void visitItems(Translator& translator, VariableTracker* part, PartVisitor visit) {
  if (auto* sequence = llvm::dyn_cast<SequenceVariable>(part)) {
    for (const Value& item : sequence->items()) visit(item);
  } else if (auto* set = llvm::dyn_cast<SetVariable>(part)) {
    set->forEach(translator, visit);
  }
}

void buildItems(PyCodegen& codegen, VariableTracker* part) {
  llvm::SmallVector<Value, 8> items;
  visitItems(codegen.translator(), part, [&](const Value& item) { items.push_back(item); });
  // In one table there, which the part does not get.
  bool byMethods = llvm::isa<SetVariable>(part) && llvm::any_of(items, isKeyByMethods);
  if (byMethods) return buildSet(codegen, &PySet_Type, items);
  for (const Value& item : items) codegen.load(item);
  codegen.assembler().emit(Opcode::BUILD_TUPLE, static_cast<int32_t>(items.size()));
}

// Can the items not be changed once it is made?
bool isImmutable(VariableTracker* part) {
  PyTypeObject* layout = cpython::staticBase(part->type());
  return layout == &PyTuple_Type || layout == &PyFrozenSet_Type;
}

// set_partial_state(partial, function, arguments, keywords). Its __setstate__ would take the
// __dict__ from it, which the program may hold by now.
PyObject* setPartialState(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  PyObject** place = cpython::instanceDictPlace(arguments[0]);
  PyObject* dict = place && *place ? *place : Py_None;
  Ref<> state = Ref<>::steal(PyTuple_Pack(4, arguments[1], arguments[2], arguments[3], dict));
  static PyObject* const set = cpython::ownAttribute(partialType(), "__setstate__");
  return state ? PyObject_CallFunctionObjArgs(set, arguments[0], state.get(), nullptr) : nullptr;
}

void fillPartial(PyCodegen& codegen, PartialVariable* partial) {
  codegen.prepareCall(privateFunction<setPartialState>("set_partial_state"));
  codegen.load(partial);
  for (const Value& part : {partial->function, partial->arguments, partial->keywords}) {
    codegen.load(part);
  }
  codegen.call(4);
  codegen.assembler().emit(Opcode::POP_TOP);
}

}  // namespace

void visitNeeded(Translator& translator, VariableTracker* part, PartVisitor visit) {
  if (auto* partial = llvm::dyn_cast<PartialVariable>(part)) {
    visit(partial->function);
  } else if (isImmutable(part)) {
    visitItems(translator, part, visit);
  }
}

void visitHeld(Translator& translator, VariableTracker* part, PartVisitor visit) {
  if (auto* partial = llvm::dyn_cast<PartialVariable>(part)) {
    for (const Value& each : {partial->function, partial->arguments, partial->keywords})
      visit(each);
  } else if (auto* dict = llvm::dyn_cast<DictVariable>(part)) {
    dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
      visit(entry.key);
      visit(entry.value);
    });
  } else if (!isImmutable(part)) {
    visitItems(translator, part, visit);
  }
}

void makeInstance(PyCodegen& codegen, VariableTracker* part, llvm::function_ref<void()> loadClass) {
  auto* partial = llvm::dyn_cast<PartialVariable>(part);
  auto* set = llvm::dyn_cast<SetVariable>(part);
  Ref<> table = set && isImmutable(part) ? ownTable(codegen.translator(), set) : nullptr;
  if (table) prepareTakeTable(codegen);
  codegen.prepareCall(partial ? cpython::ownAttribute(partialType(), "__new__")
                              : builtinAttribute(part->type(), "__new__"));
  loadClass();
  if (partial) {
    codegen.load(partial->function);
  } else if (isImmutable(part) && !table) {
    buildItems(codegen, part);
  }
  codegen.call(partial || (isImmutable(part) && !table) ? 2 : 1);
  if (table) takeTable(codegen, table);
}

void fillPart(PyCodegen& codegen, VariableTracker* part) {
  Assembler& assembler = codegen.assembler();
  if (auto* partial = llvm::dyn_cast<PartialVariable>(part)) {
    fillPartial(codegen, partial);
  } else if (auto* dict = llvm::dyn_cast<DictVariable>(part)) {
    dict->forEach(codegen.translator(), [&](const OrderedValueMap::Entry& entry) {
      if (isKeyByMethods(entry.key)) return setItemOfHash(codegen, dict, entry.key, entry.value);
      prepareMethodCall(codegen, part, "__setitem__");
      codegen.load(entry.key);
      codegen.load(entry.value);
      codegen.call(3);
      assembler.emit(Opcode::POP_TOP);
    });
  } else if (auto* deque = llvm::dyn_cast<DequeVariable>(part)) {
    prepareMethodCall(codegen, part, "__init__");
    buildItems(codegen, part);
    codegen.load(deque->bound() < 0 ? Value::none() : Value::integer(deque->bound()));
    codegen.call(3);
    assembler.emit(Opcode::POP_TOP);
  } else if (isImmutable(part)) {
    return;
  } else if (auto* set = llvm::dyn_cast<SetVariable>(part);
             Ref<> table = set ? ownTable(codegen.translator(), set) : nullptr) {
    prepareTakeTable(codegen);
    codegen.load(part);
    takeTable(codegen, table);
    assembler.emit(Opcode::POP_TOP);
  } else {
    prepareMethodCall(codegen, part, llvm::isa<ListVariable>(part) ? "extend" : "update");
    buildItems(codegen, part);
    codegen.call(2);
    assembler.emit(Opcode::POP_TOP);
  }
}

}  // namespace armature
