// An entry covers one to eight code units. Its first byte is 0x80 | form << 3 | units - 1; numbers
// are little-endian in groups of six bits, bit 6 says that more follow, and bit 0 of a signed one
// is its sign. Lines are relative to the line of the entry before.
#include "bytecode/location_table.h"

#include <algorithm>
#include <array>

namespace armature {
namespace {

// Forms 0 to 9: same line, column = form * 8 + 0..7, end within 15 columns: one more byte.
constexpr int lastShortForm = 9;
// Forms 10 to 12: line + 0..2, both columns in a byte each.
constexpr int firstOneLineForm = 10;
constexpr int lastOneLineForm = 12;
constexpr int noColumnsForm = 13;
constexpr int longForm = 14;
constexpr int unknownForm = 15;

constexpr size_t maximumUnits = 8;
constexpr uint8_t entryStart = 0x80;
constexpr uint8_t more = 0x40;
constexpr uint8_t groupMask = 0x3f;

class Reader {
 public:
  explicit Reader(std::string_view table) : table_(table) {}

  bool atEnd() const { return at_ == table_.size(); }
  // False once something was read past the end or out of range.
  bool valid() const { return valid_; }

  uint8_t byte() {
    if (atEnd()) {
      valid_ = false;
      return 0;
    }
    return static_cast<uint8_t>(table_[at_++]);
  }

  int64_t unsignedNumber() {
    int64_t value = 0;
    for (int shift = 0;; shift += 6) {
      const uint8_t group = byte();
      if (shift > 30) valid_ = false;
      if (!valid_) return 0;
      value |= static_cast<int64_t>(group & groupMask) << shift;
      if ((group & more) == 0) return value;
    }
  }

  int64_t signedNumber() {
    const int64_t value = unsignedNumber();
    return (value & 1) != 0 ? -(value >> 1) : value >> 1;
  }

  int32_t narrow(int64_t value) {
    if (value < INT32_MIN || value > INT32_MAX) {
      valid_ = false;
      return -1;
    }
    return static_cast<int32_t>(value);
  }

 private:
  std::string_view table_;
  size_t at_ = 0;
  bool valid_ = true;
};

Position readPosition(Reader& reader, int form, int32_t& line) {
  if (form == unknownForm) return {};
  if (form == longForm) {
    line = reader.narrow(line + reader.signedNumber());
    const int32_t endLine = reader.narrow(line + reader.unsignedNumber());
    const int32_t column = reader.narrow(reader.unsignedNumber() - 1);
    const int32_t endColumn = reader.narrow(reader.unsignedNumber() - 1);
    return {line, endLine, column, endColumn};
  }
  if (form == noColumnsForm) {
    line = reader.narrow(line + reader.signedNumber());
    return {line, line, -1, -1};
  }
  if (form >= firstOneLineForm) {
    line = reader.narrow(static_cast<int64_t>(line) + form - firstOneLineForm);
    const int32_t column = reader.byte();
    const int32_t endColumn = reader.byte();
    return {line, line, column, endColumn};
  }
  const uint8_t columns = reader.byte();
  const int32_t column = form << 3 | columns >> 4;
  return {line, line, column, column + (columns & 0xf)};
}

}  // namespace

std::optional<std::vector<Position>> parseLocationTable(std::string_view table, int32_t firstLine,
                                                        size_t units) {
  std::vector<Position> positions;
  positions.reserve(units);
  Reader reader(table);
  int32_t line = firstLine;
  while (!reader.atEnd() && positions.size() < units) {
    const uint8_t head = reader.byte();
    if ((head & entryStart) == 0) return std::nullopt;
    const Position position = readPosition(reader, (head >> 3) & 0xf, line);
    if (!reader.valid()) return std::nullopt;
    const size_t covered = std::min<size_t>((head & 7) + 1, units - positions.size());
    positions.insert(positions.end(), covered, position);
  }
  positions.resize(units);
  return positions;
}

// Every instruction has entries of its own, as the compiler's have.
void LocationTableWriter::add(const Position& position, size_t units) {
  for (; units > maximumUnits; units -= maximumUnits) addEntry(position, maximumUnits);
  addEntry(position, units);
}

// The bytes of one entry.
class LocationTableWriter::Entry {
 public:
  void begin(int form, size_t units) {
    write(static_cast<uint8_t>(entryStart | form << 3 | static_cast<int>(units - 1)));
  }
  void write(int byte) { bytes_[size_++] = static_cast<char>(byte); }
  void writeUnsigned(uint32_t value) {
    for (; value > groupMask; value >>= 6) write(static_cast<int>((value & groupMask) | more));
    write(static_cast<int>(value));
  }
  void writeSigned(int32_t value) {
    // The caller keeps values within half the range, so that the shift fits.
    const uint32_t magnitude = value < 0 ? -static_cast<uint32_t>(value) : value;
    writeUnsigned(magnitude << 1 | (value < 0 ? 1 : 0));
  }
  std::string_view bytes() const { return {bytes_.data(), size_}; }

 private:
  // The longest form: a first byte, and four numbers of 32 bits in groups of six.
  std::array<char, 1 + 4 * 6> bytes_;
  size_t size_ = 0;
};

void LocationTableWriter::addEntry(const Position& position, size_t units) {
  Entry entry;
  encode(entry, position, units);
  table_ += entry.bytes();
}

void LocationTableWriter::encode(Entry& entry, const Position& position, size_t units) {
  const auto [line, endLine, column, endColumn] = position;
  if (line < 0) return entry.begin(unknownForm, units);
  const int64_t lines = static_cast<int64_t>(line) - line_;
  if (lines < INT32_MIN / 2 || lines > INT32_MAX / 2) return entry.begin(unknownForm, units);
  line_ = line;
  const bool hasColumns = column >= 0 && endColumn >= 0;
  if (endLine < line || (endLine == line && !hasColumns)) {
    entry.begin(noColumnsForm, units);
    return entry.writeSigned(static_cast<int32_t>(lines));
  }
  if (endLine == line && lines == 0 && column < (lastShortForm + 1) * 8 && endColumn >= column &&
      endColumn - column <= 0xf) {
    entry.begin(column >> 3, units);
    return entry.write((column & 7) << 4 | (endColumn - column));
  }
  if (endLine == line && lines >= 0 && lines <= lastOneLineForm - firstOneLineForm &&
      column < 0x80 && endColumn < 0x80) {
    entry.begin(firstOneLineForm + static_cast<int>(lines), units);
    entry.write(column);
    return entry.write(endColumn);
  }
  entry.begin(longForm, units);
  entry.writeSigned(static_cast<int32_t>(lines));
  entry.writeUnsigned(static_cast<uint32_t>(endLine) - static_cast<uint32_t>(line));
  entry.writeUnsigned(static_cast<uint32_t>(std::max(column, -1)) + 1);
  entry.writeUnsigned(static_cast<uint32_t>(std::max(endColumn, -1)) + 1);
}

}  // namespace armature
