#include "libraries/torch/heard_call.h"

#include <optional>

#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "libraries/torch/mode_scope.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

void refuseOverridden(const std::string& what, const char* reason) {
  throw GraphBreak(GraphBreakKind::OverriddenOperation, what, reason);
}

namespace {

constexpr const char* kRecorder = R"(
import torch.overrides

class Heard(BaseException):
    pass

class Recorder(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, *given):
        raise Heard(given)

recorder = Recorder()
)";

PyObject* recorderNames() {
  static PyObject* const names = [] {
    Ref<> dict = checked(PyDict_New());
    PyDict_SetItemString(dict.get(), "__builtins__", PyEval_GetBuiltins());
    checked(PyRun_String(kRecorder, Py_file_input, dict.get(), dict.get()));
    return dict.release();
  }();
  return names;
}

}  // namespace

Ref<> HeardCall::run() {
  std::optional<ModeScope> alone(std::in_place);
  if (!alone->leaveModes(false)) throw PendingPythonException();
  size_t named = call_.keywordNames ? PyTuple_GET_SIZE(call_.keywordNames) : 0;
  size_t positional = call_.arguments.size() - named;
  Ref<> arguments = checked(PyTuple_New(positional));
  Ref<> keywords = checked(PyDict_New());
  for (size_t i = 0; i < positional; ++i) {
    PyTuple_SET_ITEM(arguments.get(), i, objectOf(call_.arguments[i]).release());
  }
  for (size_t i = 0; i < named; ++i) {
    Ref<> value = objectOf(call_.arguments[positional + i]);
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(call_.keywordNames, i), value.get()) < 0)
      throw PendingPythonException();
  }
  PyObject* names = recorderNames();
  alone.reset();
  Ref<> result;
  {
    ModeScope scope;
    if (!scope.ignoreWarnings() ||
        !scope.pushFunctionMode(PyDict_GetItemString(names, "recorder"))) {
      throw PendingPythonException();
    }
    result = perform(arguments, keywords);
  }
  if (result) return nullptr;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref<> ownedType = Ref<>::steal(type), exception = Ref<>::steal(value);
  Ref<> ownedTraceback = Ref<>::steal(traceback);
  if (type == PyDict_GetItemString(names, "Heard")) {
    Ref<> given = checked(PyObject_GetAttrString(exception.get(), "args"));
    return Ref<>::create(PyTuple_GET_ITEM(given.get(), 0));
  }
  if (!PyErr_GivenExceptionMatches(type, PyExc_Exception)) {  // an interrupt
    PyErr_Restore(ownedType.release(), exception.release(), ownedTraceback.release());
    throw PendingPythonException();
  }
  // It may be the stand-ins' fault.
  refuseOverridden(targetName(call_.target), "what a mode would hear of it is not known");
}

Value HeardCall::valueOf(BorrowedRef<> object) {
  auto found = values_.find(object.get());
  if (found != values_.end()) return found->second;
  if (isConstant(object)) return Value::constant(object.get());
  if (PyTuple_CheckExact(object.get())) {
    ValueVector items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object.get()); ++i) {
      items.push_back(valueOf(PyTuple_GET_ITEM(object.get(), i)));
    }
    return makeTuple(translator_, std::move(items));
  }
  refuseOverridden(targetName(call_.target),
                   "a mode would be given an object that the call does not have");
}

Value HeardCall::keywordsOf(BorrowedRef<> dict) {
  auto* result = translator_.make<DictVariable>();
  PyObject *key, *value;
  for (Py_ssize_t position = 0; PyDict_Next(dict.get(), &position, &key, &value);) {
    if (!result->set(translator_, Value::constant(key), valueOf(value))) return Value();
  }
  return result;
}

Ref<> HeardCall::perform(const Ref<>& arguments, const Ref<>& given) const {
  // Some calls hand on an empty dict as they have got it.
  Ref<> keywords = call_.keywordNames ? given : Ref<>();
  if (call_.operation != NodeOperation::CallMethod) {
    return Ref<>::steal(PyObject_Call(call_.target.get(), arguments.get(), keywords.get()));
  }
  Py_ssize_t count = PyTuple_GET_SIZE(arguments.get());
  Ref<> method =
      Ref<>::steal(PyObject_GetAttr(PyTuple_GET_ITEM(arguments.get(), 0), call_.target.get()));
  Ref<> rest = Ref<>::steal(PyTuple_GetSlice(arguments.get(), 1, count));
  if (!method || !rest) return nullptr;
  return Ref<>::steal(PyObject_Call(method.get(), rest.get(), keywords.get()));
}

Ref<> HeardCall::objectOf(const Value& given) {
  Value value = translator_.realized(given);
  Ref<> object = makeObject(value);
  values_.try_emplace(object.get(), value);
  kept_.push_back(object);
  return object;
}

Ref<> HeardCall::makeObject(const Value& value) {
  if (PyObject* constant = value.objectOrNull()) return Ref<>::create(constant);
  if (auto* tensor = trackerOf<TensorVariable>(value)) return standInOf(tensor);
  if (auto* sequence = trackerOf<SequenceVariable>(value)) {
    bool isList = llvm::isa<ListVariable>(sequence);
    if (isList || llvm::isa<TupleVariable>(sequence)) {
      Ref<> items = checked(PyList_New(0));
      for (const Value& item : sequence->items()) {
        checked(PyList_Append(items.get(), objectOf(item).get()));
      }
      return isList ? std::move(items) : checked(PyList_AsTuple(items.get()));
    }
  }
  if (auto* slice = trackerOf<SliceVariable>(value)) {
    Ref<> start = objectOf(slice->start), stop = objectOf(slice->stop);
    return checked(PySlice_New(start.get(), stop.get(), objectOf(slice->step).get()));
  }
  if (value.isTracker() && value.tracker()->existing() &&
      PyFunction_Check(value.tracker()->existing())) {
    return Ref<>::create(value.tracker()->existing());
  }
  refuseOverridden(targetName(call_.target) + "(" + describe(value) + ")",
                   "what a mode would be given for it is not known");
}

Ref<> HeardCall::standInOf(TensorVariable* tensor) {
  Ref<>& standIn = standIns_[tensor];
  if (standIn) return standIn;
  if (tensor->libraryKind() != ArrayLibraryKind::Torch) {
    refuseOverridden(describe(Value(tensor)), "it is no tensor");
  }
  Ref<> empty = checked(PyObject_GetAttrString(TorchModule::get()->torch.get(), "empty"));
  Ref<> sizes = checked(Py_BuildValue("((i))", 1));
  Ref<> keywords = checked(Py_BuildValue("{ss}", "device", "meta"));
  standIn = checked(PyObject_Call(empty.get(), sizes.get(), keywords.get()));
  if (tensor->type() != TorchModule::get()->tensorType.get()) {
    standIn = checked(PyObject_CallMethod(standIn.get(), "as_subclass", "O", tensor->type()));
  }
  return standIn;
}

}  // namespace armature
