#include "libraries/torch/operator_schema.h"

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

}  // namespace

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
