// The state of random.Random objects: what they will give can be known without taking it.
#pragma once

#include <cstdint>

#include "core/ref.h"

namespace armature::cpython {

// _random.Random, if its state is where we read it; else null.
PyTypeObject* randomType();

// What the next draw takes of the generator is counted in words of 32 bits.
enum class Draw : uint8_t { Bits, Unit };
inline constexpr int64_t kWordsOfUnit = 2;
inline int64_t wordsOfBits(int64_t count) { return (count + 31) / 32; }

// What getrandbits(count), or random(), of the object will give once it has given so many words.
// The object, of randomType(), stays as it is. Null with an exception set.
Ref<> drawAhead(BorrowedRef<> random, int64_t words, Draw draw, int64_t count);

// Takes so many words. False with an exception set.
bool skipDraws(BorrowedRef<> random, int64_t words);

}  // namespace armature::cpython
