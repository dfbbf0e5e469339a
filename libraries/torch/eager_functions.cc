#include "libraries/torch/eager_functions.h"

#include <llvm/ADT/ArrayRef.h>

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "graph/eager_code.h"
#include "libraries/torch/torch_module.h"

namespace armature {

namespace {

// A module's own attribute, past whatever its class says; null if it has none. Borrowed.
PyObject* ownAttribute(PyObject* module, PyObject* name) {
  PyObject* found = module && PyModule_Check(module)
                        ? PyDict_GetItemWithError(PyModule_GetDict(module), name)
                        : nullptr;
  if (!found) clearException();
  return found;
}

PyObject* ownAttribute(PyObject* module, const char* name) {
  Ref<> text = Ref<>::steal(PyUnicode_InternFromString(name));
  return text ? ownAttribute(module, text.get()) : nullptr;
}

// What the functions find in their globals, and in what they lead to, as torch has made it. Null
// where this torch has something else.
struct Torch {
  PyObject* functional = cpython::importModule("torch.nn.functional");
  PyObject* torch = cpython::importModule("torch");
  PyObject* vf = cpython::importModule("torch._VF");
  PyObject* backends = cpython::importModule("torch.backends");
  PyObject* cudnn = cpython::importModule("torch.backends.cudnn");
  PyObject* variableFunctions = attribute(attribute(torch, "_C"), "_VariableFunctions");
  PyObject* dropout = attribute(variableFunctions, "dropout");
  PyObject* layerNorm = attribute(torch, "layer_norm");
  PyObject* cudnnEnabled = attribute(attribute(torch, "_C"), "_get_cudnn_enabled");
  PyObject* enabledProperty = nullptr;

  Torch() {
    static PyObject* const enabled = staticName("enabled");
    if (cudnn) enabledProperty = cpython::lookup(Py_TYPE(cudnn), enabled);
    Py_XINCREF(enabledProperty);
    clearUnlessInterrupted();
  }

 private:
  static PyObject* attribute(PyObject* object, const char* name) {
    return object ? PyObject_GetAttrString(object, name) : nullptr;
  }
};

const Torch& torch() {
  static const Torch& instance = *new Torch;
  return instance;
}

// Puts the arguments in the order of the parameters. False where the function has to say itself
// what is wrong.
bool placeArguments(llvm::ArrayRef<PyObject*> parameters, PyObject* const* arguments,
                    Py_ssize_t count, PyObject* keywordNames, PyObject** bound) {
  if (static_cast<size_t>(count) > parameters.size()) return false;
  std::copy(arguments, arguments + count, bound);
  Py_ssize_t keywordCount = keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0;
  for (Py_ssize_t i = 0; i < keywordCount; ++i) {
    auto found = std::find(parameters.begin(), parameters.end(), PyTuple_GET_ITEM(keywordNames, i));
    if (found == parameters.end() || bound[found - parameters.begin()]) return false;
    bound[found - parameters.begin()] = arguments[count + i];
  }
  return true;
}

PyObject* callOriginal(PyObject* function, PyObject* const* arguments, Py_ssize_t count,
                       PyObject* keywordNames) {
  return PyObject_Vectorcall(function, arguments, static_cast<size_t>(count), keywordNames);
}

// Asks as torch.nn.functional does, by the name in its globals: 1 if an argument overrides the
// function, -1 with an exception set.
int isOverridden(PyObject* question, llvm::ArrayRef<PyObject*> arguments) {
  PyObject* function = ownAttribute(torch().functional, question);
  if (!function) return 1;
  Ref<> answer =
      Ref<>::steal(PyObject_Vectorcall(function, arguments.data(), arguments.size(), nullptr));
  return answer ? PyObject_IsTrue(answer.get()) : -1;
}

// def dropout(input, p=0.5, training=True, inplace=False)
PyObject* dropout(PyObject* original, PyObject* const* arguments, Py_ssize_t count,
                  PyObject* keywordNames) {
  static const std::array<PyObject*, 4> parameters{staticName("input"), staticName("p"),
                                                   staticName("training"), staticName("inplace")};
  static PyObject* const question = staticName("has_torch_function_unary");
  static PyObject* const vf = staticName("_VF");
  static PyObject* const name = staticName("dropout");
  std::array<PyObject*, 4> bound{};
  auto& [input, p, training, inplace] = bound;
  bool isUsual =
      placeArguments(parameters, arguments, count, keywordNames, bound.data()) && input && p &&
      PyFloat_CheckExact(p) && PyFloat_AS_DOUBLE(p) >= 0 && PyFloat_AS_DOUBLE(p) <= 1 &&
      (training == Py_False || training == Py_True) && (!inplace || inplace == Py_False) &&
      ownAttribute(torch().functional, vf) == torch().vf && !ownAttribute(torch().vf, name);
  int overridden = isUsual ? isOverridden(question, input) : 1;
  if (overridden < 0) return nullptr;
  if (overridden) return callOriginal(original, arguments, count, keywordNames);
  return PyObject_Vectorcall(torch().dropout, bound.data(), 3, nullptr);
}

// def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)
PyObject* layerNorm(PyObject* original, PyObject* const* arguments, Py_ssize_t count,
                    PyObject* keywordNames) {
  static const std::array<PyObject*, 5> parameters{
      staticName("input"), staticName("normalized_shape"), staticName("weight"), staticName("bias"),
      staticName("eps")};
  static PyObject* const question = staticName("has_torch_function_variadic");
  static PyObject* const torchName = staticName("torch");
  static PyObject* const name = staticName("layer_norm");
  static PyObject* const backends = staticName("backends");
  static PyObject* const cudnn = staticName("cudnn");
  static PyObject* const enabled = staticName("enabled");
  std::array<PyObject*, 6> bound{};
  bool isUsual = placeArguments(parameters, arguments, count, keywordNames, bound.data()) &&
                 std::all_of(bound.begin(), bound.begin() + 5, [](PyObject* one) { return one; }) &&
                 ownAttribute(torch().functional, torchName) == torch().torch &&
                 ownAttribute(torch().torch, name) == torch().layerNorm &&
                 ownAttribute(torch().torch, backends) == torch().backends &&
                 ownAttribute(torch().backends, cudnn) == torch().cudnn &&
                 cpython::lookup(Py_TYPE(torch().cudnn), enabled) == torch().enabledProperty;
  int overridden = isUsual ? isOverridden(question, {bound[0], bound[2], bound[3]}) : 1;
  if (overridden < 0) return nullptr;
  if (overridden) return callOriginal(original, arguments, count, keywordNames);
  Ref<> isEnabled = Ref<>::steal(PyObject_CallNoArgs(torch().cudnnEnabled));
  if (!isEnabled) return nullptr;
  bound[5] = isEnabled.get();
  return PyObject_Vectorcall(torch().layerNorm, bound.data(), bound.size(), nullptr);
}

void add(const char* name, PyMethodDef& method, bool isKnown) {
  PyObject* original = ownAttribute(torch().functional, name);
  if (!isKnown || !original || !PyFunction_Check(original)) return;
  if (TorchModule::modules().definedIn(original).empty()) return;
  Ref<> eager = Ref<>::steal(PyCFunction_New(&method, original));
  if (eager) registerEagerTarget(Ref<>::create(original), std::move(eager));
}

}  // namespace

void registerEagerFunctions() {
  constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;
  static PyMethodDef dropoutMethod = {"dropout", cpython::asMethod(dropout), kFlags, nullptr};
  static PyMethodDef layerNormMethod = {"layer_norm", cpython::asMethod(layerNorm), kFlags,
                                        nullptr};
  const Torch& known = torch();
  add("dropout", dropoutMethod, known.vf && known.dropout);
  add("layer_norm", layerNormMethod,
      known.torch && known.backends && known.cudnn && known.layerNorm && known.cudnnEnabled &&
          known.enabledProperty);
  clearUnlessInterrupted();
}

}  // namespace armature
