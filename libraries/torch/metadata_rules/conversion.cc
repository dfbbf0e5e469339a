// Copies, and conversions to other dtypes and devices.

#include "libraries/torch/metadata_rules/layout.h"
#include "libraries/torch/metadata_rules/result.h"
#include "libraries/torch/metadata_rules/table.h"

namespace armature {

namespace {

bool giveCopy(const Call& call, ResultStructure& result, const TensorMetadata& self, DType dtype) {
  MetadataPointer copy = newTensor(self, self.sizes, dtype);
  copy->strides = preservedStrides(self);
  // Another tensor only says which dtype is wanted.
  return self.requiresGrad ? give(call, result, std::move(copy))
                           : giveWithoutGrad(result, std::move(copy));
}

bool giveConverted(const Call& call, ResultStructure& result, const TensorMetadata& self,
                   DType dtype) {
  if (!isCommon(dtype)) return false;
  // Dropping the imaginary part warns.
  if (isComplex(self.dtype) && !isComplex(dtype)) return false;
  if (dtype == self.dtype) return giveItself(result, self);
  return giveCopy(call, result, self, dtype);
}

bool clone(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  return self && giveCopy(call, result, *self, self->dtype);
}

bool contiguous(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  if (self->isContiguous()) return giveItself(result, *self);
  return give(call, result, newTensor(*self, self->sizes, self->dtype));
}

// x.to(dtype), x.to(device), x.to(device, dtype), x.to(other), without copy or memory format.
bool to(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  DType dtype = self->dtype;
  auto apply = [&](size_t parameter) {
    if (!call.has(parameter)) return true;
    Device device;
    const Argument& argument = call.argument(parameter);
    if (const TensorMetadata* other = call.tensor(parameter)) {
      dtype = other->dtype;
      return other->device == self->device;
    }
    if (argument.kind() != Argument::Kind::Constant) return false;
    if (DType given = call.dtype(parameter); given >= 0) {
      dtype = given;
      return true;
    }
    if (readDevice(argument.object(), device)) return device == self->device;
    return stringView(argument.object()) == "cpu" && self->device == Device();
  };
  for (size_t parameter : {1, 2, 3, 4}) {
    if (!apply(parameter)) return false;
  }
  return call.boolean(5, false).has_value() && giveConverted(call, result, *self, dtype);
}

bool cpu(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  return self && self->device == Device() && giveItself(result, *self);
}

template <DType dtype>
bool convert(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  return self && giveConverted(call, result, *self, dtype);
}

bool typeAs(const Call& call, ResultStructure& result) {
  const TensorMetadata *self = call.tensor(0), *other = call.tensor(1);
  return self && other && giveConverted(call, result, *self, other->dtype);
}

// x.type(dtype) and x.type("torch.DoubleTensor"); x.type() is the name of a type.
bool type(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || !call.has(1)) return false;
  const Argument& argument = call.argument(1);
  bool isLegacy = argument.kind() == Argument::Kind::Constant && self->device == Device();
  DType legacy = isLegacy ? legacyDType(argument.object()) : DType{-1};
  return giveConverted(call, result, *self, legacy >= 0 ? legacy : call.dtype(1));
}

const Row kRows[] = {
    {"clone", InTorch | AsMethod, "self|input", clone},
    {"contiguous", AsMethod, "self", contiguous},
    {"to", AsMethod, "self first second ; dtype device non_blocking", to},
    {"cpu", AsMethod, "self", cpu},
    {"float", AsMethod, "self", convert<Float32>},
    {"double", AsMethod, "self", convert<Float64>},
    {"half", AsMethod, "self", convert<Float16>},
    {"bfloat16", AsMethod, "self", convert<BFloat16>},
    {"int", AsMethod, "self", convert<Int32>},
    {"long", AsMethod, "self", convert<Int64>},
    {"short", AsMethod, "self", convert<Int16>},
    {"char", AsMethod, "self", convert<Int8>},
    {"byte", AsMethod, "self", convert<UInt8>},
    {"bool", AsMethod, "self", convert<Bool>},
    {"cfloat", AsMethod, "self", convert<Complex64>},
    {"cdouble", AsMethod, "self", convert<Complex128>},
    {"type_as", AsMethod, "self other", typeAs},
    {"type", AsMethod, "self dtype", type},
};

}  // namespace

llvm::ArrayRef<Row> conversionRows() { return kRows; }

}  // namespace armature
