#include "variables/containers/struct_sequence.h"

#include "cpython/type_lookup.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

bool isStructSequence(PyTypeObject* type) {
  return cpython::base(type) == &PyTuple_Type && !cpython::isHeapType(type) &&
         cpython::ownAttribute(type, "n_sequence_fields");
}

bool isStructSequence(PyObject* callable) {
  return PyType_Check(callable) && isStructSequence(reinterpret_cast<PyTypeObject*>(callable));
}

// Fields that are no items may come from a second argument.
Value makeStructSequence(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* type = reinterpret_cast<PyTypeObject*>(callable.object());
  PyObject* itemCount = cpython::ownAttribute(type, "n_sequence_fields");
  PyObject* fieldCount = cpython::ownAttribute(type, "n_fields");
  bool isPlain = type->tp_new && fieldCount && PyLong_Check(fieldCount) &&
                 PyLong_AsLong(itemCount) == PyLong_AsLong(fieldCount) &&
                 !arguments.keywordCount() && arguments.values.size() == 1;
  Value argument = isPlain ? translator.realized(arguments.values[0]) : Value();
  PyTypeObject* given = argument ? typeOf(argument) : nullptr;
  if (given != &PyTuple_Type && given != &PyList_Type) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(callable));
  }
  ValueVector items;
  if (!collectInto(translator, argument, items)) return Value();
  auto count = static_cast<size_t>(PyLong_AsLong(itemCount));
  if (items.size() != count) {
    return translator.raise(PyExc_TypeError, "%.500s() takes a %zd-sequence (%zd-sequence given)",
                            type->tp_name, count, items.size());
  }
  return translator.make<NamedTupleVariable>(type, std::move(items));
}

}  // namespace armature
