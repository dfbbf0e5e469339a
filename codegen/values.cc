// Bytecode that loads a value from where it is, or makes it.
#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/checked.h"
#include "core/fault_injection.h"
#include "cpython/set_entries.h"
#include "variables/constants/constant.h"
#include "variables/constants/made_again.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/objects/call_result.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// instance_dict(object): its __dict__, made if need be. Runs no code of its class.
PyObject* instanceDict(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return PyObject_GenericGetDict(arguments[0], nullptr);
}

// frozenset_like(likeness, *elements): one with the likeness's table, in which these stand for its
// own, that they are equal to.
PyObject* frozenSetLike(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return cpython::copyTable(arguments[0], {arguments + 1, static_cast<size_t>(count - 1)})
      .release();
}

}  // namespace

void PyCodegen::loadSource(const Source* source) {
  if (source->kind() == SourceKind::Local || source->kind() == SourceKind::LocalCell) {
    auto index = static_cast<int32_t>(source->index());
    size_t firstLocal = translator_.entry().firstLocalInput();
    bool isCell = static_cast<size_t>(index) >= firstLocal &&
                  translator_.entry().localIsCell[index - firstLocal];
    if (!isCell || source->kind() == SourceKind::LocalCell) {
      assembler_.emit(isCell ? Opcode::LOAD_CLOSURE : Opcode::LOAD_FAST, index);
      return;
    }
    // AutoDerefLocalSource: the cell's content at entry. While the trace does not write the cell,
    // that is what the cell holds.
    if (!writtenCells_.contains(source->index())) {
      assembler_.emit(Opcode::LOAD_DEREF, index);
      return;
    }
  }
  if (source->kind() == SourceKind::GlobalsDict) {
    assembler_.emitLoadConst(source->object());
    return;
  }
  auto [found, inserted] = captureLocals_.try_emplace(source, -1);
  if (inserted) {
    std::string name = "___capture" + std::to_string(captures_.size());
    captures_.push_back(source);
    found->second = assembler_.addParameter(checked(PyUnicode_FromString(name.c_str())));
  }
  assembler_.emit(Opcode::LOAD_FAST, found->second);
}

VariableTracker* PyCodegen::trackerFor(const Value& value) {
  if (value.isTracker()) return value.tracker();
  PyObject* object = value.objectOrNull();
  if (!object || !translator_.isMadeHere(object)) return nullptr;
  VariableTracker*& tracker = madeConstants_[object];
  if (tracker) return tracker;
  keptConstants_.push_back(value);
  if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    tracker = translator_.make<SliceVariable>(
        Value::constant(slice->start), Value::constant(slice->stop), Value::constant(slice->step));
    return tracker;
  }
  if (PyFloat_Check(object)) {
    // Negated twice, a nan is another object of the same bits.
    SymNodeTable& numbers = translator_.symNodes;
    const SymNode* nan = numbers.constant(object);
    return tracker = translator_.make<SymNodeVariable>(numbers.negate(numbers.negate(nan)));
  }
  if (PyFrozenSet_CheckExact(object)) {
    ValueVector elements;
    for (cpython::SetEntry entry; cpython::nextEntry(object, entry);) {
      elements.push_back(Value::constant(entry.element));
    }
    Ref<> maker = Ref<>::create(privateFunction<frozenSetLike>("frozenset_like"));
    return tracker = translator_.make<MadeAgainVariable>(
               &PyFrozenSet_Type, std::move(maker), Ref<>::create(object), std::move(elements));
  }
  if (PyRange_Check(object)) {
    llvm::SmallVector<Value, 4> bounds;
    for (const char* name : {"start", "stop", "step"}) {
      Ref<> bound = checked(PyObject_GetAttrString(object, name));
      bounds.push_back(Value::constant(bound));
    }
    Ref<> maker = Ref<>::create(reinterpret_cast<PyObject*>(&PyRange_Type));
    return tracker = translator_.make<MadeAgainVariable>(&PyRange_Type, std::move(maker), nullptr,
                                                         std::move(bounds));
  }
  if (hasMaker(Py_TYPE(object))) {
    return tracker = translator_.make<MadeAgainVariable>(Py_TYPE(object), makerOf(object));
  }
  ValueVector items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    items.push_back(Value::constant(PyTuple_GET_ITEM(object, i)));
  }
  return tracker = translator_.make<TupleVariable>(std::move(items));
}

void PyCodegen::load(const Value& value) {
  faultSite();
  if (value.isNull()) {
    assembler_.emit(Opcode::PUSH_NULL);
    return;
  }
  // A constant that codegen has come up with itself is in no plan.
  VariableTracker* tracker =
      value.isTracker() ? value.tracker() : madeConstants_.lookup(value.object());
  if (!tracker) {
    PyObject* object = value.object();
    llvm::ArrayRef<const Source*> sources;
    // What came from outside stays the object that it is. Which way it has come by, if there are
    // several, is not known.
    if (!isSingleton(object)) sources = translator_.constantSources(object);
    if (sources.empty()) return assembler_.emitLoadConst(object);
    // Of the same value, an input and a literal are mostly two objects.
    if (translator_.isLiteral(object)) {
      for (const Source* source : sources) {
        translator_.addGuard(source, GuardType::ID_MATCH, Ref<>::create(object));
      }
      return assembler_.emitLoadConst(object);
    }
    for (const Source* other : sources.drop_front()) {
      translator_.guardSame(sources.front(), other, true);
    }
    return loadSource(sources.front());
  }
  if (tracker->source()) {
    loadSource(tracker->source());
    return;
  }
  if (tracker->existing()) {
    // An object that a library pins, or that belongs to one (see Translator::knownClass).
    assembler_.emitLoadConst(tracker->existing());
    return;
  }
  if (tracker->instance) return load(tracker->instance);
  if (Node* node = nodeThatGives(tracker)) {
    assembler_.emit(Opcode::LOAD_FAST, outputs_.lookup(node));
    return;
  }
  const Reconstructor& reconstructor = reconstructorOf(tracker->kind());
  auto [found, isFirst] = made_.try_emplace(tracker, -1);
  if (isFirst) {
    // What the plan keeps in a local is made in its turn, or shows another state.
    const ConstructionPlan::Part* part = plan_.find(tracker);
    if (part && part->hasLocal) throw UnsupportedReconstruction("an early " + describe(tracker));
    reconstructor.build(*this, tracker);
    return;
  }
  // Made again, it would be another object.
  if (found->second < 0) throw UnsupportedReconstruction("a second " + describe(tracker));
  assembler_.emit(reconstructor.loadOpcode(), found->second);
}

// Everything that the plan keeps in a local, in its order.
void PyCodegen::makeObjects(llvm::ArrayRef<ConstructionPlan::Step> steps) {
  for (auto [part, fills] : steps) {
    const Reconstructor& reconstructor = reconstructorOf(part->tracker->kind());
    if (fills) reconstructor.fill(*this, part->tracker);
    if (fills || !part->hasLocal) continue;
    int32_t local = freshLocal(reconstructor.localName());
    if (part->twoSteps) {
      reconstructor.allocate(*this, part->tracker, local);
    } else {
      reconstructor.build(*this, part->tracker);
      assembler_.emit(Opcode::STORE_FAST, local);
    }
    made_[part->tracker] = local;
  }
}

// Those that show what effects before that number have left.
void PyCodegen::makeLateObjects(int32_t before) {
  llvm::ArrayRef<ConstructionPlan::Step> steps = plan_.late().drop_front(lateCount_);
  auto ready = steps.take_while(
      [&](const ConstructionPlan::Step& step) { return step.part->behind < before; });
  lateCount_ += ready.size();
  makeObjects(ready);
}

bool PyCodegen::isMadeInTwoSteps(VariableTracker* tracker) const {
  const ConstructionPlan::Part* part = plan_.find(tracker);
  return part && part->twoSteps;
}

void PyCodegen::prepareCall(BorrowedRef<> callable) {
  if (!callable) throw UnsupportedReconstruction("a builtin function is missing");
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(callable);
}

void PyCodegen::loadInstanceDict(VariableTracker* object) {
  prepareCall(privateFunction<instanceDict>("instance_dict"));
  load(object);
  call(1);
}

}  // namespace armature
