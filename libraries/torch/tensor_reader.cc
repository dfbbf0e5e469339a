#include "libraries/torch/tensor_reader.h"

#include <utility>
#include <vector>

#include "core/checked.h"
#include "core/describe.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/global_state.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/torch_symbols.h"
#include "libraries/verification.h"

namespace armature {
namespace {

// Tensors in which every field has several values, so that a place that agrees with all of them is
// the field's. No active mode may take part in their making.
constexpr const char* exampleProgram = R"(
import torch
examples = []
with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch._C._InferenceMode(False):
    def empty(sizes, dtype=torch.float32, device='cpu', **options):
        return torch.empty(sizes, dtype=dtype, device=device, **options)
    strided = empty((7, 11, 13))
    examples += [
        empty((2, 3)), empty((), torch.float64), empty((5,), torch.int64), empty((0, 4), torch.bool),
        strided[2:, 3:, 5], strided.transpose(0, 2)[4:, 1:], empty((2, 3, 4, 5, 6), torch.uint8),
        empty((2, 3, 1, 5, 2, 7), torch.bfloat16), empty((1, 2, 1, 3, 1, 2, 2), torch.int16)[:, 1:],
        empty((6, 4), torch.complex64).conj(), empty((6, 4), torch.complex64).conj().imag,
        empty((3, 8), device='meta'), empty((3, 8), torch.float16, 'meta')[1:],
        empty((4, 9), requires_grad=True), torch.nn.Parameter(empty((4, 9))),
        torch.nn.Parameter(empty((4, 9)), requires_grad=False),
    ]
    examples.append(examples[-3].transpose(0, 1))
    with torch._C._InferenceMode(True):
        examples.append(empty((9, 2)))
)";

Ref<> torchAttribute(BorrowedRef<> torch, const char* name) {
  Ref<> value = Ref<>::steal(PyObject_GetAttrString(torch, name));
  if (!value) clearException();
  return value;
}

std::vector<TensorExample> makeExamples(const TensorAccess& attributes) {
  Ref<> names = checked(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> done = Ref<>::steal(PyRun_String(exampleProgram, Py_file_input, names.get(), names.get()));
  if (!done) {
    clearUnlessInterrupted();
    return {};
  }
  std::vector<TensorExample> examples;
  PyObject* list = PyDict_GetItemString(names.get(), "examples");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    TensorExample example{Ref<>::create(PyList_GET_ITEM(list, i)), {}};
    std::string why;
    if (!attributes.read(example.tensor, example.metadata, &why)) return {};
    examples.push_back(std::move(example));
  }
  return examples;
}

TensorReader* registered = nullptr;

}  // namespace

std::unique_ptr<TensorReader> TensorReader::create() {
  Ref<> torch = Ref<>::steal(cpython::importModule("torch"));
  Ref<> nn = torch ? torchAttribute(torch, "nn") : Ref<>();
  std::unique_ptr<TensorReader> reader(new TensorReader);
  if (!torch || !nn) {
    clearException();
    return nullptr;
  }
  reader->tensorType_ = torchAttribute(torch, "Tensor");
  reader->parameterType_ = torchAttribute(nn, "Parameter");
  reader->attributes_ = attributeAccess();
  if (!reader->tensorType_ || !reader->parameterType_ || !reader->attributes_) return nullptr;
  std::vector<TensorExample> examples = makeExamples(*reader->attributes_);
  if (!examples.empty()) {
    if (trusts("torch.functions")) {
      reader->functions_ = functionAccess(*reader->attributes_, examples);
    }
    // The functions prove that a tensor's object holds what the layout is searched in.
    if (reader->functions_ && trusts("torch.layout")) reader->layout_ = layoutAccess(examples);
  }
  reader->use("");
  prepareTorchState();
  return reader;
}

TensorReader::~TensorReader() = default;

bool TensorReader::read(BorrowedRef<> object, TensorMetadata& metadata, std::string* why) const {
  std::string reason;
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object.get()));
  if (type != tensorType_.get() && type != parameterType_.get())
    reason = typeName(Py_TYPE(object.get())) + " is neither torch.Tensor nor torch.nn.Parameter";
  else if (access_->read(object, metadata, &reason)) {
    metadata.isParameter = type == parameterType_.get();
    return true;
  }
  if (why) *why = reason;
  return false;
}

bool TensorReader::findMemory(BorrowedRef<> object, MemoryRange& range) const {
  static auto* const getData = torchFunction<int32_t(void*, void**)>("aoti_torch_get_data_ptr");
  TensorMetadata metadata;
  // The functions have proved where a tensor's object holds it.
  if (!getData || !functions_ || !read(object, metadata, nullptr)) return false;
  if (!isCommon(metadata.dtype)) return false;
  int64_t count = 1, last = 0;
  for (size_t i = 0; i < metadata.sizes.size(); ++i) {
    count *= metadata.sizes[i].value();
    last += (metadata.sizes[i].value() - 1) * metadata.strides[i].value();
  }
  range = {};
  if (count == 0) return true;
  void* data = nullptr;
  if (getData(reinterpret_cast<char*>(object.get()) + sizeof(PyObject), &data)) return false;
  range.begin = reinterpret_cast<uintptr_t>(data);
  range.end = data ? range.begin + (last + 1) * itemSize(metadata.dtype) : range.begin;
  return true;
}

std::string TensorReader::captureGlobalState(uint64_t asked) const {
  return captureTorchState(asked);
}

bool TensorReader::globalStateMatches(const std::string& state) const {
  return torchStateMatches(state);
}

std::string TensorReader::explainGlobalState(const std::string& state) const {
  return explainTorchState(state);
}

const char* TensorReader::use(const std::string& access) {
  if (layout_ && access != "functions" && access != "attributes") {
    access_ = layout_.get();
    return "layout";
  }
  if (functions_ && access != "attributes") {
    access_ = functions_.get();
    return "functions";
  }
  access_ = attributes_.get();
  return "attributes";
}

bool registerTorch() {
  static bool refused = false;
  if (registered || refused) return registered;
  // Present, and its import complete.
  for (const char* name : {"nn", "compile"}) {
    if (!cpython::importedAttribute("torch", name)) return false;
  }
  try {
    registered = TensorReader::create().release();
  } catch (const PendingPythonException&) {
    return false;
  }
  refused = !registered;
  if (registered) registerArrayLibrary(ArrayLibraryKind::Torch, registered);
  if (refused) warnOfRefusal("torch", "its tensors lack attributes that are needed");
  return registered;
}

const char* forceTensorAccess(const std::string& access) {
  return registerTorch() ? registered->use(access) : "torch is not imported";
}

}  // namespace armature
