#include "sources/source.h"

#include <llvm/ADT/Hashing.h>

#include "core/describe.h"
#include "core/text.h"

namespace armature {
namespace {

// `base.name` where `name` can be written that way, else `base.__dict__['na me']`.
std::string attributeName(const Source* dict, BorrowedRef<> key) {
  if (PyUnicode_CheckExact(key) && PyUnicode_IsIdentifier(key))
    return dict->base()->name() + "." + printable(key);
  return dict->name() + "[" + describe(key) + "]";
}

// The name that a member or getset descriptor goes by in its type.
std::string descriptorName(BorrowedRef<> descriptor) {
  PyTypeObject* type = Py_TYPE(descriptor.get());
  if (type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type)
    return printable(PyDescr_NAME(descriptor.get()));
  return describe(descriptor);
}

std::string makeName(const Source& source, const std::string& text) {
  auto of = [&](const char* suffix) { return source.base()->name() + suffix; };
  switch (source.kind()) {
    case SourceKind::Local:
      return "L['" + text + "']";
    case SourceKind::LocalCell:
      return "cell(L['" + text + "'])";
    case SourceKind::GlobalsDict:
      return text.empty() ? "G" : "globals(" + text + ")";
    case SourceKind::BuiltinsDict:
      return "__builtins__";
    case SourceKind::ModulesDict:
      return "sys.modules";
    case SourceKind::Constant:
      return describe(source.object());
    case SourceKind::Type:
      return "type(" + source.base()->name() + ")";
    case SourceKind::InstanceDict:
      return of(".__dict__");
    case SourceKind::DictItem:
      if (source.base()->kind() == SourceKind::InstanceDict)
        return attributeName(source.base(), source.object());
      return source.base()->name() + "[" + describe(source.object()) + "]";
    case SourceKind::DictKey:
      return "list(dict.keys(" + source.base()->name() + "))[" + std::to_string(source.index()) +
             "]";
    case SourceKind::ListItem:
    case SourceKind::TupleItem:
      return source.base()->name() + "[" + std::to_string(source.index()) + "]";
    case SourceKind::Slot:
    case SourceKind::Descriptor:
      return source.base()->name() + "." + descriptorName(source.object());
    case SourceKind::TypeAttribute:
      return source.base()->name() + "." + printable(source.object());
    case SourceKind::SuperAttribute:
      return "super(" + describe(source.after()) + ", " + source.base()->name() + ")." +
             printable(source.object());
    case SourceKind::TypeName:
    case SourceKind::FunctionName:
      return of(".__name__");
    case SourceKind::TypeQualifiedName:
    case SourceKind::FunctionQualifiedName:
      return of(".__qualname__");
    case SourceKind::CellContents:
      return of(".cell_contents");
    case SourceKind::FunctionCode:
      return of(".__code__");
    case SourceKind::FunctionDefaults:
      return of(".__defaults__");
    case SourceKind::FunctionKwDefaults:
      return of(".__kwdefaults__");
    case SourceKind::FunctionClosure:
      return of(".__closure__");
    case SourceKind::FunctionGlobals:
      return of(".__globals__");
    case SourceKind::FunctionBuiltins:
      return of(".__builtins__");
    case SourceKind::FunctionModule:
      return of(".__module__");
    case SourceKind::FunctionDoc:
      return of(".__doc__");
    case SourceKind::FunctionDict:
      return of(".__dict__");
    case SourceKind::MethodFunction:
      return of(".__func__");
    case SourceKind::MethodSelf:
      return of(".__self__");
    case SourceKind::TypeMro:
      return of(".__mro__");
    case SourceKind::PartialFunction:
      return of(".func");
    case SourceKind::PartialArguments:
      return of(".args");
    case SourceKind::PartialKeywords:
      return of(".keywords");
  }
  return "?";
}

// The text by which another module's globals print: its name, as Python writes it.
std::string globalsText(BorrowedRef<> dict) {
  PyObject* name = PyDict_GetItemString(dict, "__name__");
  return describe(name);
}

}  // namespace

const std::string& Source::name() const {
  if (name_.empty()) name_ = makeName(*this, text_);
  return name_;
}

bool Source::isGlobal() const {
  const Source* root = this;
  while (root->base_) root = root->base_;
  return root->kind_ != SourceKind::Local && root->kind_ != SourceKind::LocalCell;
}

size_t SourceTable::KeyHash::operator()(const Key& key) const {
  return llvm::hash_combine(static_cast<uint8_t>(key.kind), key.base, key.index, key.object,
                            key.after);
}

SourceTable::SourceTable() : integers_(Ref<>::steal(PyDict_New())) {}
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
  return intern(SourceKind::GlobalsDict, nullptr, 0, dict, isRoot ? "" : globalsText(dict));
}

const Source* SourceTable::builtinsDict() {
  return intern(SourceKind::BuiltinsDict, nullptr, 0,
                PyModule_GetDict(PyImport_AddModule("builtins")), "");
}

const Source* SourceTable::modulesDict() {
  return intern(SourceKind::ModulesDict, nullptr, 0, PyImport_GetModuleDict(), "");
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
