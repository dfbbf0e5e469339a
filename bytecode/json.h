// Canonical code as JSON: for the command line and for tools that read our logs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bytecode/code.h"

namespace armature {

// {"name", "qualified_name", "filename", "first_line", "flags", "argument_count",
//  "positional_only_count", "keyword_only_count",
//  "locals": [{"name", "kind": "local" | "cell" | "free"}], "constants": [text], "names": [str],
//  "instructions": [{"opcode", "argument" where it takes one, "keyword_names" where CALL has some,
//                    "position": [line, end line, column, end column], null where unknown}],
//  "exception_regions": [{"start", "end", "target", "depth", "lasti"}]}
nlohmann::ordered_json toJson(const Code& code);

}  // namespace armature
