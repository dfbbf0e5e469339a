#include "sources/source.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include "core/checked.h"
#include "core/describe.h"
#include "core/fault_injection.h"
#include "core/text.h"
#include "cpython/iterators.h"

namespace armature {
namespace {

// The name that a member or getset descriptor goes by in its type.
std::string descriptorName(BorrowedRef<> descriptor) {
  PyTypeObject* type = Py_TYPE(descriptor.get());
  if (type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type)
    return printable(PyDescr_NAME(descriptor.get()));
  return describe(descriptor);
}

std::string rootName(const Source& source, const std::string& text) {
  switch (source.kind()) {
    case SourceKind::Local:
      return "L['" + text + "']";
    case SourceKind::LocalCell:
      return "cell(L['" + text + "'])";
    case SourceKind::GlobalsDict:
      return text.empty() ? "G" : text;
    case SourceKind::BuiltinsDict:
      return "__builtins__";
    case SourceKind::ModulesDict:
      return "sys.modules";
    case SourceKind::HandledException:
      return "sys.exception()";
    case SourceKind::Constant:
      return describe(source.object());
    default:
      return "?";
  }
}

cpython::IteratorField fieldOf(const Source& source) {
  return static_cast<cpython::IteratorField>(source.index());
}

// What a step puts around the name of `base`.
struct Step {
  const Source* base;
  std::string before;
  std::string after;
};

// `base.name` where `name` can be written that way, else `base.__dict__['na me']`.
bool isWrittenAsAttribute(const Source& item) {
  return item.base()->kind() == SourceKind::InstanceDict && PyUnicode_CheckExact(item.object()) &&
         PyUnicode_IsIdentifier(item.object());
}

Step lastStep(const Source& source) {
  const Source* base = source.base();
  switch (source.kind()) {
    case SourceKind::Type:
      return {base, "type(", ")"};
    case SourceKind::InstanceDict:
      return {base, "", ".__dict__"};
    case SourceKind::DictItem:
      if (isWrittenAsAttribute(source)) return {base->base(), "", "." + printable(source.object())};
      return {base, "", "[" + describe(source.object()) + "]"};
    case SourceKind::DictKey:
      return {base, "list(dict.keys(", "))[" + std::to_string(source.index()) + "]"};
    case SourceKind::ListItem:
    case SourceKind::TupleItem:
      return {base, "", "[" + std::to_string(source.index()) + "]"};
    case SourceKind::Slot:
    case SourceKind::Descriptor:
      return {base, "", "." + descriptorName(source.object())};
    case SourceKind::TypeAttribute:
      return {base, "", "." + printable(source.object())};
    case SourceKind::SuperAttribute:
      return {base, "super(" + describe(source.after()) + ", ", ")." + printable(source.object())};
    case SourceKind::TypeName:
    case SourceKind::FunctionName:
      return {base, "", ".__name__"};
    case SourceKind::TypeQualifiedName:
    case SourceKind::FunctionQualifiedName:
      return {base, "", ".__qualname__"};
    case SourceKind::CellContents:
      return {base, "", ".cell_contents"};
    case SourceKind::FunctionCode:
      return {base, "", ".__code__"};
    case SourceKind::FunctionDefaults:
      return {base, "", ".__defaults__"};
    case SourceKind::FunctionKwDefaults:
      return {base, "", ".__kwdefaults__"};
    case SourceKind::FunctionClosure:
      return {base, "", ".__closure__"};
    case SourceKind::FunctionGlobals:
      return {base, "", ".__globals__"};
    case SourceKind::FunctionBuiltins:
      return {base, "", ".__builtins__"};
    case SourceKind::FunctionModule:
      return {base, "", ".__module__"};
    case SourceKind::FunctionDoc:
      return {base, "", ".__doc__"};
    case SourceKind::FunctionDict:
      return {base, "", ".__dict__"};
    case SourceKind::MethodFunction:
      return {base, "", ".__func__"};
    case SourceKind::MethodSelf:
      return {base, "", ".__self__"};
    case SourceKind::TypeMro:
      return {base, "", ".__mro__"};
    case SourceKind::IteratorItem:
      return {base, "ahead(", ")[" + std::to_string(source.index()) + "]"};
    case SourceKind::IteratorValue:
      return {base, "ahead(", ")[" + std::to_string(source.index()) + "].value"};
    case SourceKind::IteratorField:
      return {base, "", std::string(".<") + cpython::fieldName(fieldOf(source)) + ">"};
    default:
      return {base, "", "?"};
  }
}

// The text by which another module's globals print: its name, as Python writes it.
std::string globalsText(BorrowedRef<> dict) {
  PyObject* name = PyDict_GetItemString(dict, "__name__");
  return name ? "globals(" + describe(name) + ")" : "<dict object>";
}

}  // namespace

// A path may be longer than the stack of C++ is deep; and the names of all its beginnings, if they
// were kept, would be quadratic in its length.
const std::string& Source::name() const {
  if (!name_.empty()) return name_;
  llvm::SmallVector<Step, 16> steps;
  const Source* named = this;
  for (; named->base_ && named->name_.empty(); named = steps.back().base)
    steps.push_back(lastStep(*named));
  std::string name;
  for (const Step& step : steps) name += step.before;
  name += named->name_.empty() ? rootName(*named, named->text_) : named->name_;
  for (const Step& step : llvm::reverse(steps)) name += step.after;
  name_ = std::move(name);
  return name_;
}

bool Source::isGlobal() const {
  const Source* root = this;
  while (root->base_) root = root->base_;
  return root->kind_ != SourceKind::Local && root->kind_ != SourceKind::LocalCell;
}

size_t SourceTable::KeyHash::operator()(const Key& key) const {
  constexpr uint64_t odd = 0x9E3779B97F4A7C15u;  // Fibonacci hashing
  uint64_t hash = reinterpret_cast<uintptr_t>(key.base) * odd;
  for (const PyObject* object : {key.object, key.after})
    hash = (hash ^ hash >> 32 ^ reinterpret_cast<uintptr_t>(object)) * odd;
  hash = (hash ^ hash >> 32 ^ static_cast<uint64_t>(key.index)) * odd;
  return hash ^ hash >> 32 ^ static_cast<uint64_t>(key.kind);
}

SourceTable::SourceTable() : integers_(checked(PyDict_New())) {}
SourceTable::~SourceTable() = default;

// Equal keys become one object, so that the table itself can go by identity. Exact types only: a
// subclass's __eq__ and __hash__ are the program's, and True is not 1 here.
Ref<> SourceTable::canonical(BorrowedRef<> object) {
  if (PyUnicode_CheckExact(object)) {
    PyObject* text = Py_NewRef(object.get());
    PyUnicode_InternInPlace(&text);
    return Ref<>::steal(text);
  }
  if (PyLong_CheckExact(object))
    return Ref<>::create(PyDict_SetDefault(integers_.get(), object, object));
  return Ref<>::create(object.get());
}

const Source* SourceTable::intern(SourceKind kind, const Source* base, int64_t index,
                                  BorrowedRef<> object, std::string text, BorrowedRef<> after) {
  faultSite();
  Ref<> owned = object ? canonical(object) : Ref<>();
  auto [entry, isNew] =
      table_.try_emplace(Key{kind, base, index, owned.get(), after.get()}, nullptr);
  if (isNew) {
    std::unique_ptr<Source> source(new Source);
    source->kind_ = kind;
    source->base_ = base;
    source->index_ = index;
    source->depth_ = base ? base->depth_ + 1 : 0;
    source->object_ = std::move(owned);
    source->after_ = Ref<>::create(after);
    source->text_ = std::move(text);
    entry->second = source.get();
    sources_.push_back(std::move(source));
  }
  return entry->second;
}

const Source* SourceTable::local(int64_t index, BorrowedRef<> name) {
  return intern(SourceKind::Local, nullptr, index, nullptr, printable(name));
}

const Source* SourceTable::localCell(int64_t index, BorrowedRef<> name) {
  return intern(SourceKind::LocalCell, nullptr, index, nullptr, printable(name));
}

const Source* SourceTable::globalsDict(BorrowedRef<> dict, bool isRoot) {
  auto known = table_.find(Key{SourceKind::GlobalsDict, nullptr, 0, dict.get(), nullptr});
  if (known != table_.end()) return known->second;
  return intern(SourceKind::GlobalsDict, nullptr, 0, dict, isRoot ? "" : globalsText(dict));
}

const Source* SourceTable::builtinsDict() {
  return intern(SourceKind::BuiltinsDict, nullptr, 0,
                PyModule_GetDict(PyImport_AddModule("builtins")), "");
}

const Source* SourceTable::modulesDict() {
  return intern(SourceKind::ModulesDict, nullptr, 0, PyImport_GetModuleDict(), "");
}

const Source* SourceTable::handledException() {
  return intern(SourceKind::HandledException, nullptr, 0, nullptr, "");
}

int SourceTable::traverse(visitproc visit, void* arg) const {
  Py_VISIT(integers_.get());
  for (const std::unique_ptr<Source>& source : sources_) {
    Py_VISIT(source->object_.get());
    Py_VISIT(source->after_.get());
  }
  return 0;
}

void SourceTable::releaseConstants() {
  for (const std::unique_ptr<Source>& source : sources_) {
    if (source->kind_ != SourceKind::Constant && !source->after_) continue;
    source->name();
    source->after_ = nullptr;
    if (source->kind_ == SourceKind::Constant) source->object_ = nullptr;
  }
}

const Source* SourceTable::constant(BorrowedRef<> object) {
  return intern(SourceKind::Constant, nullptr, 0, object, "");
}

const Source* SourceTable::superAttribute(const Source* base, BorrowedRef<> name,
                                          BorrowedRef<> after) {
  return intern(SourceKind::SuperAttribute, base, 0, name, "", after);
}

const Source* SourceTable::path(SourceKind kind, const Source* base) {
  return intern(kind, base, 0, nullptr, "");
}

const Source* SourceTable::item(SourceKind kind, const Source* base, int64_t index) {
  return intern(kind, base, index, nullptr, "");
}

const Source* SourceTable::item(SourceKind kind, const Source* base, BorrowedRef<> object) {
  return intern(kind, base, 0, object, "");
}

}  // namespace armature
