// The text operations of str whose arguments may be traced values.
#pragma once

#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// A text that is put together of pieces: a sum (SymNodeTable::join) where one of them varies.
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

// format % argument, where the argument (a tuple, a dict, or any one value) is not a constant.
Value formatPercent(Translator& translator, PyObject* format, const Value& argument);

// ascii() of a text that repr() gave: a constant, or null with the exception pending.
Value escapeNonAscii(Translator& translator, const Value& text);

}  // namespace armature
