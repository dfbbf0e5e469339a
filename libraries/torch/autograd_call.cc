#include "libraries/torch/autograd_call.h"

#include <utility>
#include <vector>

#include "cpython/c_functions.h"

#include "cpython/imported_modules.h"

namespace armature {

namespace {

enum Part : long { ConstantPart, ValuePart, TuplePart };

Ref<> makePart(Part kind, BorrowedRef<> content) {
  return Ref<>::steal(Py_BuildValue("(lO)", static_cast<long>(kind), content.get()));
}

// The call that is under way in this thread: apply() hands only tensors of the program's to
// forward().
struct RunningCall {
  PyObject* graph;  // null once forward() has taken it
  PyObject* const* values;
  Py_ssize_t count;
};
thread_local RunningCall* running = nullptr;

using Values = std::vector<Ref<>>;

Ref<> valueOf(const Values& values, PyObject* number) {
  Py_ssize_t i = PyLong_AsSsize_t(number);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  if (i < 0 || static_cast<size_t>(i) >= values.size()) {
    PyErr_SetString(PyExc_IndexError, "autograd_function_apply: a value is missing");
    return nullptr;
  }
  return values[static_cast<size_t>(i)];
}

Ref<> fill(PyObject* part, const Values& values) {
  PyObject* content = PyTuple_GET_ITEM(part, 1);
  switch (PyLong_AsLong(PyTuple_GET_ITEM(part, 0))) {
    case ConstantPart:
      return Ref<>::create(content);
    case ValuePart:
      return valueOf(values, content);
    default: {
      Py_ssize_t count = PyTuple_GET_SIZE(content);
      Ref<> result = Ref<>::steal(PyTuple_New(count));
      for (Py_ssize_t i = 0; result && i < count; ++i) {
        Ref<> item = fill(PyTuple_GET_ITEM(content, i), values);
        if (!item) return item;
        PyTuple_SET_ITEM(result.get(), i, item.release());
      }
      return result;
    }
  }
}

// `parts` of a function made here: (graphInputs, outputs, attributes).
PyObject* forward(PyObject* parts, PyObject* const* given, Py_ssize_t count) {
  RunningCall* call = running;
  if (!call || !call->graph || count < 1) {
    PyErr_SetString(PyExc_RuntimeError, "autograd_function_apply: no call is under way");
    return nullptr;
  }
  PyObject* graph = std::exchange(call->graph, nullptr);
  Py_ssize_t inputs = PyLong_AsSsize_t(PyTuple_GET_ITEM(parts, 0));
  if (inputs < 0 || inputs > call->count) {
    PyErr_SetString(PyExc_TypeError, "autograd_function_apply: its graph has more inputs");
    return nullptr;
  }
  Ref<> computed =
      Ref<>::steal(PyObject_Vectorcall(graph, call->values, static_cast<size_t>(inputs), nullptr));
  if (!computed) return nullptr;
  if (!PyTuple_CheckExact(computed.get())) {
    PyErr_SetString(PyExc_TypeError, "autograd_function_apply: its graph returns no tuple");
    return nullptr;
  }
  Values values;
  for (Py_ssize_t i = 0; i < call->count; ++i) values.push_back(Ref<>::create(call->values[i]));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(computed.get()); ++i) {
    values.push_back(Ref<>::create(PyTuple_GET_ITEM(computed.get(), i)));
  }
  PyObject* attributes = PyTuple_GET_ITEM(parts, 2);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(attributes); ++i) {
    PyObject* attribute = PyTuple_GET_ITEM(attributes, i);
    Ref<> value = fill(PyTuple_GET_ITEM(attribute, 1), values);
    if (!value || PyObject_SetAttr(given[0], PyTuple_GET_ITEM(attribute, 0), value.get()) < 0) {
      return nullptr;
    }
  }
  PyObject* outputs = PyTuple_GET_ITEM(parts, 1);
  Ref<> result = Ref<>::steal(PyTuple_New(PyTuple_GET_SIZE(outputs)));
  for (Py_ssize_t i = 0; result && i < PyTuple_GET_SIZE(outputs); ++i) {
    Ref<> output = fill(PyTuple_GET_ITEM(outputs, i), values);
    if (!output) return nullptr;
    PyTuple_SET_ITEM(result.get(), i, output.release());
  }
  return result.release();
}

// `parts`: (the class's apply, arguments).
PyObject* apply(PyObject* parts, PyObject* const* given, Py_ssize_t count) {
  if (count < 1) {
    PyErr_SetString(PyExc_TypeError, "autograd_function_apply: expected a graph");
    return nullptr;
  }
  PyObject* numbers = PyTuple_GET_ITEM(parts, 1);
  Ref<> arguments = Ref<>::steal(PyTuple_New(PyTuple_GET_SIZE(numbers)));
  for (Py_ssize_t i = 0; arguments && i < PyTuple_GET_SIZE(numbers); ++i) {
    PyObject* number = PyTuple_GET_ITEM(numbers, i);
    Py_ssize_t value = number == Py_None ? -1 : PyLong_AsSsize_t(number);
    if (value >= count - 1) {
      PyErr_SetString(PyExc_TypeError, "autograd_function_apply: an argument is missing");
      return nullptr;
    }
    PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(value < 0 ? Py_None : given[1 + value]));
  }
  if (!arguments) return nullptr;
  RunningCall call{given[0], given + 1, count - 1};
  RunningCall* outer = std::exchange(running, &call);
  PyObject* result = PyObject_Call(PyTuple_GET_ITEM(parts, 0), arguments.get(), nullptr);
  running = outer;
  return result;
}

PyMethodDef forwardDefinition = {"forward", cpython::asMethod(forward), METH_FASTCALL, nullptr};
PyMethodDef applyDefinition = {"autograd_function_apply", cpython::asMethod(apply), METH_FASTCALL,
                               nullptr};

Ref<> makeFunction(PyMethodDef* definition, Ref<> parts) {
  Ref<> module = Ref<>::steal(PyUnicode_FromString("armature"));
  if (!parts || !module) return nullptr;
  return Ref<>::steal(PyCFunction_NewEx(definition, parts.get(), module.get()));
}

}  // namespace

Ref<> constantPart(BorrowedRef<> object) { return makePart(ConstantPart, object); }

Ref<> valuePart(size_t number) {
  Ref<> content = Ref<>::steal(PyLong_FromSize_t(number));
  return content ? makePart(ValuePart, content) : nullptr;
}

Ref<> tuplePart(BorrowedRef<> parts) { return makePart(TuplePart, parts); }

Ref<> makeAutogradCall(const AutogradCall& call) {
  BorrowedRef<> base = cpython::importedAttribute("torch.autograd.function", "Function");
  if (!base) {
    PyErr_SetString(PyExc_SystemError, "torch.autograd.Function is not imported");
    return nullptr;
  }
  Ref<> context = Ref<>::steal(PyObject_GetAttrString(call.functionClass.get(), "_backward_cls"));
  Ref<> forward =
      makeFunction(&forwardDefinition,
                   Ref<>::steal(Py_BuildValue("(nOO)", static_cast<Py_ssize_t>(call.graphInputs),
                                              call.outputs.get(), call.attributes.get())));
  if (!context || !forward) return nullptr;
  const char* name = reinterpret_cast<PyTypeObject*>(call.functionClass.get())->tp_name;
  Ref<> helper = Ref<>::steal(
      PyObject_CallFunction(reinterpret_cast<PyObject*>(Py_TYPE(base.get())), "s(O){sOss}", name,
                            base.get(), "forward", forward.get(), "__module__", "armature"));
  if (!helper || PyObject_SetAttrString(helper.get(), "_backward_cls", context.get()) < 0) {
    return nullptr;
  }
  Ref<> bound = Ref<>::steal(PyObject_GetAttrString(helper.get(), "apply"));
  if (!bound) return nullptr;
  return makeFunction(&applyDefinition,
                      Ref<>::steal(Py_BuildValue("(OO)", bound.get(), call.arguments.get())));
}

}  // namespace armature
