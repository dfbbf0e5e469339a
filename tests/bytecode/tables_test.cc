// The exception table and the location table, as bytes and back.

#include <gtest/gtest.h>

#include "bytecode/exception_table.h"
#include "bytecode/location_table.h"

namespace armature {
namespace {

TEST(ExceptionTable, ReadsWhatItWrites) {
  const std::vector<ExceptionRegion> rows = {
      {0, 1, 2, 0, false},
      {63, 64 + 63, 4095, 1, true},
      {4096, 300000, 1 << 24, 31, false},
      {300000, 1 << 28, (1 << 28) + 5, 32, true},
      {1 << 28, INT32_MAX, INT32_MAX, (1 << 24), true},
  };
  EXPECT_EQ(parseExceptionTable(writeExceptionTable(rows)), rows);
  EXPECT_EQ(parseExceptionTable(""), std::vector<ExceptionRegion>{});
}

TEST(ExceptionTable, RefusesMalformedTables) {
  EXPECT_FALSE(parseExceptionTable("\x01"));              // no start mark
  EXPECT_FALSE(parseExceptionTable("\x81\x01\x01"));      // cut short
  EXPECT_FALSE(parseExceptionTable("\x81\x81\x01\x01"));  // a row within a row
  EXPECT_FALSE(parseExceptionTable("\xff\x7f\x7f\x7f\x7f\x7f\x01\x01\x01\x01"));  // too large
}

std::vector<Position> roundTrip(const std::vector<Position>& positions, int32_t firstLine) {
  LocationTableWriter writer(firstLine);
  for (const Position& position : positions) writer.add(position, 1);
  return *parseLocationTable(writer.table(), firstLine, positions.size());
}

TEST(LocationTable, ReadsWhatItWrites) {
  const std::vector<Position> positions = {
      {100, 100, 0, 15},     // short
      {100, 100, 79, 94},    // short, at its limits
      {100, 100, 79, 95},    // one line: too wide
      {100, 100, 80, 80},    // one line: too far
      {101, 101, 127, 127},  // one line, next
      {103, 103, 0, 1},      // one line, the one after
      {103, 103, 9, 3},      // ends before it starts
      {106, 106, 0, 1},      // long: three lines on
      {100, 100, 0, 1},      // long: back
      {100, 104, 128, 3},    // long: several lines
      {100, 104, -1, -1},    // long without columns
      {100, 104, 3, -1},     // long with one column
      {100, 100, 1 << 20, (1 << 20) + 1},
      {7, 7, -1, -1},  // no columns
      {},              // unknown
      {1 << 29, 1 << 29, 0, 0},
      {1, 1 << 29, 0, 0},
      {0, 0, 0, 0},
  };
  EXPECT_EQ(roundTrip(positions, 100), positions);
}

TEST(LocationTable, NormalizesWhatItCannotExpress) {
  const Position known{4, 4, -1, -1};
  EXPECT_EQ(roundTrip({{4, -1, -1, -1}}, 1)[0], known);
  EXPECT_EQ(roundTrip({{4, 2, 1, 1}}, 1)[0], known);
  EXPECT_EQ(roundTrip({{-1, 2, 1, 1}}, 1)[0], Position{});
  EXPECT_EQ(roundTrip({{INT32_MAX, INT32_MAX, 1, 1}, known}, 0)[1], known);
}

TEST(LocationTable, CoversMoreThanEightUnits) {
  const Position first{1, 1, 2, 3}, second{2, 2, 4, 5};
  LocationTableWriter writer(1);
  writer.add(first, 8);
  writer.add(second, 19);
  const auto positions = *parseLocationTable(writer.table(), 1, 30);
  EXPECT_EQ(positions[7], first);
  EXPECT_EQ(positions[8], second);
  EXPECT_EQ(positions[26], second);
  EXPECT_EQ(positions[27], Position{});  // the table ends before the code
}

TEST(LocationTable, RefusesMalformedTables) {
  EXPECT_FALSE(parseLocationTable("\x01", 1, 1));                              // no start mark
  EXPECT_FALSE(parseLocationTable("\x80", 1, 1));                              // cut short
  EXPECT_FALSE(parseLocationTable("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 1, 1));  // too large
}

}  // namespace
}  // namespace armature
