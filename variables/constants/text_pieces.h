// A text that is put together of pieces: a sum (SymNodeTable::join) where one of them varies.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

class TextPieces {
 public:
  explicit TextPieces(Translator& translator) : translator_(translator) {}

  void add(BorrowedRef<> text);
  // A str, constant or symbolic.
  void add(Value text);
  Value take() { return std::move(sum_); }

 private:
  Translator& translator_;
  Value sum_ = Value::string("");
};

}  // namespace armature
