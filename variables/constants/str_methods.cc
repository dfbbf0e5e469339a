// The methods of str that take or return traced values: join, format, format_map, maketrans and
// __iter__.
#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "variables/constants/computed_values.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/constants/text_pieces.h"
#include "variables/containers/iterators.h"
#include "variables/containers/sequence_slots.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/loops.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/ascii_text.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"

namespace armature {

namespace {

// Texts of which one varies.
bool areVaryingTexts(Translator& translator, llvm::ArrayRef<Value> items) {
  auto varies = [&](const Value& item) { return isSymbolic(translator, item); };
  return llvm::any_of(items, varies) && llvm::all_of(items, [&](const Value& item) {
           PyObject* object = item.objectOrNull();
           return typeOf(item) == &PyUnicode_Type &&
                  (varies(item) || (object && PyUnicode_CheckExact(object)));
         });
}

Value join(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "str.join", arguments, 1, 1)) return Value();
  constexpr const char* kMessage = "can only join an iterable";
  if (arguments.tail && stepsInPython(translator.realized(arguments.values[0]))) {
    static PyObject* const function = cpython::ownAttribute(&PyUnicode_Type, "join");
    Value iterator = iteratorOver(translator, arguments.values[0], kMessage);
    if (!iterator) return iterator;
    return gatherFor(translator, {Value::constant(function), Value::none(), self}, iterator,
                     arguments.tail);
  }
  ValueVector items;
  if (!readIterable(translator, arguments.values[0], kMessage, items)) return Value();
  if (areVaryingTexts(translator, items)) {
    TextPieces pieces(translator);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) pieces.add(self);
      pieces.add(items[i]);
    }
    return pieces.take();
  }
  Ref<> list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    translator.realize(items[i]);
    Value data = builtinData(translator, items[i]);
    PyObject* text = data ? data.object() : items[i].objectOrNull();
    if (!text || !PyUnicode_Check(text)) {
      requireNoUnknownText(translator, items[i]);
      return translator.raise(PyExc_TypeError,
                              "sequence item %zu: expected str instance, %.80s found", i,
                              nameOf(translator, items[i]));
    }
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Ref<>::create(text).release());
  }
  return translator.fromPython(PyUnicode_Join(self.object(), list.get()));
}

// str.format: what string.Formatter does, with the parsers that str.format itself uses.
class FieldFormatter {
 public:
  FieldFormatter(Translator& translator, const CallArguments* arguments, Value mapping)
      : translator_(translator), arguments_(arguments), mapping_(std::move(mapping)) {}

  Value format(PyObject* text, int depth = 2) {
    if (depth == 0) return translator_.raise(PyExc_ValueError, "Max string recursion exceeded");
    Ref<> fields = Ref<>::steal(PyObject_CallMethod(module(), "formatter_parser", "O", text));
    TextPieces pieces(translator_);
    if (!fields) return translator_.raiseFromPython();
    while (Ref<> field = Ref<>::steal(PyIter_Next(fields.get()))) {
      pieces.add(BorrowedRef<>(PyTuple_GET_ITEM(field.get(), 0)));
      if (PyTuple_GET_ITEM(field.get(), 1) == Py_None) continue;
      Value formatted = formatField(field.get(), depth);
      if (!formatted) return formatted;
      pieces.add(std::move(formatted));
    }
    if (PyErr_Occurred()) return translator_.raiseFromPython();
    return pieces.take();
  }

 private:
  static PyObject* module() {
    static PyObject* const string = checked(cpython::importModule("_string")).release();
    return string;
  }

  // One (literal, name, specification, conversion).
  Value formatField(PyObject* field, int depth) {
    Value value = lookUp(PyTuple_GET_ITEM(field, 1));
    if (!value) return value;
    PyObject* conversion = PyTuple_GET_ITEM(field, 3);
    Py_UCS4 kind = conversion == Py_None ? 0 : PyUnicode_READ_CHAR(conversion, 0);
    if (kind && kind != 's' && kind != 'r' && kind != 'a') return raiseUnknown(kind);
    bool varies = isSymbolic(translator_, value);
    if (kind && !varies) {
      value = convert(std::move(value), kind);
      if (!value) return value;
    }
    Value specification = expand(PyTuple_GET_ITEM(field, 2), depth);
    if (!specification) return specification;
    if (varies) {
      Value text = computedText(translator_, static_cast<char>(kind), value, specification);
      if (text) return text;
      if (kind) value = convert(std::move(value), kind);
      if (!value) return value;
    }
    return formatValue(translator_, std::move(value), std::move(specification));
  }

  // A specification, which may have fields of its own.
  Value expand(PyObject* specification, int depth) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(specification);
    bool hasFields = PyUnicode_FindChar(specification, '{', 0, length, 1) >= 0;
    return hasFields ? format(specification, depth - 1) : Value::constant(specification);
  }

  // do_conversion
  Value raiseUnknown(Py_UCS4 conversion) {
    bool isShown = conversion > 32 && conversion < 127;
    return translator_.raise(
        PyExc_ValueError,
        isShown ? "Unknown conversion specifier %c" : "Unknown conversion specifier \\x%x",
        static_cast<unsigned int>(conversion));
  }

  Value convert(Value value, Py_UCS4 conversion) {
    if (conversion == 's') return toStr(translator_, std::move(value));
    if (conversion == 'a') return toAscii(translator_, std::move(value));
    return toRepr(translator_, std::move(value));
  }

  // name.attribute[item]…
  Value lookUp(PyObject* name) {
    Ref<> split =
        Ref<>::steal(PyObject_CallMethod(module(), "formatter_field_name_split", "O", name));
    if (!split) return translator_.raiseFromPython();
    Value value = lookUpFirst(PyTuple_GET_ITEM(split.get(), 0));
    PyObject* rest = PyTuple_GET_ITEM(split.get(), 1);
    while (value) {
      Ref<> step = Ref<>::steal(PyIter_Next(rest));
      if (!step) return PyErr_Occurred() ? translator_.raiseFromPython() : value;
      PyObject* key = PyTuple_GET_ITEM(step.get(), 1);
      if (PyTuple_GET_ITEM(step.get(), 0) == Py_True) {
        Ref<> attribute = Ref<>::create(key);
        PyObject* interned = attribute.release();
        PyUnicode_InternInPlace(&interned);
        attribute = Ref<>::steal(interned);
        value = getAttribute(translator_, std::move(value), attribute.get());
      } else {
        value = getItem(translator_, std::move(value), Value::constant(key));
      }
    }
    return value;
  }

  // The argument that the first part of a field's name says: a number, nothing, or a keyword.
  Value lookUpFirst(PyObject* first) {
    bool isName = PyUnicode_Check(first) && PyUnicode_GET_LENGTH(first) > 0;
    if (isName) return lookUpKeyword(first);
    bool automatic = PyUnicode_Check(first);
    if ((automatic && numbering_ == Numbering::Manual) ||
        (!automatic && numbering_ == Numbering::Automatic)) {
      return translator_.raise(
          PyExc_ValueError, "cannot switch from %s to %s",
          automatic ? "manual field specification" : "automatic field numbering",
          automatic ? "automatic field numbering" : "manual field specification");
    }
    numbering_ = automatic ? Numbering::Automatic : Numbering::Manual;
    size_t index = automatic ? next_++ : PyLong_AsSize_t(first);
    if (!arguments_) {
      return translator_.raise(PyExc_ValueError, "Format string contains positional fields");
    }
    if (index < arguments_->positionalCount()) return arguments_->values[index];
    return translator_.raise(PyExc_IndexError,
                             "Replacement index %zu out of range for positional args tuple", index);
  }

  Value lookUpKeyword(PyObject* name) {
    if (!arguments_) return getItem(translator_, mapping_, Value::constant(name));
    if (const Value* value = arguments_->keyword(name)) return *value;
    return translator_.raiseWithArguments(PyExc_KeyError, {Value::constant(name)});
  }

  enum class Numbering { Unknown, Automatic, Manual };

  Translator& translator_;
  const CallArguments* arguments_;  // null: format_map
  Value mapping_;
  Numbering numbering_ = Numbering::Unknown;
  size_t next_ = 0;
};

// A text without fields and escapes is its own result, whatever its class.
bool isWithoutFields(PyObject* text) {
  Py_ssize_t length = PyUnicode_GET_LENGTH(text);
  return length > 0 && PyUnicode_FindChar(text, '{', 0, length, 1) < 0 &&
         PyUnicode_FindChar(text, '}', 0, length, 1) < 0;
}

Value formatted(Translator& translator, const Value& self, const CallArguments* arguments,
                Value mapping) {
  Value data = builtinData(translator, self);
  // The format itself is looked at, if it varies, too.
  const Value text = data ? data : translator.realized(self);
  if (isWithoutFields(text.object())) return self;
  return FieldFormatter(translator, arguments, std::move(mapping)).format(text.object());
}

Value format(Translator& translator, const Value& self, CallArguments& arguments) {
  return formatted(translator, self, &arguments, Value());
}

Value formatMap(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "str.format_map", arguments, 1, 1)) return Value();
  return formatted(translator, self, nullptr, arguments.values[0]);
}

// Also of an instance of a subclass, whose characters C code reads.
Value iterate(Translator& translator, const Value& self, CallArguments&) {
  Value data = builtinData(translator, self);
  if (!data) return getIterator(translator, self);
  // unicode_iter knows the iterator of ASCII for texts whose characters lie in the object alone.
  bool isText = PyUnicode_Check(data.object());
  auto* iterator = translator.make<SequenceIteratorVariable>(
      isText ? &PyUnicodeIter_Type : &PyBytesIter_Type, data);
  iterator->whole = self;
  return iterator;
}

// str.maketrans(...) and bytes.maketrans(...)
template <PyTypeObject* const type>
Value makeTranslation(Translator& translator, const Value&, CallArguments& arguments) {
  static PyObject* const function =
      checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "maketrans")).release();
  if (arguments.keywordCount() || !makeData(translator, arguments)) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, "maketrans");
  }
  llvm::SmallVector<PyObject*, 3> objects;
  for (const Value& argument : arguments.values) objects.push_back(argument.object());
  Ref<> table =
      Ref<>::steal(PyObject_Vectorcall(function, objects.data(), objects.size(), nullptr));
  return table ? fromRealData(translator, table.get()) : translator.raiseFromPython();
}

void registerStrings() {
  registerMethodHandler(&PyUnicode_Type, "maketrans", makeTranslation<&PyUnicode_Type>);
  registerMethodHandler(&PyBytes_Type, "maketrans", makeTranslation<&PyBytes_Type>);
  registerMethodHandler(&PyUnicode_Type, "__iter__", iterate);
  registerMethodHandler(&PyBytes_Type, "__iter__", iterate);
  registerMethodHandler(&PyUnicode_Type, "join", join);
  registerProtocolMethod(&PyUnicode_Type, "join");
  registerMethodHandler(&PyUnicode_Type, "format", format);
  registerMethodHandler(&PyUnicode_Type, "format_map", formatMap);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerStrings);

}  // namespace armature
