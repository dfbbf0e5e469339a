// Conversion by conversion: each is done by CPython on a constant.
#include "variables/constants/percent_format.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/checked.h"
#include "variables/constants/digit_limit.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/constants/text_pieces.h"
#include "variables/containers/deque.h"
#include "variables/containers/sequence.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/ascii_text.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

constexpr const char* kFlags = "-+ #0";
constexpr const char* kLengths = "hlL";
constexpr const char* kTypes = "acdeEfFgGiorsuxX";

class PercentFormatter {
 public:
  PercentFormatter(Translator& translator, PyObject* format, const Value& argument)
      : translator_(translator), format_(format), argument_(argument) {
    bool tuple = PyType_IsSubtype(typeOf(argument), &PyTuple_Type);
    if (tuple) {
      auto* part = partOf<TupleVariable>(argument);
      iterateInto(translator, part ? Value(part) : argument, arguments_);
    } else {
      arguments_.push_back(argument);
      // A subclass of deque has no slot for mappings unless it has the method itself.
      static PyObject* const getitem = staticName("__getitem__");
      isMapping_ =
          translator.heap.hasSpecial(typeOf(argument), cpython::SpecialSlot::Subscript) &&
          !(partOf<DequeVariable>(argument) && leavesToPart(translator, argument, getitem));
    }
  }

  Value run() {
    TextPieces pieces(translator_);
    Py_ssize_t length = PyUnicode_GET_LENGTH(format_);
    while (position_ < length) {
      Py_ssize_t percent = PyUnicode_FindChar(format_, '%', position_, length, 1);
      if (percent < 0) percent = length;
      Ref<> literal = checked(PyUnicode_Substring(format_, position_, percent));
      pieces.add(literal);
      position_ = percent;
      if (position_ == length) break;
      Value converted = convert();
      if (!converted) return converted;
      pieces.add(std::move(converted));
    }
    if (next_ < arguments_.size() && !isMapping_) {
      return translator_.raise(PyExc_TypeError,
                               "not all arguments converted during string formatting");
    }
    return pieces.take();
  }

 private:
  // The character at the position, 0 at the end.
  Py_UCS4 peek() const {
    return position_ < PyUnicode_GET_LENGTH(format_) ? PyUnicode_READ_CHAR(format_, position_) : 0;
  }
  bool peekIs(const char* set) const {
    Py_UCS4 character = peek();
    return character && character < 128 && std::strchr(set, static_cast<int>(character));
  }

  [[noreturn]] void unsupported() {
    throw GraphBreak(GraphBreakKind::TextOfObject,
                     describe(Value::constant(format_)) + " % " + describe(argument_));
  }

  // The value for the next conversion; null with the exception pending.
  Value nextArgument() {
    if (next_ < arguments_.size()) return arguments_[next_++];
    return translator_.raise(PyExc_TypeError, "not enough arguments for format string");
  }

  // %(key)…: from here on the mapping's value is the one argument.
  bool readKey() {
    if (!isMapping_) {
      translator_.raise(PyExc_TypeError, "format requires a mapping");
      return false;
    }
    Py_ssize_t start = ++position_;
    for (int depth = 1; depth > 0; ++position_) {
      Py_UCS4 character = peek();
      if (!character) {
        translator_.raise(PyExc_ValueError, "incomplete format key");
        return false;
      }
      depth += character == '(' ? 1 : character == ')' ? -1 : 0;
    }
    Value key = Value::steal(PyUnicode_Substring(format_, start, position_ - 1));
    Value value = getItem(translator_, argument_, std::move(key));
    if (!value) return false;
    arguments_.assign(1, std::move(value));
    next_ = 0;
    return true;
  }

  // Width or precision: digits, or `*` for a constant argument.
  bool readNumber(std::string& specification) {
    if (peek() != '*') {
      while (peekIs("0123456789")) specification += static_cast<char>(take());
      return true;
    }
    ++position_;
    Value number = nextArgument();
    if (!number) return false;
    translator_.realize(number);
    if (!translator_.heap.isSubtype(typeOf(number), &PyLong_Type)) {
      translator_.raise(PyExc_TypeError, "* wants int");
      return false;
    }
    // The int that a subclass's instance is.
    number = toIndex(translator_, std::move(number));
    if (!number) return false;
    if (!number.isConstant()) unsupported();
    specification += '*';
    stars_.push_back(Ref<>::create(number.object()));
    return true;
  }

  Py_UCS4 take() { return PyUnicode_READ_CHAR(format_, position_++); }

  Value convert() {
    stars_.clear();
    std::string specification(1, static_cast<char>(take()));
    if (peek() == '%') {
      ++position_;
      return Value::string("%");
    }
    if (peek() == '(' && !readKey()) return Value();
    while (peekIs(kFlags)) specification += static_cast<char>(take());
    if (!readNumber(specification)) return Value();
    if (peek() == '.') {
      specification += static_cast<char>(take());
      if (!readNumber(specification)) return Value();
    }
    if (peekIs(kLengths)) ++position_;
    Py_UCS4 type = peek();
    if (!type) return translator_.raise(PyExc_ValueError, "incomplete format");
    ++position_;
    Value argument = nextArgument();
    if (!argument) return argument;
    // unicode_format_arg_format
    if (type > 127 || !std::strchr(kTypes, static_cast<int>(type))) {
      char shown = 31 <= type && type <= 126 ? static_cast<char>(type) : '?';
      return translator_.raise(PyExc_ValueError,
                               "unsupported format character '%c' (0x%x) at index %zd", shown,
                               static_cast<int>(type), position_ - 1);
    }
    if (Value varying = convertVarying(specification, type, argument)) return varying;
    translator_.realize(argument);
    if (!argument.isConstant() && (type == 's' || type == 'r' || type == 'a')) {
      argument = type == 's'   ? toStr(translator_, argument)
                 : type == 'r' ? toRepr(translator_, argument)
                               : toAscii(translator_, argument);
      if (!argument) return argument;
      type = 's';
    }
    if (!argument.isConstant()) unsupported();
    specification += static_cast<char>(type);
    Ref<> format = checked(PyUnicode_FromString(specification.c_str()));
    auto starCount = static_cast<Py_ssize_t>(stars_.size());
    Ref<> tuple = checked(PyTuple_New(starCount + 1));
    for (Py_ssize_t i = 0; i < starCount; ++i) {
      PyTuple_SET_ITEM(tuple.get(), i, stars_[i].release());
    }
    PyTuple_SET_ITEM(tuple.get(), starCount, Py_NewRef(argument.object()));
    return translator_.fromPython(withinDigitLimit(
        argument.object(), [&] { return PyUnicode_Format(format.get(), tuple.get()); }));
  }

  // Of a value that varies; null for another one, with nothing pending.
  Value convertVarying(const std::string& specification, Py_UCS4 type, const Value& argument) {
    if (!stars_.empty() || !isSymbolic(translator_, argument)) return Value();
    std::string format = specification + static_cast<char>(type);
    return symbolicBinary(translator_, nb_remainder, Value::string(format.c_str()), argument);
  }

  Translator& translator_;
  PyObject* format_;
  std::vector<Ref<>> stars_;  // the numbers that stand for `*` in the conversion at hand
  const Value& argument_;
  ValueVector arguments_;
  size_t next_ = 0;
  bool isMapping_ = false;
  Py_ssize_t position_ = 0;
};

}  // namespace

Value formatPercent(Translator& translator, PyObject* format, const Value& argument) {
  return PercentFormatter(translator, format, argument).run();
}

}  // namespace armature
