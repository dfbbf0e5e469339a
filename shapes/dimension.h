// A size, a stride or an offset of an array: what metadata rules compute with.
//
// It is a number. Rules are written over this class and not over int64_t, so that a size that is
// not known while tracing has one place to come in: where a rule compares, and where it asks for
// the value.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <compare>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace armature {

// A shape needs numbers of more than 64 bits. The rule that computes it does not know the operation
// then: the library itself has to be asked, which raises what it always raises.
struct DimensionOverflow : std::overflow_error {
  DimensionOverflow() : std::overflow_error("a size beyond 64 bits") {}
};

class Dimension {
 public:
  constexpr Dimension() = default;
  constexpr Dimension(int64_t value) : value_(value) {}

  constexpr int64_t value() const { return value_; }

  // Throw DimensionOverflow.
  friend constexpr Dimension operator+(Dimension a, Dimension b) {
    int64_t result = 0;
    if (__builtin_add_overflow(a.value_, b.value_, &result)) throw DimensionOverflow();
    return result;
  }
  friend constexpr Dimension operator-(Dimension a, Dimension b) {
    int64_t result = 0;
    if (__builtin_sub_overflow(a.value_, b.value_, &result)) throw DimensionOverflow();
    return result;
  }
  friend constexpr Dimension operator*(Dimension a, Dimension b) {
    int64_t result = 0;
    if (__builtin_mul_overflow(a.value_, b.value_, &result)) throw DimensionOverflow();
    return result;
  }
  // As C++ divides: towards zero. The divisor is not 0.
  friend constexpr Dimension operator/(Dimension a, Dimension b) {
    if (b.value_ == -1) return Dimension() - a;
    return a.value_ / b.value_;
  }
  friend constexpr Dimension operator%(Dimension a, Dimension b) {
    return b.value_ == -1 ? 0 : a.value_ % b.value_;
  }
  constexpr Dimension operator-() const { return Dimension() - *this; }
  constexpr Dimension& operator+=(Dimension other) { return *this = *this + other; }
  constexpr Dimension& operator-=(Dimension other) { return *this = *this - other; }
  constexpr Dimension& operator*=(Dimension other) { return *this = *this * other; }
  constexpr Dimension& operator/=(Dimension other) { return *this = *this / other; }
  constexpr Dimension& operator++() { return *this += 1; }
  constexpr Dimension& operator--() { return *this -= 1; }

  friend constexpr bool operator==(Dimension a, Dimension b) { return a.value_ == b.value_; }
  friend constexpr auto operator<=>(Dimension a, Dimension b) { return a.value_ <=> b.value_; }

 private:
  int64_t value_ = 0;
};

using Dimensions = llvm::SmallVector<Dimension, 5>;

}  // namespace armature

// A dimension has no limits; without this, the general template would say they are 0.
template <>
class std::numeric_limits<armature::Dimension>;
