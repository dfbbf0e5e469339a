// CPython's exception table: its bytes and its rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/code.h"

namespace armature {

// Start, end and target of the rows are in code units. Nothing if the table is malformed.
std::optional<std::vector<ExceptionRegion>> parseExceptionTable(std::string_view table);
std::string writeExceptionTable(const std::vector<ExceptionRegion>& rows);

}  // namespace armature
