#include "variables/functions/partial.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

class PartialReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* partial = llvm::cast<PartialVariable>(tracker);
    visit(partial->function);
    if (auto* tuple = trackerOf<TupleVariable>(partial->arguments)) {
      for (const Value& item : tuple->items()) visit(item);
    } else {
      PyObject* real = partial->arguments.object();
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(real); ++i) {
        visit(Value::constant(PyTuple_GET_ITEM(real, i)));
      }
    }
    forEachKeyword(partial, [&](const OrderedValueMap::Entry& entry) { visit(entry.value); });
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.prepareCall(reinterpret_cast<PyObject*>(partialType()));
    int32_t count = 0;
    needs(codegen.translator(), tracker, [&](const Value& part) {
      codegen.load(part);
      ++count;
    });
    Ref<> names = checked(PyList_New(0));
    forEachKeyword(llvm::cast<PartialVariable>(tracker), [&](const OrderedValueMap::Entry& entry) {
      checked(PyList_Append(names.get(), entry.key.object()));
    });
    Ref<> tuple = checked(PyList_AsTuple(names.get()));
    bool hasKeywords = PyTuple_GET_SIZE(tuple.get()) > 0;
    codegen.assembler().emitCall(count, hasKeywords ? tuple : Ref<>());
  }

 private:
  // Nobody has seen the dict of a new one, so that it is as it was made.
  static void forEachKeyword(PartialVariable* partial,
                             llvm::function_ref<void(const OrderedValueMap::Entry&)> visit) {
    const OrderedValueMap& entries = trackerOf<DictVariable>(partial->keywords)->entries();
    for (int32_t i = 0; i < entries.entryCount(); ++i) visit(entries[i]);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Partial)

}  // namespace armature
