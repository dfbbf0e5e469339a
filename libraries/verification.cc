#include "libraries/verification.h"

#include <set>
#include <string>

#include "core/ref.h"

namespace armature {

namespace {

std::set<std::string, std::less<>>& distrusted() {
  static auto& ways = *new std::set<std::string, std::less<>>;
  return ways;
}

}  // namespace

bool trusts(std::string_view way) { return !distrusted().contains(way); }

void distrust(std::string_view way) { distrusted().emplace(way); }

void warnOfRefusal(const char* library, const char* why) {
  PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                   "armature does not capture operations of this version of %s: %s", library, why);
}

}  // namespace armature
