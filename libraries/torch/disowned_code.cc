// TorchDynamo, where it captures what calls us, leaves our code alone, as it does its own: it holds
// objects that only we know, and was captured already.
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "libraries/torch/torch_library.h"

namespace armature {

namespace {

struct FrameEvaluation {
  Ref<> setStrategy;  // null: this torch has none
  Ref<> skip;         // this frame, but not those that it calls
};

FrameEvaluation findFrameEvaluation() {
  auto attributeOf = [](BorrowedRef<> object, const char* name) {
    return checked(PyObject_GetAttrString(object.get(), name));
  };
  try {
    Ref<> evaluation = attributeOf(torchBinding("_dynamo"), "eval_frame");
    Ref<> action = attributeOf(evaluation, "_FrameAction");
    Ref<> strategy = attributeOf(evaluation, "_FrameExecStrategy");
    Ref<> skip =
        checked(PyObject_CallFunctionObjArgs(strategy.get(), attributeOf(action, "SKIP").get(),
                                             attributeOf(action, "DEFAULT").get(), nullptr));
    return {attributeOf(evaluation, "set_code_exec_strategy"), std::move(skip)};
  } catch (const PendingPythonException&) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
    clearException();
    return {};
  }
}

}  // namespace

bool TorchLibrary::disownCode(BorrowedRef<PyCodeObject> code) const {
  try {
    static auto* const evaluation = new FrameEvaluation(findFrameEvaluation());
    if (evaluation->setStrategy) {
      checked(PyObject_CallFunctionObjArgs(evaluation->setStrategy.get(), code.get(),
                                           evaluation->skip.get(), nullptr));
    }
    return true;
  } catch (const PendingPythonException&) {
    return false;
  }
}

}  // namespace armature
