// What the public interface says of a translation.
#pragma once

#include "armature/outcome.h"
#include "runtime/cache_entry.h"

namespace armature::api {

Outcome outcomeOf(const CacheEntry& entry);

}  // namespace armature::api
