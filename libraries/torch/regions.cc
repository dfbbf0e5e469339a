#include "libraries/torch/regions.h"

#include <algorithm>

#include "core/checked.h"

namespace armature {

namespace {

std::vector<Region>& regions() {
  static auto& all = *new std::vector<Region>(1);
  return all;
}

template <class Predicate>
bool isInside(uint32_t mode, Predicate predicate) {
  for (uint32_t number = regionOf(mode); number; number = regions()[number].outer) {
    if (predicate(regions()[number])) return true;
  }
  return false;
}

}  // namespace

ModeState makeModeState(PyCFunction get, PyCFunction set, StateExtent extent) {
  auto* getter = new PyMethodDef{"get_state", get, METH_NOARGS, nullptr};
  auto* setter = new PyMethodDef{"set_state", set, METH_O, nullptr};
  return {.get = checked(PyCFunction_New(getter, nullptr)).release(),
          .set = checked(PyCFunction_New(setter, nullptr)).release(),
          .extent = extent};
}

uint32_t numberOf(Region region) {
  auto isSame = [&](const Region& known) {
    return known.outer == region.outer && known.kind == region.kind &&
           known.instance == region.instance &&
           std::equal(known.settings.begin(), known.settings.end(), region.settings.begin(),
                      region.settings.end(), [](const Ref<>& one, const Ref<>& other) {
                        return one.get() == other.get();
                      });
  };
  for (uint32_t i = 1; i < regions().size(); ++i) {
    if (isSame(regions()[i])) return i;
  }
  regions().push_back(std::move(region));
  return static_cast<uint32_t>(regions().size() - 1);
}

const Region& regionAt(uint32_t number) { return regions()[number]; }

std::vector<uint32_t> regionsOf(uint32_t mode) {
  std::vector<uint32_t> result;
  for (uint32_t number = regionOf(mode); number; number = regions()[number].outer) {
    result.push_back(number);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

bool isTransform(const Region& region) {
  return region.kind != RegionKind::Autocast && region.kind != RegionKind::Setting &&
         region.kind != RegionKind::Inference;
}

bool hasAutocast(uint32_t mode) {
  return isInside(mode, [](const Region& region) { return region.kind == RegionKind::Autocast; });
}

bool hasSetting(uint32_t mode) {
  return isInside(mode, [](const Region& region) { return region.kind == RegionKind::Setting; });
}

bool hasInferenceMode(uint32_t mode) {
  return isInside(mode, [](const Region& region) { return region.kind == RegionKind::Inference; });
}

bool hasTransform(uint32_t mode) { return isInside(mode, isTransform); }

}  // namespace armature
