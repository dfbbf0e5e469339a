#include "libraries/torch/remembered_results.h"

#include <llvm/ADT/STLExtras.h>

#include "libraries/torch/allowed_functions.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/operation_nodes.h"

namespace armature {

namespace {

class KeyWriter {
 public:
  explicit KeyWriter(InputStructures inputs) : inputs_(inputs) {}

  bool write(const Node& node) {
    put(node.operation);
    put(node.mode);
    bool isMethod = node.operation == NodeOperation::CallMethod;
    if (!(isMethod ? writeConstant(node.target) : (put(node.target.get()), true))) return false;
    put(node.arguments.size());
    for (const Argument& argument : node.arguments) {
      if (!write(argument)) return false;
    }
    put(node.keywordArguments.size());
    for (const auto& [name, argument] : node.keywordArguments) {
      if (!writeConstant(name) || !write(argument)) return false;
    }
    return true;
  }

  std::string take() { return std::move(text_); }

 private:
  template <class Word>
  void put(const Word& word) {
    text_.append(reinterpret_cast<const char*>(&word), sizeof word);
  }

  bool write(const Argument& argument) {
    put(argument.kind());
    if (argument.kind() == Argument::Kind::Node) return writeInput(*argument.node());
    if (argument.kind() == Argument::Kind::Constant) return writeConstant(argument.object());
    put(static_cast<bool>(argument.object()));
    if (argument.object() && !writeConstant(argument.object())) return false;
    put(argument.elements().size());
    return llvm::all_of(argument.elements(),
                        [&](const Argument& element) { return write(element); });
  }

  // The same input twice is not two equal ones.
  bool writeInput(const Node& input) {
    size_t place = llvm::find(seen_, &input) - seen_.begin();
    put(place);
    if (place < seen_.size()) return true;
    seen_.push_back(&input);
    return write(inputs_(input));
  }

  bool write(const ResultStructure& structure) {
    put(structure.kind);
    put(structure.type.get());
    put(static_cast<bool>(structure.constant));
    if (structure.constant && !writeConstant(structure.constant)) return false;
    put(static_cast<bool>(structure.metadata));
    if (structure.metadata) write(*structure.metadata);
    put(structure.elements.size());
    return llvm::all_of(structure.elements,
                        [&](const ResultStructure& element) { return write(element); });
  }

  void write(const TensorMetadata& tensor) {
    put(tensor.library);
    put(tensor.dtype);
    put(tensor.device.type);
    put(tensor.device.index);
    for (bool flag : {tensor.requiresGrad, tensor.isLeaf, tensor.mayBeView, tensor.isInference,
                      tensor.isParameter, tensor.isStrided, tensor.isConjugate, tensor.isNegative,
                      tensor.isScalar}) {
      put(flag);
    }
    put(tensor.dispatchKeys);
    put(tensor.sizes.size());
    for (Dimension size : tensor.sizes) put(size.value());
    put(tensor.strides.size());
    for (Dimension stride : tensor.strides) put(stride.value());
    put(tensor.storageOffset.value());
  }

  bool writeConstant(BorrowedRef<> object) {
    // A class that can die leaves its address to others.
    if (Py_TYPE(object.get())->tp_flags & Py_TPFLAGS_HEAPTYPE) return false;
    put(Py_TYPE(object.get()));
    Device device;
    if (object == Py_None || object == Py_True || object == Py_False || object == Py_Ellipsis ||
        dtypeNumber(object) >= 0) {
      put(object.get());
    } else if (PyLong_CheckExact(object.get())) {
      int overflow = 0;
      put(PyLong_AsLongLongAndOverflow(object, &overflow));
      return overflow == 0;
    } else if (PyFloat_CheckExact(object.get())) {
      put(PyFloat_AS_DOUBLE(object.get()));
    } else if (PyUnicode_CheckExact(object.get())) {
      auto size = static_cast<size_t>(PyUnicode_GET_LENGTH(object.get()));
      put(PyUnicode_KIND(object.get()));
      put(size);
      text_.append(static_cast<const char*>(PyUnicode_DATA(object.get())),
                   size * PyUnicode_KIND(object.get()));
    } else if (PyTuple_Check(object.get())) {
      put(PyTuple_GET_SIZE(object.get()));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object.get()); ++i) {
        if (!writeConstant(PyTuple_GET_ITEM(object.get(), i))) return false;
      }
    } else if (readDevice(object, device)) {
      put(device.type);
      put(device.index);
    } else {
      return false;
    }
    return true;
  }

  InputStructures inputs_;
  std::string text_;
  llvm::SmallVector<const Node*, 4> seen_;
};

bool isNewArrays(const ResultStructure& result) {
  if (result.kind == ResultStructure::Kind::Constant || result.same || result.returned)
    return false;
  return llvm::all_of(result.elements, isNewArrays);
}

}  // namespace

RememberedResults& RememberedResults::of(Observer& observer, const Library& library) {
  std::shared_ptr<void>& memory = observer.memoryOf(library);
  if (!memory) memory = std::make_shared<RememberedResults>();
  return *static_cast<RememberedResults*>(memory.get());
}

std::string RememberedResults::keyOf(const Node& node, InputStructures inputs) {
  // Of what the program keeps out of traces, only the program knows what it does.
  if (isAllowedInGraph(node.target) || callsBodies(node) || node.mixesLibraries) return {};
  KeyWriter writer(inputs);
  return writer.write(node) ? writer.take() : std::string();
}

const ResultStructure* RememberedResults::find(const std::string& key) const {
  auto found = results_.find(key);
  return found == results_.end() ? nullptr : &found->second;
}

void RememberedResults::add(const std::string& key, const Node& node,
                            const ResultStructure& result) {
  if (!isNewArrays(result)) return;
  results_.try_emplace(key, result);
  targets_.push_back(node.target);
}

}  // namespace armature
