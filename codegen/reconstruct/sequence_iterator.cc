#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "cpython/iterators.h"
#include "variables/containers/iterators.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

SequenceIteratorVariable* iteratorOf(VariableTracker* tracker) {
  return llvm::cast<SequenceIteratorVariable>(tracker);
}

// The existing list that gets the iterator's place only when its effects are replayed, or null.
VariableTracker* listThatGrows(SequenceIteratorVariable* iterator) {
  auto* list = trackerOf<ListVariable>(iterator->sequence);
  if (!list || !list->existing()) return nullptr;
  Py_ssize_t size = PyList_GET_SIZE(list->existing());
  // Forwards, the place behind the last item is one as well.
  bool isBeyond = iterator->step < 0 ? iterator->index >= size : iterator->index > size;
  return isBeyond ? list : nullptr;
}

// make_reversed(sequence, index)
PyObject* makeReversed(PyObject*, PyObject* const* all, Py_ssize_t) {
  return cpython::makeReversed(all[0], PyLong_AsSsize_t(all[1])).release();
}

PyObject* makeReversedFunction() { return privateFunction<makeReversed>("make_reversed"); }

bool isReversed(VariableTracker* tracker) { return tracker->type() == &PyReversed_Type; }

bool isBuiltinPart(const Value& value) { return value.isTracker() && value.tracker()->instance; }

class SequenceIteratorReconstructor : public Reconstructor {
 public:
  // A position is set when the sequence has its items: CPython bounds it by their number.
  Steps steps(VariableTracker* tracker) const override {
    auto* iterator = iteratorOf(tracker);
    if (isReversed(tracker) || iterator->maker) return Steps::One;
    return iterator->sequence && (iterator->index > 0 || iterator->step < 0) ? Steps::Two
                                                                             : Steps::One;
  }
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* iterator = iteratorOf(tracker);
    if (iterator->whole) {
      if (iterator->sequence) visit(iterator->whole);
    } else if (!iterator->maker) {
      visit(iterator->sequence);
    }
  }
  bool showsState() const override { return true; }
  VariableTracker* showsReplayed(Translator&, VariableTracker* tracker) const override {
    return listThatGrows(iteratorOf(tracker));
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* iterator = iteratorOf(tracker);
    if (!iterator->sequence) return buildAtEnd(codegen, iterator->type());
    if (iterator->maker) {
      codegen.prepareCall(iterator->maker);
      codegen.call(0);
      if (iterator->index > 0) advanceTop(codegen, iterator->index);
      return;
    }
    if (iterator->whole) {
      PyTypeObject* type = Py_TYPE(iterator->sequence.object());
      codegen.prepareCall(builtinAttribute(type, "__iter__"));
      codegen.load(iterator->whole);
      codegen.call(1);
      return;
    }
    if (isReversed(tracker)) {
      codegen.prepareCall(makeReversedFunction());
      codegen.load(iterator->sequence);
      codegen.load(Value::integer(iterator->index));
      codegen.call(2);
      return;
    }
    // Of an instance of a subclass, by the builtin type's own method.
    if (isBuiltinPart(iterator->sequence)) {
      prepareMethodCall(codegen, iterator->sequence.tracker(),
                        iterator->step < 0 ? "__reversed__" : "__iter__");
      codegen.call(1);
      return;
    }
    if (iterator->step < 0) {
      codegen.prepareCall(reinterpret_cast<PyObject*>(&PyReversed_Type));
      codegen.load(iterator->sequence);
      codegen.call(1);
      return;
    }
    codegen.load(iterator->sequence);
    codegen.assembler().emit(Opcode::GET_ITER);
  }
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    build(codegen, tracker);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.load(tracker);
    codegen.assembler().emitName(Opcode::LOAD_METHOD, "__setstate__");
    codegen.load(Value::integer(iteratorOf(tracker)->index));
    codegen.call(1);
    codegen.assembler().emit(Opcode::POP_TOP);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(SequenceIterator)

}  // namespace armature
