#include "shapes/memory_overlap.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <algorithm>

namespace armature {

namespace {

// Wide enough for products of any size and stride.
using Distance = __int128;

// What an index of at most `reach` and at least `-back` moves by.
struct Step {
  int64_t stride = 0;  // positive
  Distance reach = 0;
  Distance back = 0;
};

// By falling strides.
using Steps = llvm::SmallVector<Step, 8>;

bool isEmpty(const TensorMetadata& array) {
  return llvm::any_of(array.sizes, [](Dimension size) { return size == 0; });
}

// Adds how far the indices of the array reach.
void addSteps(const TensorMetadata& array, Distance Step::*direction, Steps& steps) {
  for (size_t i = 0; i < array.sizes.size(); ++i) {
    int64_t stride = array.strides[i].value();
    Distance indices = static_cast<Distance>(array.sizes[i].value()) - 1;
    if (indices == 0 || stride == 0) continue;
    // Backwards, the same places are reached from the other end; whoever begins there says so.
    if (stride < 0) stride = -stride;
    auto* found = llvm::find_if(steps, [&](const Step& step) { return step.stride == stride; });
    Step& step = found == steps.end() ? steps.emplace_back(Step{stride}) : *found;
    step.*direction += indices;
  }
}

// The place of the first element in memory.
Distance beginning(const TensorMetadata& array) {
  Distance place = array.storageOffset.value();
  for (size_t i = 0; i < array.sizes.size(); ++i) {
    Distance indices = static_cast<Distance>(array.sizes[i].value()) - 1;
    if (array.strides[i] < 0) place += indices * array.strides[i].value();
  }
  return place;
}

// The place behind its last one.
Distance ending(const TensorMetadata& array) {
  Distance place = static_cast<Distance>(array.storageOffset.value()) + 1;
  for (size_t i = 0; i < array.sizes.size(); ++i) {
    Distance indices = static_cast<Distance>(array.sizes[i].value()) - 1;
    if (array.strides[i] > 0) place += indices * array.strides[i].value();
  }
  return place;
}

Distance floorQuotient(Distance a, Distance b) { return a / b - (a % b < 0); }

// Is there a sum of steps that is the distance? `work` bounds the search; true where it ends it.
bool mayReach(llvm::ArrayRef<Step> steps, Distance distance, int& work) {
  if (--work < 0) return true;
  if (steps.empty()) return distance == 0;
  const Step& step = steps.front();
  Distance most = 0, least = 0;  // that the smaller steps can add
  for (const Step& smaller : steps.drop_front()) {
    most += smaller.reach * smaller.stride;
    least -= smaller.back * smaller.stride;
  }
  Distance first = std::max(-step.back, -floorQuotient(most - distance, step.stride));
  Distance last = std::min(step.reach, floorQuotient(distance - least, step.stride));
  for (Distance index = first; index <= last; ++index) {
    if (mayReach(steps.drop_front(), distance - index * step.stride, work)) return true;
  }
  return false;
}

constexpr int kMostWork = 1 << 10;

}  // namespace

bool mayOverlapItself(const TensorMetadata& array) {
  if (isEmpty(array)) return false;
  for (size_t i = 0; i < array.sizes.size(); ++i) {
    if (array.strides[i] == 0 && array.sizes[i] > 1) return true;
  }
  Steps steps;
  addSteps(array, &Step::reach, steps);
  llvm::sort(steps, [](const Step& a, const Step& b) { return a.stride < b.stride; });
  Distance extent = 0;
  for (const Step& step : steps) {
    if (step.stride <= extent) return true;
    extent += step.reach * step.stride;
  }
  // Of two dimensions with one stride, both may move to the same place.
  size_t moving = llvm::count_if(array.sizes, [](Dimension size) { return size > 1; });
  return moving != steps.size();
}

bool mayOverlap(const TensorMetadata& left, const TensorMetadata& right) {
  if (isEmpty(left) || isEmpty(right)) return false;
  Steps steps;
  addSteps(left, &Step::reach, steps);
  addSteps(right, &Step::back, steps);
  llvm::sort(steps, [](const Step& a, const Step& b) { return a.stride > b.stride; });
  int work = kMostWork;
  return mayReach(steps, beginning(right) - beginning(left), work);
}

bool isPart(const TensorMetadata& part, const TensorMetadata& whole) {
  if (isEmpty(part)) return true;
  if (isEmpty(whole) || mayOverlapItself(whole)) return false;
  Distance first = beginning(whole), end = first + whole.numel().value();
  return ending(whole) == end && beginning(part) >= first && ending(part) <= end;
}

bool haveSamePlaces(const TensorMetadata& left, const TensorMetadata& right) {
  return left.storageOffset == right.storageOffset && left.sizes == right.sizes &&
         left.strides == right.strides;
}

}  // namespace armature
