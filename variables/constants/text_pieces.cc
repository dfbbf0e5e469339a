#include "variables/constants/text_pieces.h"

#include "core/checked.h"
#include "variables/constants/sym_node_variable.h"

namespace armature {

void TextPieces::add(BorrowedRef<> text) { add(Value::constant(text)); }

void TextPieces::add(Value text) {
  if (sum_.isConstant() && PyUnicode_GET_LENGTH(sum_.object()) == 0) {
    sum_ = std::move(text);
    return;
  }
  if (text.isConstant() && PyUnicode_GET_LENGTH(text.object()) == 0) return;
  if (Value sum = symbolicBinary(translator_, nb_add, sum_, text)) {
    sum_ = std::move(sum);
    return;
  }
  translator_.realize(sum_);
  translator_.realize(text);
  sum_ = Value::steal(checked(PyUnicode_Concat(sum_.object(), text.object())).release());
}

}  // namespace armature
