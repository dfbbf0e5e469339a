// x[…] with ints, slices, None and Ellipsis.

#include <limits>

#include "libraries/torch/metadata_rules/table.h"
#include "libraries/torch/metadata_rules/views.h"

namespace armature {

namespace {

bool isEllipsis(const Argument& item) { return item.object().get() == Py_Ellipsis; }

// How many dimensions of the tensor an index item takes; nothing for items that are not known.
std::optional<int64_t> consumed(const Argument& item) {
  if (item.kind() == Argument::Kind::Slice) return 1;
  if (item.kind() != Argument::Kind::Constant) return std::nullopt;
  PyObject* object = item.object();
  if (object == Py_None || object == Py_Ellipsis) return 0;
  if (PyLong_CheckExact(object) || PySlice_Check(object)) return 1;
  return std::nullopt;
}

struct SliceBounds {
  Dimension start = 0;
  Dimension stop = std::numeric_limits<int64_t>::max();
  Dimension step = 1;
};

std::optional<SliceBounds> readSlice(const Argument& item) {
  std::vector<Argument> parts = item.elements();
  if (item.kind() == Argument::Kind::Constant) {
    auto* slice = reinterpret_cast<PySliceObject*>(item.object().get());
    for (PyObject* part : {slice->start, slice->stop, slice->step}) {
      parts.push_back(Argument::constant(part));
    }
  }
  SliceBounds bounds;
  Dimension* values[] = {&bounds.start, &bounds.stop, &bounds.step};
  for (size_t i = 0; i < 3; ++i) {
    if (isNone(parts[i])) continue;
    std::optional<int64_t> value = readInteger(parts[i]);
    if (!value) return std::nullopt;
    *values[i] = *value;
  }
  if (bounds.step <= 0) return std::nullopt;
  return bounds;
}

bool isSlice(const Argument& item) {
  return item.kind() == Argument::Kind::Slice || PySlice_Check(item.object().get());
}

// Applies one item at `dimension`, which becomes the next one to look at.
bool applyItem(const Argument& item, TensorMetadata& view, int64_t& dimension) {
  if (isSlice(item)) {
    std::optional<SliceBounds> bounds = readSlice(item);
    if (!bounds) return false;
    sliceDimension(view, dimension++, bounds->start, bounds->stop, bounds->step);
    return true;
  }
  if (isNone(item)) {
    insertDimension(view, dimension++);
    return true;
  }
  std::optional<int64_t> index = readInteger(item);
  if (!index || *index < -view.sizes[dimension] || *index >= view.sizes[dimension]) return false;
  selectIndex(view, dimension, *index);
  return true;
}

bool getItem(const Call& call, ResultStructure& result) {
  const TensorMetadata* self = call.tensor(0);
  if (!self) return false;
  std::vector<Argument> items;
  const Argument& key = call.argument(1);
  if (key.kind() == Argument::Kind::Tuple) {
    items = key.elements();
  } else if (key.kind() == Argument::Kind::Constant && PyTuple_CheckExact(key.object().get())) {
    PyObject* tuple = key.object();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      items.push_back(Argument::constant(PyTuple_GET_ITEM(tuple, i)));
    }
  } else {
    items.push_back(key);
  }

  int64_t taken = 0;
  bool hasEllipsis = false;
  for (const Argument& item : items) {
    std::optional<int64_t> dimensions = consumed(item);
    if (!dimensions || (hasEllipsis && isEllipsis(item))) return false;
    hasEllipsis = hasEllipsis || isEllipsis(item);
    taken += *dimensions;
  }
  if (taken > self->dimension()) return false;

  MetadataPointer view = viewOf(*self);
  int64_t dimension = 0;
  for (const Argument& item : items) {
    if (isEllipsis(item)) {
      dimension += self->dimension() - taken;
    } else if (!applyItem(item, *view, dimension)) {
      return false;
    }
  }
  return giveView(call, result, *self, std::move(view));
}

const Row kRows[] = {
    {"getitem", InOperator, "self key", getItem},
    {"__getitem__", AsMethod, "self key", getItem},
};

}  // namespace

llvm::ArrayRef<Row> indexingRows() { return kRows; }

}  // namespace armature
