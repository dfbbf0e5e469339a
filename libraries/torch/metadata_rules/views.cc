#include "libraries/torch/metadata_rules/views.h"

#include <algorithm>
#include <utility>

#include "libraries/torch/metadata_rules/layout.h"
#include "libraries/torch/metadata_rules/table.h"

namespace armature {

void selectIndex(TensorMetadata& view, int64_t dimension, Dimension index) {
  if (index < 0) index += view.sizes[dimension];
  view.storageOffset += index * view.strides[dimension];
  removeDimension(view, dimension);
}

void sliceDimension(TensorMetadata& view, int64_t dimension, Dimension start, Dimension stop,
                    Dimension step) {
  Dimension size = view.sizes[dimension];
  if (start < 0) start += size;
  if (stop < 0) stop += size;
  start = std::clamp<Dimension>(start, 0, size);
  stop = std::clamp<Dimension>(stop, start, size);
  view.storageOffset += start * view.strides[dimension];
  view.sizes[dimension] = (stop - start + step - 1) / step;
  view.strides[dimension] *= step;
}

void insertDimension(TensorMetadata& view, int64_t dimension) {
  Dimension stride =
      dimension < view.dimension() ? view.sizes[dimension] * view.strides[dimension] : 1;
  view.sizes.insert(view.sizes.begin() + dimension, 1);
  view.strides.insert(view.strides.begin() + dimension, stride);
}

void removeDimension(TensorMetadata& view, int64_t dimension) {
  view.sizes.erase(view.sizes.begin() + dimension);
  view.strides.erase(view.strides.begin() + dimension);
}

bool inferSizes(Dimensions& sizes, Dimension elements) {
  Dimension known = 1;
  Dimension* unknown = nullptr;
  for (Dimension& size : sizes) {
    if (size == -1 && !unknown) {
      unknown = &size;
    } else if (size < 0) {
      return false;
    } else {
      known *= size;
    }
  }
  if (!unknown) return known == elements;
  if (known == 0 || elements % known != 0) return false;
  *unknown = elements / known;
  return true;
}

bool viewStrides(const TensorMetadata& tensor, const Dimensions& sizes, Dimensions& strides) {
  strides.assign(sizes.size(), 1);
  if (tensor.numel() == 0) {
    if (tensor.sizes == sizes) {
      strides = tensor.strides;
      return true;
    }
    for (size_t i = sizes.size(); i-- > 1;) {
      strides[i - 1] = std::max<Dimension>(sizes[i], 1) * strides[i];
    }
    return true;
  }
  if (tensor.sizes.empty()) return true;
  // Runs of dimensions that lie next to each other in memory are cut anew.
  int64_t to = static_cast<int64_t>(sizes.size()) - 1;
  Dimension innermost = tensor.strides.back();
  Dimension runElements = 1;
  Dimension cutElements = 1;
  for (int64_t from = tensor.dimension() - 1; from >= 0; --from) {
    runElements *= tensor.sizes[from];
    bool runEnds = from == 0 || (tensor.sizes[from - 1] != 1 &&
                                 tensor.strides[from - 1] != runElements * innermost);
    if (!runEnds) continue;
    while (to >= 0 && (cutElements < runElements || sizes[to] == 1)) {
      strides[to] = cutElements * innermost;
      cutElements *= sizes[to];
      --to;
    }
    if (cutElements != runElements) return false;
    if (from > 0) {
      innermost = tensor.strides[from - 1];
      runElements = 1;
      cutElements = 1;
    }
  }
  return to == -1;
}

namespace {

bool giveViewWithSizes(const Call& call, ResultStructure& result, const TensorMetadata& self,
                       Dimensions sizes) {
  MetadataPointer view = viewOf(self);
  if (!inferSizes(sizes, self.numel()) || !viewStrides(self, sizes, view->strides)) return false;
  view->sizes = std::move(sizes);
  return giveView(call, result, self, std::move(view));
}

bool giveReshaped(const Call& call, ResultStructure& result, const TensorMetadata& self,
                  Dimensions sizes) {
  if (!inferSizes(sizes, self.numel())) return false;
  if (giveViewWithSizes(call, result, self, sizes)) return true;
  return give(call, result, newTensor(self, std::move(sizes), self.dtype));
}

bool view(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  Dimensions sizes;
  return self && call.integers(1, sizes) && giveViewWithSizes(call, result, *self, sizes);
}

bool viewAs(const Call& call, ResultStructure& result) {
  const TensorMetadata *self = call.tensor(0), *other = call.tensor(1);
  return self && other && giveViewWithSizes(call, result, *self, other->sizes);
}

bool reshape(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  Dimensions sizes;
  return self && call.integers(1, sizes) && giveReshaped(call, result, *self, sizes);
}

bool reshapeAs(const Call& call, ResultStructure& result) {
  const TensorMetadata *self = call.tensor(0), *other = call.tensor(1);
  return self && other && giveReshaped(call, result, *self, other->sizes);
}

bool flatten(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  int64_t given[] = {0, -1};
  for (size_t i : {0, 1}) {
    if (!call.isGiven(i + 1)) continue;
    std::optional<int64_t> value = call.integer(i + 1);
    if (!value) return false;
    given[i] = *value;
  }
  std::optional<int64_t> start = wrapDimension(given[0], self->dimension());
  std::optional<int64_t> end = wrapDimension(given[1], self->dimension());
  if (!start || !end || *start > *end) return false;
  if (self->sizes.empty()) return giveReshaped(call, result, *self, {1});
  if (*start == *end) return giveItself(result, *self);
  Dimension elements = 1;
  for (int64_t i = *start; i <= *end; ++i) elements *= self->sizes[i];
  Dimensions sizes(self->sizes.begin(), self->sizes.begin() + *start);
  sizes.push_back(elements);
  sizes.append(self->sizes.begin() + *end + 1, self->sizes.end());
  return giveReshaped(call, result, *self, std::move(sizes));
}

bool unflatten(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<int64_t> given = call.integer(1);
  Dimensions parts;
  if (!self || !given || self->sizes.empty() || !call.integers(2, parts) || parts.empty()) {
    return false;
  }
  std::optional<int64_t> dimension = wrapDimension(*given, self->dimension());
  if (!dimension || !inferSizes(parts, self->sizes[*dimension])) return false;
  Dimensions sizes = self->sizes;
  sizes.erase(sizes.begin() + *dimension);
  sizes.insert(sizes.begin() + *dimension, parts.begin(), parts.end());
  return giveViewWithSizes(call, result, *self, std::move(sizes));
}

bool givePermuted(const Call& call, ResultStructure& result, const TensorMetadata& self,
                  llvm::ArrayRef<int64_t> order) {
  MetadataPointer view = viewOf(self);
  for (size_t i = 0; i < order.size(); ++i) {
    view->sizes[i] = self.sizes[order[i]];
    view->strides[i] = self.strides[order[i]];
  }
  return giveView(call, result, self, std::move(view));
}

bool permute(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  Dimensions given;
  if (!self || !call.integers(1, given) || given.size() != self->sizes.size()) return false;
  llvm::SmallVector<int64_t, 5> order;
  llvm::SmallVector<bool, 5> seen(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    std::optional<int64_t> wrapped = wrapDimension(given[i].value(), self->dimension());
    if (!wrapped || seen[*wrapped]) return false;
    seen[*wrapped] = true;
    order.push_back(*wrapped);
  }
  return givePermuted(call, result, *self, order);
}

bool giveTransposed(const Call& call, ResultStructure& result, const TensorMetadata& self,
                    int64_t first, int64_t second) {
  std::optional<int64_t> a = wrapDimension(first, self.dimension());
  std::optional<int64_t> b = wrapDimension(second, self.dimension());
  if (!a || !b) return false;
  MetadataPointer view = viewOf(self);
  if (!self.sizes.empty()) {
    std::swap(view->sizes[*a], view->sizes[*b]);
    std::swap(view->strides[*a], view->strides[*b]);
  }
  return giveView(call, result, self, std::move(view));
}

bool transpose(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<int64_t> first = call.integer(1), second = call.integer(2);
  return self && first && second && giveTransposed(call, result, *self, *first, *second);
}

bool transposeMatrix(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self || self->dimension() > 2) return false;
  if (self->dimension() < 2) return giveView(call, result, *self, viewOf(*self));
  return giveTransposed(call, result, *self, 0, 1);
}

// x.T
bool reverseDimensions(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  llvm::SmallVector<int64_t, 5> order;
  for (int64_t i = self->dimension(); i-- > 0;) order.push_back(i);
  return givePermuted(call, result, *self, order);
}

// x.mT
bool transposeLastTwo(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  return self && self->dimension() >= 2 && giveTransposed(call, result, *self, -1, -2);
}

bool giveExpanded(const Call& call, ResultStructure& result, const TensorMetadata& self,
                  const Dimensions& sizes) {
  if (sizes.size() < self.sizes.size()) return false;
  MetadataPointer view = viewOf(self);
  size_t added = sizes.size() - self.sizes.size();
  view->sizes = sizes;
  view->strides.assign(sizes.size(), 0);
  for (size_t i = sizes.size(); i-- > 0;) {
    bool isOld = i >= added;
    Dimension old = isOld ? self.sizes[i - added] : 1;
    if (isOld && (sizes[i] == -1 || sizes[i] == old)) {
      view->sizes[i] = old;
      view->strides[i] = self.strides[i - added];
    } else if (sizes[i] < 0 || old != 1) {
      return false;
    } else if (!isOld && sizes[i] == 1 && !self.sizes.empty()) {
      // As where a dimension is inserted.
      view->strides[i] = view->sizes[i + 1] * view->strides[i + 1];
    }
  }
  return giveView(call, result, self, std::move(view));
}

bool expand(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  Dimensions sizes;
  return self && call.integers(1, sizes) && giveExpanded(call, result, *self, sizes);
}

bool expandAs(const Call& call, ResultStructure& result) {
  const TensorMetadata *self = call.tensor(0), *other = call.tensor(1);
  return self && other && giveExpanded(call, result, *self, other->sizes);
}

bool unsqueeze(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<int64_t> given = call.integer(1);
  if (!self || !given) return false;
  std::optional<int64_t> dimension = wrapDimension(*given, self->dimension() + 1);
  if (!dimension) return false;
  MetadataPointer view = viewOf(*self);
  insertDimension(*view, *dimension);
  return giveView(call, result, *self, std::move(view));
}

bool squeeze(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  llvm::SmallVector<bool, 5> removed(self->sizes.size(), !call.isGiven(1));
  if (call.isGiven(1)) {
    Dimensions dimensions;
    if (!call.integers(1, dimensions)) return false;
    if (self->sizes.empty() && dimensions.size() > 1) return false;
    for (Dimension given : dimensions) {
      std::optional<int64_t> dimension = wrapDimension(given.value(), self->dimension());
      if (!dimension) return false;
      if (!removed.empty() && std::exchange(removed[*dimension], true)) return false;
    }
  }
  MetadataPointer view = viewOf(*self);
  for (int64_t i = self->dimension(); i-- > 0;) {
    if (removed[i] && self->sizes[i] == 1) removeDimension(*view, i);
  }
  return giveView(call, result, *self, std::move(view));
}

bool narrow(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<int64_t> given = call.integer(1), start = call.integer(2), length = call.integer(3);
  if (!self || !given || !start || !length || self->sizes.empty()) return false;
  std::optional<int64_t> dimension = wrapDimension(*given, self->dimension());
  if (!dimension) return false;
  Dimension size = self->sizes[*dimension];
  Dimension from = *start < 0 ? *start + size : *start;
  if (from < 0 || *length < 0 || from + *length > size) return false;
  MetadataPointer view = viewOf(*self);
  sliceDimension(*view, *dimension, from, from + *length, 1);
  return giveView(call, result, *self, std::move(view));
}

bool select(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<int64_t> given = call.integer(1), index = call.integer(2);
  if (!self || !given || !index || self->sizes.empty()) return false;
  std::optional<int64_t> dimension = wrapDimension(*given, self->dimension());
  if (!dimension) return false;
  Dimension size = self->sizes[*dimension];
  if (*index < -size || *index >= size) return false;
  MetadataPointer view = viewOf(*self);
  selectIndex(*view, *dimension, *index);
  return giveView(call, result, *self, std::move(view));
}

bool detach(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  MetadataPointer view = viewOf(*self);
  view->requiresGrad = false;
  view->isLeaf = true;
  view->mayBeView = true;
  result.metadata = std::move(view);
  return true;
}

const Row kRows[] = {
    {"view", AsMethod, "self *size", view},
    {"view_as", AsMethod, "self other", viewAs},
    {"reshape", AsMethod, "self *shape", reshape},
    {"reshape", InTorch, "self|input shape", reshape},
    {"reshape_as", AsMethod, "self other", reshapeAs},
    {"flatten", InTorch | AsMethod, "self|input start_dim end_dim", flatten},
    {"unflatten", InTorch | AsMethod, "self|input dim sizes", unflatten},
    {"permute", AsMethod, "self *dims", permute},
    {"permute", InTorch, "self|input dims", permute},
    {"transpose", InTorch | AsMethod, "self|input dim0 dim1", transpose},
    {"swapaxes swapdims", InTorch | AsMethod, "self|input axis0|dim0 axis1|dim1", transpose},
    {"t", InTorch | AsMethod, "self|input", transposeMatrix},
    {"T", AsAttribute, "self name", reverseDimensions},
    {"mT", AsAttribute, "self name", transposeLastTwo},
    {"expand", AsMethod, "self *size", expand},
    {"expand_as", AsMethod, "self other", expandAs},
    {"broadcast_to", InTorch | AsMethod, "self|input size", expand},
    {"unsqueeze", InTorch | AsMethod, "self|input dim", unsqueeze},
    {"squeeze", InTorch | AsMethod, "self|input dim", squeeze},
    {"narrow", InTorch | AsMethod, "self|input dim start length", narrow},
    {"select", InTorch | AsMethod, "self|input dim index", select},
    {"detach", InTorch | AsMethod, "self|input", detach},
    {"data", AsAttribute, "self name", detach},
};

}  // namespace

llvm::ArrayRef<Row> viewRows() { return kRows; }

}  // namespace armature
