// torch for the guards: reads tensors' metadata and torch's global state without linking torch.
#pragma once

#include <memory>
#include <string>

#include "guards/array_library.h"
#include "libraries/torch/tensor_access.h"

namespace armature {

class TensorReader : public ArrayLibrary {
 public:
  // Null, with no exception set, if torch is not what we know.
  static std::unique_ptr<TensorReader> create();
  ~TensorReader() override;

  bool matches(BorrowedRef<> object, const TensorMetadata& expected,
               uint32_t observed) const override {
    return access_->matches(object, expected, observed);
  }
  bool read(BorrowedRef<> object, TensorMetadata& metadata, std::string* why) const override;

  bool findMemory(BorrowedRef<> object, MemoryRange& range) const override;

  std::string captureGlobalState(uint64_t asked) const override;
  bool globalStateMatches(const std::string& state) const override;
  std::string explainGlobalState(const std::string& state) const override;

  // "layout", "functions" or "attributes"; the fastest available one for any other name. Returns
  // the name of what is in use then.
  const char* use(const std::string& access);

 private:
  TensorReader() = default;

  Ref<> tensorType_;
  Ref<> parameterType_;
  std::unique_ptr<TensorAccess> layout_;
  std::unique_ptr<TensorAccess> functions_;
  std::unique_ptr<TensorAccess> attributes_;
  const TensorAccess* access_ = nullptr;
};

// Registers torch with the guards if Python has imported it; true if it is registered. Cheap when
// there is nothing to do; never imports torch. Sets an exception only where the program is
// interrupted meanwhile, or has made warnings errors; then the next call tries again.
bool registerTorch();

// For tests: chooses the way tensors are read (see TensorReader::use). Needs torch registered.
const char* forceTensorAccess(const std::string& access);

}  // namespace armature
