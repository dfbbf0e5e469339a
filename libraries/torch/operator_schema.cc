#include "libraries/torch/operator_schema.h"

#include <algorithm>

#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "libraries/package_modules.h"

namespace armature {

namespace {

bool isOfType(BorrowedRef<> object, BorrowedRef<> type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object.get())) == type.get();
}

// "Tensor(a!)", "Tensor(a!)[]", …: scripts also have lists that change, "t[](a!)".
bool isChangedArray(std::string_view parameter) {
  return parameter.starts_with("Tensor(") && parameter.find("!)") != std::string_view::npos;
}

std::string_view nameOfParameter(std::string_view parameter) {
  parameter = parameter.substr(0, parameter.find('='));
  return parameter.substr(parameter.rfind(' ') + 1);
}

// Calls `visit` with each parameter and where it stands.
template <class Visitor>
void forEachParameter(std::string_view signature, Visitor&& visit) {
  size_t begin = signature.find('('), end = signature.rfind(") -> ");
  if (begin == std::string_view::npos || end == std::string_view::npos) return;
  std::string_view rest = signature.substr(begin + 1, end - begin - 1);
  size_t position = 0;
  bool isKeywordOnly = false;
  while (!rest.empty()) {
    size_t length = 0;
    // A default may be a list.
    for (int depth = 0; length < rest.size() && (depth || rest[length] != ','); ++length) {
      if (rest[length] == '[') ++depth;
      if (rest[length] == ']') --depth;
    }
    std::string_view parameter = rest.substr(0, length);
    rest.remove_prefix(std::min(rest.size(), length + 2));
    if (parameter == "*") {
      isKeywordOnly = true;
    } else {
      visit(isKeywordOnly ? ChangedParameter::kKeywordOnly : position++, parameter);
    }
  }
}

// What is behind the last arrow.
std::string_view returnsOf(std::string_view signature) {
  constexpr std::string_view kArrow = " -> ";
  size_t arrow = signature.rfind(kArrow);
  return arrow == std::string_view::npos ? std::string_view()
                                         : signature.substr(arrow + kArrow.size());
}

bool returnsChangedArray(std::string_view signature) {
  return returnsOf(signature).find('!') != std::string_view::npos;
}

std::optional<OperatorSchema> read(BorrowedRef<> overload) {
  Ref<> text = Ref<>::steal(PyObject_GetAttrString(overload.get(), "_schema"));
  if (text) text = Ref<>::steal(PyObject_Str(text.get()));
  clearException();
  std::string_view signature = stringView(text);
  if (returnsOf(signature).empty()) return {};
  OperatorSchema schema{.changed = {},
                        .returnsChanged = returnsChangedArray(signature),
                        .returnsOneTensor = isOneTensor(returnsOf(signature))};
  forEachParameter(signature, [&](size_t position, std::string_view parameter) {
    if (!isChangedArray(parameter)) return;
    schema.changed.push_back({position, std::string(nameOfParameter(parameter))});
  });
  return schema;
}

// Has it an `out`, which a call has to name?
bool isOutVariant(const OperatorSchema& schema) {
  return std::ranges::any_of(schema.changed, [](const ChangedParameter& each) {
    return each.position == ChangedParameter::kKeywordOnly;
  });
}

// What all overloads have in common, the ones with `out` aside.
std::optional<OperatorSchema> readPacket(BorrowedRef<> packet) {
  Ref<> names = Ref<>::steal(PyObject_CallMethod(packet.get(), "overloads", nullptr));
  bool isList = names && PyList_Check(names.get());
  std::optional<OperatorSchema> common;
  for (Py_ssize_t i = 0; isList && i < PyList_GET_SIZE(names.get()); ++i) {
    Ref<> overload = Ref<>::steal(PyObject_GetAttr(packet.get(), PyList_GET_ITEM(names.get(), i)));
    std::optional<OperatorSchema> schema = overload ? read(overload) : std::nullopt;
    bool isOnly = PyList_GET_SIZE(names.get()) == 1;
    if (!schema || (!isOnly && isOutVariant(*schema))) continue;
    if (!common) {
      common = std::move(schema);
      continue;
    }
    common->isAmbiguous |= schema->changed != common->changed;
    common->returnsOneTensor &= schema->returnsOneTensor;
    common->returnsChanged &= schema->returnsChanged;
  }
  clearException();
  return common;
}

// The schemas of `name` of aten, as texts.
template <class Visitor>
void forEachSchema(std::string_view name, Visitor&& visit) {
  static const BorrowedRef<> schemasOf =
      cpython::importedAttribute("torch._C", "_jit_get_schemas_for_operator");
  std::string qualified = "aten::" + std::string(name);
  Ref<> schemas = Ref<>::steal(
      schemasOf ? PyObject_CallFunction(schemasOf.get(), "s", qualified.c_str()) : nullptr);
  clearUnlessInterrupted();
  bool isList = schemas && PyList_Check(schemas.get());
  for (Py_ssize_t i = 0; isList && i < PyList_GET_SIZE(schemas.get()); ++i) {
    Ref<> text = Ref<>::steal(PyObject_Str(PyList_GET_ITEM(schemas.get(), i)));
    clearUnlessInterrupted();
    if (text) visit(stringView(text));
  }
}

}  // namespace

std::vector<ChangedParameter> changedParameters(std::string_view name) {
  std::vector<ChangedParameter> changed;
  forEachSchema(name, [&](std::string_view signature) {
    forEachParameter(signature, [&](size_t position, std::string_view parameter) {
      bool isKnown = std::ranges::any_of(
          changed, [&](const ChangedParameter& each) { return each.position == position; });
      bool isPositional = position != ChangedParameter::kKeywordOnly;
      if (isKnown || !isPositional || !isChangedArray(parameter)) return;
      changed.push_back({position, std::string(nameOfParameter(parameter))});
    });
  });
  return changed;
}

bool returnsChangedByName(std::string_view name) {
  bool returnsIt = false;
  forEachSchema(name, [&](std::string_view signature) {
    bool changesAny = false;
    forEachParameter(signature, [&](size_t position, std::string_view parameter) {
      changesAny |= position != ChangedParameter::kKeywordOnly && isChangedArray(parameter);
    });
    returnsIt |= changesAny && returnsChangedArray(signature);
  });
  return returnsIt;
}

bool isOneTensor(std::string_view returns) {
  return returns.starts_with("Tensor") && !returns.ends_with("[]") &&
         returns.find(',') == std::string_view::npos;
}

std::optional<OperatorSchema> operatorSchema(BorrowedRef<> target) {
  static PyObject* const overloadType =
      Py_XNewRef(cpython::importedAttribute("torch._ops", "OpOverload").get());
  static PyObject* const packetType =
      Py_XNewRef(cpython::importedAttribute("torch._ops", "OpOverloadPacket").get());
  if (isOfType(target, overloadType)) return read(target);
  return isOfType(target, packetType) ? readPacket(target) : std::nullopt;
}

}  // namespace armature
