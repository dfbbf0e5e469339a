// What is known of NumPy's functions, methods and operators, by name.
#pragma once

#include <cstdint>

namespace armature {

// What a call does besides returning its result.
enum class NumPyEffect : uint8_t {
  // Nothing at all: it makes or rearranges arrays, and neither warns nor fails because of data.
  None,
  // It computes: it may warn or fail because of data, which the graph does when it runs.
  Computes,
  // It answers from types and shapes, with a Python object.
  Tells,
  // It changes its first argument and returns None.
  Mutates,
  // It changes its first argument and returns that very object.
  MutatesAndReturns,
};

// What a result has to do with the sizes of the arguments.
enum class NumPySizes : uint8_t {
  // Each size of a result is 0, 1 or some argument's size, by a rule in which the sizes matter
  // only by their order: small arrays stand for large ones.
  Kept,
  // Sizes follow some other rule; the number of dimensions does not depend on sizes.
  Computed,
  // Even the number of results or of their dimensions may depend on sizes.
  Decide,
};

// What stands for data in a trial run: something that the operation accepts.
enum class NumPyData : uint8_t { Zeros, Ones, Identity };

struct FunctionRule {
  // Bit i: positional parameter i may hold arrays (of lists and tuples, the elements). Others shape
  // the result, so that an array there makes it depend on data.
  uint8_t arrays = 1;
  NumPyEffect effect = NumPyEffect::Computes;
  NumPySizes sizes = NumPySizes::Kept;
  NumPyData data = NumPyData::Zeros;
  // Bounds on the number of positional arguments of the forms that are modelled.
  uint8_t fewest = 0;
  uint8_t most = 255;
  // Keywords of forms that are not modelled, separated by spaces.
  const char* refused = "";
  // Why it is not traced at all; "" for what is.
  const char* reason = "";
};

// A family of names under one owner: "numpy", "numpy.linalg", "numpy.ndarray", "_operator", ….
struct FunctionFamily {
  const char* owner;
  const char* names;  // separated by spaces
  FunctionRule rule;
};

struct FunctionFamilies {
  const FunctionFamily* first;
  const FunctionFamily* last;
  const FunctionFamily* begin() const { return first; }
  const FunctionFamily* end() const { return last; }
};

FunctionFamilies functionFamilies();

// Keywords that may hold arrays, wherever they occur; all others shape the result.
bool keywordMayHoldArrays(const char* keyword);

}  // namespace armature
