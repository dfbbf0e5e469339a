#include "libraries/torch/varying_numbers.h"

#include <algorithm>
#include <array>
#include <utility>

namespace armature {

namespace {

// Without the underscore of those that work in place.
constexpr std::array<std::string_view, 19> kTakingAnyNumber = {
    "add", "div",       "divide", "eq",         "ge",         "greater", "greater_equal",
    "gt",  "le",        "less",   "less_equal", "lt",         "mul",     "multiply",
    "ne",  "not_equal", "sub",    "subtract",   "true_divide"};

constexpr ArgumentPlaces kAlpha = {.keywords = {"alpha"}};
constexpr ArgumentPlaces kAlphaAndBeta = {.keywords = {"alpha", "beta"}};
constexpr ArgumentPlaces kValue = {.keywords = {"value"}};
constexpr ArgumentPlaces kSecondOrAlpha = {.positions = 1 << 1, .keywords = {"alpha"}};
constexpr ArgumentPlaces kSecond = {.positions = 1 << 1};
constexpr ArgumentPlaces kFill = {.positions = 1 << 1, .keywords = {"value"}};
constexpr ArgumentPlaces kMinimum = {.positions = 1 << 1, .keywords = {"min"}};
constexpr ArgumentPlaces kMaximum = {.positions = 1 << 1, .keywords = {"max"}};
constexpr ArgumentPlaces kExponent = {.positions = 1 << 1, .keywords = {"exponent"}};
constexpr ArgumentPlaces kLimits = {.positions = 1 << 1 | 1 << 2, .keywords = {"min", "max"}};
constexpr ArgumentPlaces kWeight = {.positions = 1 << 2, .keywords = {"weight"}};

// As above.
constexpr std::pair<std::string_view, const ArgumentPlaces*> kTakingSmallNumbers[] = {
    {"_foreach_add", &kSecondOrAlpha},
    {"_foreach_div", &kSecond},
    {"_foreach_lerp", &kWeight},
    {"_foreach_mul", &kSecond},
    {"_foreach_sub", &kSecondOrAlpha},
    {"add", &kAlpha},
    {"addbmm", &kAlphaAndBeta},
    {"addcdiv", &kValue},
    {"addcmul", &kValue},
    {"addmm", &kAlphaAndBeta},
    {"addmv", &kAlphaAndBeta},
    {"addr", &kAlphaAndBeta},
    {"baddbmm", &kAlphaAndBeta},
    {"clamp", &kLimits},
    {"clamp_max", &kMaximum},
    {"clamp_min", &kMinimum},
    {"clip", &kLimits},
    {"fill", &kFill},
    {"lerp", &kWeight},
    {"pow", &kExponent},
    {"sub", &kAlpha},
    {"subtract", &kAlpha},
};

std::string_view withoutUnderscore(std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace

bool takesAnyNumber(std::string_view name) {
  return std::ranges::binary_search(kTakingAnyNumber, withoutUnderscore(name));
}

const ArgumentPlaces* placesOfSmallNumbers(std::string_view name) {
  name = withoutUnderscore(name);
  auto by = [](const auto& entry) { return entry.first; };
  const auto* found = std::ranges::lower_bound(kTakingSmallNumbers, name, {}, by);
  return found != std::end(kTakingSmallNumbers) && found->first == name ? found->second : nullptr;
}

}  // namespace armature
