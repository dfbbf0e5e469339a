#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "cpython/iterators.h"
#include "variables/containers/iterators.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

SequenceIteratorVariable* iteratorOf(VariableTracker* tracker) {
  return llvm::cast<SequenceIteratorVariable>(tracker);
}

// At a place that an existing list gets only when the effects are replayed: it is made then.
bool isBeyondList(SequenceIteratorVariable* iterator) {
  auto* list = trackerOf<ListVariable>(iterator->sequence);
  if (!list || !list->existing()) return false;
  Py_ssize_t size = PyList_GET_SIZE(list->existing());
  // Forwards, the place behind the last item is one as well.
  return iterator->step < 0 ? iterator->index >= size : iterator->index > size;
}

// make_reversed(sequence, index), or without arguments, of one at its end
PyObject* makeReversed(PyObject*, PyObject* const* all, Py_ssize_t count) {
  if (count == 0) return cpython::makeReversed(nullptr, -1).release();
  return cpython::makeReversed(all[0], PyLong_AsSsize_t(all[1])).release();
}

PyObject* makeReversedFunction() { return privateFunction<makeReversed>("make_reversed"); }

bool isReversed(VariableTracker* tracker) { return tracker->type() == &PyReversed_Type; }

bool isBuiltinPart(const Value& value) { return value.isTracker() && value.tracker()->instance; }

// at_end(iterator)
PyObject* atEnd(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  while (Ref<> item = Ref<>::steal(PyIter_Next(arguments[0]))) {
  }
  return PyErr_Occurred() ? nullptr : Py_NewRef(arguments[0]);
}

void prepareAtEnd(PyCodegen& codegen) { codegen.prepareCall(privateFunction<atEnd>("at_end")); }

void callMaker(PyCodegen& codegen, SequenceIteratorVariable* iterator) {
  bool isExhausted = !iterator->sequence;
  if (isExhausted) prepareAtEnd(codegen);
  codegen.prepareCall(iterator->maker);
  codegen.call(0);
  if (isExhausted) return codegen.call(1);
  if (iterator->index > 0) advanceTop(codegen, iterator->index);
}

// One that has come to its end, of a sequence without items.
void buildExhausted(PyCodegen& codegen, PyTypeObject* type) {
  prepareAtEnd(codegen);
  bool isReversedList = type == &PyListRevIter_Type;
  if (isReversedList) codegen.prepareCall(reinterpret_cast<PyObject*>(&PyReversed_Type));
  if (isReversedList || type == &PyListIter_Type) {
    codegen.assembler().emit(Opcode::BUILD_LIST, 0);
  } else if (type == &PyRangeIter_Type) {
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyRange_Type));
    codegen.load(Value::integer(0));
    codegen.call(1);
  } else if (type == &PyBytesIter_Type) {
    codegen.loadConstant(checked(PyBytes_FromString("")));
  } else {
    codegen.loadConstant(checked(PyTuple_New(0)));
  }
  if (isReversedList) {
    codegen.call(1);
  } else {
    codegen.assembler().emit(Opcode::GET_ITER);
  }
  codegen.call(1);
}

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
    if (!iterator->maker) visit(iterator->sequence);
  }
  bool showsState() const override { return true; }
  bool showsReplayed(Translator&, VariableTracker* tracker) const override {
    return isBeyondList(iteratorOf(tracker));
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* iterator = iteratorOf(tracker);
    if (iterator->maker) return callMaker(codegen, iterator);
    if (isReversed(tracker)) {
      codegen.prepareCall(makeReversedFunction());
      if (iterator->sequence) {
        codegen.load(iterator->sequence);
        codegen.load(Value::integer(iterator->index));
      }
      codegen.call(iterator->sequence ? 2 : 0);
      return;
    }
    // Of an instance of a subclass, by the builtin type's own method.
    if (iterator->sequence && isBuiltinPart(iterator->sequence)) {
      prepareMethodCall(codegen, iterator->sequence.tracker(),
                        iterator->step < 0 ? "__reversed__" : "__iter__");
      codegen.call(1);
      return;
    }
    if (iterator->sequence && iterator->step < 0) {
      codegen.prepareCall(reinterpret_cast<PyObject*>(&PyReversed_Type));
      codegen.load(iterator->sequence);
      codegen.call(1);
      return;
    }
    if (iterator->sequence) {
      codegen.load(iterator->sequence);
    } else {
      return buildExhausted(codegen, iterator->type());
    }
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
