// CPython's location table (co_linetable): its bytes and its positions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/instruction.h"

namespace armature {

// One position for each of the code's units; a table that ends early leaves the rest unknown.
// Nothing if the table is malformed.
std::optional<std::vector<Position>> parseLocationTable(std::string_view table, int32_t firstLine,
                                                        size_t units);

// Writes the positions of consecutive instructions. What the table cannot express is written as
// what it means at best: without a line nothing is known, without columns no end is known.
class LocationTableWriter {
 public:
  explicit LocationTableWriter(int32_t firstLine) : line_(firstLine) {}

  void add(const Position& position, size_t units);
  const std::string& table() const { return table_; }

 private:
  class Entry;
  void addEntry(const Position& position, size_t units);
  void encode(Entry& entry, const Position& position, size_t units);

  std::string table_;
  int32_t line_;
};

}  // namespace armature
