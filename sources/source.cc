#include "sources/source.h"

#include <algorithm>
#include <bit>

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include "core/checked.h"
#include "core/describe.h"
#include "core/fault_injection.h"
#include "core/text.h"
#include "cpython/iterators.h"
#include "cpython/member_descriptors.h"
#include "sources/computation.h"

namespace armature {
namespace {

// The name that a member or getset descriptor goes by in its type.
std::string descriptorName(BorrowedRef<> descriptor) {
  PyTypeObject* type = Py_TYPE(descriptor.get());
  if (type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type)
    return printable(PyDescr_NAME(descriptor.get()));
  return describe(descriptor);
}

// A path through a descriptor that keeps its class alive, as those of C types may.
bool isThroughClass(const Source& source) {
  if (source.kind() != SourceKind::Slot && source.kind() != SourceKind::Descriptor) return false;
  BorrowedRef<> descriptor = source.object();
  return descriptor && cpython::belongsToClass(descriptor);
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
    case SourceKind::DequeItem:
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
    case SourceKind::MethodFunction:
      return {base, "", ".__func__"};
    case SourceKind::MethodSelf:
      return {base, "", ".__self__"};
    case SourceKind::TypeMro:
      return {base, "", ".__mro__"};
    case SourceKind::TypeDict:
      return {base, "", ".__dict__"};
    case SourceKind::ProxiedMapping:
      return {base, "", ".<mapping>"};
    case SourceKind::WeakReferent:
      return {base, "", "()"};
    case SourceKind::IteratorItem:
      return {base, "ahead(", ")[" + std::to_string(source.index()) + "]"};
    case SourceKind::IteratorValue:
      return {base, "ahead(", ")[" + std::to_string(source.index()) + "].value"};
    case SourceKind::IteratorField:
      return {base, "", std::string(".<") + cpython::fieldName(fieldOf(source)) + ">"};
    case SourceKind::GeneratorSlot:
      return {base, "", ".<slot " + std::to_string(source.index()) + ">"};
    case SourceKind::Computed:
      return {base, textBefore(source.object()), textBehind(source.object())};
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
  if (name_) return *name_;
  llvm::SmallVector<Step, 16> steps;
  const Source* named = this;
  for (; named->base_ && !named->name_; named = steps.back().base)
    steps.push_back(lastStep(*named));
  std::string name;
  for (const Step& step : steps) name += step.before;
  name += named->name_ ? *named->name_ : rootName(*named, named->text_ ? *named->text_ : "");
  for (const Step& step : llvm::reverse(steps)) name += step.after;
  name_ = std::make_unique<const std::string>(std::move(name));
  return *name_;
}

bool Source::isGlobal() const {
  const Source* root = this;
  while (root->base_) root = root->base_;
  return root->kind_ != SourceKind::Local && root->kind_ != SourceKind::LocalCell;
}

uint32_t SourceTable::hashOf(const Key& key) {
  constexpr uint64_t odd = 0x9E3779B97F4A7C15u;  // Fibonacci hashing
  uint64_t hash = reinterpret_cast<uintptr_t>(key.base) * odd;
  for (const PyObject* object : {key.object, key.after})
    hash = (hash ^ hash >> 32 ^ reinterpret_cast<uintptr_t>(object)) * odd;
  hash = (hash ^ hash >> 32 ^ static_cast<uint64_t>(key.index)) * odd;
  return static_cast<uint32_t>(hash ^ hash >> 32 ^ static_cast<uint64_t>(key.kind));
}

SourceTable::Key SourceTable::keyOf(const Source& source) {
  return {source.kind_, source.base_, source.index_, source.object_.get(), source.after_.get()};
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

const Source* SourceTable::at(const Cell& cell) const {
  return cell.count ? sources_[cell.count - 1] : nullptr;
}

size_t SourceTable::placeOf(const Key& key, uint32_t hash) const {
  size_t mask = table_.size() - 1;
  for (size_t place = hash & mask;; place = (place + 1) & mask) {
    const Cell& cell = table_[place];
    if (!cell.count) return place;
    if (cell.hash == hash && keyOf(*at(cell)) == key) return place;
  }
}

void SourceTable::grow() {
  std::vector<Cell> cells(std::bit_ceil(std::max<size_t>(4 * sources_.size(), 64)));
  size_t mask = cells.size() - 1;
  auto put = [&](Cell cell) {
    size_t place = cell.hash & mask;
    while (cells[place].count) place = (place + 1) & mask;
    cells[place] = cell;
  };
  if (!table_.empty()) {
    for (const Cell& cell : table_)
      if (cell.count) put(cell);
  } else {
    for (const Source* source : sources_) put({hashOf(keyOf(*source)), source->number_ + 1});
  }
  table_ = std::move(cells);
}

const Source* SourceTable::intern(SourceKind kind, const Source* base, int64_t index,
                                  BorrowedRef<> object, std::string_view text,
                                  BorrowedRef<> after) {
  faultSite();
  Ref<> owned = object ? canonical(object) : Ref<>();
  if (2 * (sources_.size() + 1) > table_.size()) grow();
  Key key{kind, base, index, owned.get(), after.get()};
  uint32_t hash = hashOf(key);
  size_t place = placeOf(key, hash);
  if (const Source* known = at(table_[place])) return known;
  auto* source = new (allocator_.Allocate()) Source();
  source->kind_ = kind;
  source->base_ = base;
  source->index_ = index;
  source->depth_ = base ? base->depth_ + 1 : 0;
  source->object_ = std::move(owned);
  source->after_ = Ref<>::create(after);
  if (!text.empty()) source->text_ = std::make_unique<const std::string>(text);
  source->number_ = static_cast<uint32_t>(sources_.size());
  sources_.push_back(source);
  table_[place] = {hash, source->number_ + 1};
  return source;
}

const Source* SourceTable::local(int64_t index, BorrowedRef<> name) {
  return intern(SourceKind::Local, nullptr, index, nullptr, printable(name));
}

const Source* SourceTable::localCell(int64_t index, BorrowedRef<> name) {
  return intern(SourceKind::LocalCell, nullptr, index, nullptr, printable(name));
}

const Source* SourceTable::globalsDict(BorrowedRef<> dict, bool isRoot) {
  if (table_.empty()) grow();
  Key key{SourceKind::GlobalsDict, nullptr, 0, dict.get(), nullptr};
  if (const Source* known = at(table_[placeOf(key, hashOf(key))])) return known;
  return intern(SourceKind::GlobalsDict, nullptr, 0, dict,
                isRoot ? std::string() : globalsText(dict));
}

const Source* SourceTable::builtinsDict() {
  return intern(SourceKind::BuiltinsDict, nullptr, 0,
                PyModule_GetDict(PyImport_AddModule("builtins")));
}

const Source* SourceTable::modulesDict() {
  return intern(SourceKind::ModulesDict, nullptr, 0, PyImport_GetModuleDict());
}

const Source* SourceTable::handledException() {
  return intern(SourceKind::HandledException, nullptr, 0, nullptr);
}

const Source* SourceTable::computed(const Source* base, Ref<> computation) {
  auto known = llvm::find_if(
      computations_, [&](const Ref<>& other) { return sameComputation(other, computation); });
  if (known == computations_.end()) {
    computations_.push_back(std::move(computation));
    known = computations_.end() - 1;
  }
  return intern(SourceKind::Computed, base, 0, *known);
}

int SourceTable::traverse(visitproc visit, void* arg) const {
  Py_VISIT(integers_.get());
  for (const Ref<>& computation : computations_) Py_VISIT(computation.get());
  for (Source* source : sources_) {
    Py_VISIT(source->object_.get());
    Py_VISIT(source->after_.get());
  }
  return 0;
}

void SourceTable::releaseConstants(llvm::function_ref<bool(BorrowedRef<>)> isWeakKey) {
  table_.clear();  // Keys are about to change.
  for (Source* source : sources_) {
    bool isGivenUp = source->kind_ == SourceKind::Constant || isThroughClass(*source) ||
                     (source->kind_ == SourceKind::DictItem && isWeakKey(source->object_));
    if (!isGivenUp && !source->after_) continue;
    source->name();
    source->after_ = nullptr;
    if (isGivenUp) source->object_ = nullptr;
  }
}

const Source* SourceTable::constant(BorrowedRef<> object) {
  return intern(SourceKind::Constant, nullptr, 0, object);
}

const Source* SourceTable::superAttribute(const Source* base, BorrowedRef<> name,
                                          BorrowedRef<> after) {
  return intern(SourceKind::SuperAttribute, base, 0, name, {}, after);
}

const Source* SourceTable::path(SourceKind kind, const Source* base) {
  return intern(kind, base, 0, nullptr);
}

const Source* SourceTable::item(SourceKind kind, const Source* base, int64_t index) {
  return intern(kind, base, index, nullptr);
}

const Source* SourceTable::item(SourceKind kind, const Source* base, BorrowedRef<> object) {
  return intern(kind, base, 0, object);
}

}  // namespace armature
