// Functions of torch that are called while tracing when all their arguments are constants, and the
// state of torch that their answers depend on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace armature {

struct Query {
  std::string_view name;  // as CallableName::qualified()
  // What it reads (TorchSetting bits), all of which is guarded where the query is answered. 0: it
  // is pure, or tells what does not change while the process lives.
  uint64_t settings;
};

// The query of this name, or null: then an answer would not be guarded, and must not be folded.
const Query* findQuery(std::string_view name);
// All of them, sorted by name.
const std::vector<Query>& queries();

}  // namespace armature
