// Ways to read a tensor's metadata. The fastest one that proved right when torch was registered is
// used; each can be chosen for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ref.h"
#include "shapes/tensor_metadata.h"

namespace armature {

class TensorAccess {
 public:
  virtual ~TensorAccess() = default;
  // As ArrayLibrary's, of an object that is a torch.Tensor or a torch.nn.Parameter.
  virtual bool read(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) const = 0;
  // By reading everything, unless a way knows better.
  virtual bool matches(BorrowedRef<> tensor, const TensorMetadata& expected,
                       uint32_t observed) const;
};

// A tensor and what torch says of it, against which ways are verified.
struct TensorExample {
  Ref<> tensor;
  TensorMetadata metadata;
};

// Through Python attributes, with torch's overriding mechanisms switched off. Always right.
std::unique_ptr<TensorAccess> attributeAccess();
// Through the stable C functions of libtorch (torch/csrc/inductor/aoti_torch/c/shim.h); what they
// don't tell, through attributes. Null if the examples disagree.
std::unique_ptr<TensorAccess> functionAccess(const TensorAccess& attributes,
                                             const std::vector<TensorExample>& examples);
// Through offsets in the tensor's C++ structure, searched in the examples. Null if none fit.
std::unique_ptr<TensorAccess> layoutAccess(const std::vector<TensorExample>& examples);

// Bits of the dispatch keys that say more than themselves; learnt from the examples.
struct DispatchKeyBits {
  uint64_t conjugate = 0;
  uint64_t negative = 0;
  uint64_t notInference = 0;
};

// Compares what was observed.
bool agree(const TensorMetadata& found, const TensorMetadata& expected, uint32_t observed);

}  // namespace armature
