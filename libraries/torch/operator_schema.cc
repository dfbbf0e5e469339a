#include "libraries/torch/operator_schema.h"

#include <algorithm>

#include "core/pending_python_exception.h"
#include "libraries/package_modules.h"
#include "libraries/torch/imported_attribute.h"

namespace armature {

namespace {

bool isOfType(BorrowedRef<> object, BorrowedRef<> type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object.get())) == type.get();
}

// packet.default, if it is the only overload.
Ref<> onlyOverload(BorrowedRef<> packet) {
  Ref<> names = Ref<>::steal(PyObject_CallMethod(packet.get(), "overloads", nullptr));
  bool isOnly = names && PyList_Check(names.get()) && PyList_GET_SIZE(names.get()) == 1;
  Ref<> overload = Ref<>::steal(
      isOnly ? PyObject_GetAttr(packet.get(), PyList_GET_ITEM(names.get(), 0)) : nullptr);
  PyErr_Clear();
  return overload;
}

// A parameter that is changed is written "Tensor(a!) name".
SchemaEffect effectOf(std::string_view parameters) {
  size_t mark = parameters.find('!');
  if (mark == std::string_view::npos) return SchemaEffect::None;
  if (parameters.find('!', mark + 1) != std::string_view::npos) return SchemaEffect::Other;
  bool isFirst = parameters.find(',') > mark;
  std::string_view rest = parameters.substr(mark);
  bool isOut = rest.ends_with(" out)");
  return isFirst || isOut ? SchemaEffect::First : SchemaEffect::Other;
}

std::optional<OperatorSchema> read(BorrowedRef<> overload) {
  Ref<> schema = Ref<>::steal(PyObject_GetAttrString(overload.get(), "_schema"));
  Ref<> text = Ref<>::steal(schema ? PyObject_Str(schema.get()) : nullptr);
  PyErr_Clear();
  if (!text) return {};
  std::string_view signature = stringView(text);
  size_t arrow = signature.rfind(" -> ");
  if (arrow == std::string_view::npos) return {};
  return OperatorSchema{.effect = effectOf(signature.substr(0, arrow)),
                        .returnsOneTensor = isOneTensor(signature.substr(arrow + 4))};
}

// "Tensor(a!)", "Tensor(a!)[]", …: scripts also have lists that change, "t[](a!)".
bool isChangedArray(std::string_view parameter) {
  return parameter.starts_with("Tensor(") && parameter.find("!)") != std::string_view::npos;
}

std::string_view nameOfParameter(std::string_view parameter) {
  parameter = parameter.substr(0, parameter.find('='));
  return parameter.substr(parameter.rfind(' ') + 1);
}

// Calls `visit` with each parameter that may be passed by position, and where it stands.
template <class Visitor>
void forEachPositional(std::string_view signature, Visitor&& visit) {
  size_t begin = signature.find('('), end = signature.rfind(") -> ");
  if (begin == std::string_view::npos || end == std::string_view::npos) return;
  std::string_view rest = signature.substr(begin + 1, end - begin - 1);
  for (size_t position = 0; !rest.empty(); ++position) {
    size_t length = 0;
    // A default may be a list.
    for (int depth = 0; length < rest.size() && (depth || rest[length] != ','); ++length) {
      if (rest[length] == '[') ++depth;
      if (rest[length] == ']') --depth;
    }
    std::string_view parameter = rest.substr(0, length);
    if (parameter == "*") return;
    visit(position, parameter);
    rest.remove_prefix(std::min(rest.size(), length + 2));
  }
}

}  // namespace

std::vector<ChangedParameter> changedParameters(std::string_view name) {
  static const BorrowedRef<> schemasOf =
      importedAttribute("torch._C", "_jit_get_schemas_for_operator");
  std::vector<ChangedParameter> changed;
  std::string qualified = "aten::" + std::string(name);
  Ref<> schemas = Ref<>::steal(
      schemasOf ? PyObject_CallFunction(schemasOf.get(), "s", qualified.c_str()) : nullptr);
  clearUnlessInterrupted();
  bool isList = schemas && PyList_Check(schemas.get());
  for (Py_ssize_t i = 0; isList && i < PyList_GET_SIZE(schemas.get()); ++i) {
    Ref<> text = Ref<>::steal(PyObject_Str(PyList_GET_ITEM(schemas.get(), i)));
    forEachPositional(stringView(text), [&](size_t position, std::string_view parameter) {
      bool isKnown = std::ranges::any_of(
          changed, [&](const ChangedParameter& each) { return each.position == position; });
      if (isKnown || !isChangedArray(parameter)) return;
      changed.push_back({position, std::string(nameOfParameter(parameter))});
    });
  }
  clearUnlessInterrupted();
  return changed;
}

bool isOneTensor(std::string_view returns) {
  return returns.starts_with("Tensor") && !returns.ends_with("[]") &&
         returns.find(',') == std::string_view::npos;
}

std::optional<OperatorSchema> operatorSchema(BorrowedRef<> target) {
  static const BorrowedRef<> overloadType = importedAttribute("torch._ops", "OpOverload");
  static const BorrowedRef<> packetType = importedAttribute("torch._ops", "OpOverloadPacket");
  if (isOfType(target, overloadType)) return read(target);
  if (!isOfType(target, packetType)) return {};
  Ref<> overload = onlyOverload(target);
  return overload ? read(overload) : std::nullopt;
}

}  // namespace armature
