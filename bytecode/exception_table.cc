// The table is a sequence of rows (start, length, target, depth * 2 + lasti), each number written
// big-endian in groups of six bits. Bit 6 of a byte says that more groups follow; bit 7 marks the
// first byte of a row.
#include "bytecode/exception_table.h"

namespace armature {
namespace {

constexpr uint8_t rowStart = 0x80;
constexpr uint8_t more = 0x40;
constexpr uint8_t groupMask = 0x3f;

class Reader {
 public:
  explicit Reader(std::string_view table) : table_(table) {}

  bool atEnd() const { return at_ == table_.size(); }

  std::optional<int32_t> number(bool first) {
    int64_t value = 0;
    for (bool start = first;; start = false) {
      if (atEnd()) return std::nullopt;
      const auto byte = static_cast<uint8_t>(table_[at_++]);
      if (((byte & rowStart) != 0) != start) return std::nullopt;
      value = (value << 6) | (byte & groupMask);
      if (value > INT32_MAX) return std::nullopt;
      if ((byte & more) == 0) return static_cast<int32_t>(value);
    }
  }

 private:
  std::string_view table_;
  size_t at_ = 0;
};

void writeNumber(std::string& table, uint32_t value, bool first) {
  int shift = 0;
  while (shift < 30 && (value >> (shift + 6)) != 0) shift += 6;
  for (uint8_t mark = first ? rowStart : 0; shift >= 0; shift -= 6, mark = 0) {
    const uint8_t group = (value >> shift) & groupMask;
    table.push_back(static_cast<char>(group | (shift > 0 ? more : 0) | mark));
  }
}

}  // namespace

std::optional<std::vector<ExceptionRegion>> parseExceptionTable(std::string_view table) {
  std::vector<ExceptionRegion> rows;
  Reader reader(table);
  while (!reader.atEnd()) {
    const auto start = reader.number(true);
    const auto length = reader.number(false);
    const auto target = reader.number(false);
    const auto depthAndLasti = reader.number(false);
    if (!start || !length || !target || !depthAndLasti || *start > INT32_MAX - *length) {
      return std::nullopt;
    }
    rows.push_back(
        {*start, *start + *length, *target, *depthAndLasti >> 1, (*depthAndLasti & 1) != 0});
  }
  return rows;
}

std::string writeExceptionTable(const std::vector<ExceptionRegion>& rows) {
  std::string table;
  for (const ExceptionRegion& row : rows) {
    writeNumber(table, row.start, true);
    writeNumber(table, row.end - row.start, false);
    writeNumber(table, row.target, false);
    writeNumber(table, (static_cast<uint32_t>(row.depth) << 1) | (row.pushLasti ? 1 : 0), false);
  }
  return table;
}

}  // namespace armature
