#include "variables/variable_builder.h"

#include "bytecode/code.h"
#include "core/builtin_part.h"
#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/function_layout.h"
#include "cpython/mapping_proxy.h"
#include "cpython/member_descriptors.h"
#include "cpython/set_entries.h"
#include "cpython/simple_namespace.h"
#include "cpython/type_lookup.h"
#include "guards/array_library.h"
#include "guards/key.h"
#include "variables/constants/constant.h"
#include "variables/containers/deque.h"
#include "variables/containers/dict.h"
#include "variables/containers/existing_iterators.h"
#include "variables/containers/mapping_proxy.h"
#include "variables/containers/sequence.h"
#include "variables/containers/set.h"
#include "variables/containers/struct_sequence.h"
#include "variables/functions/functions.h"
#include "variables/functions/partial.h"
#include "variables/objects/context_variable.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/descriptors.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recorded_warnings.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// Python alone looks into larger sets.
constexpr Py_ssize_t kMostSetElements = 1000;

// The nearest base that is not a heap type: the layout that the instances have.
PyTypeObject* staticBase(PyTypeObject* type) {
  while (type && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
  return type;
}

// The descriptor by which a builtin type gave the C function `bound`; null if none of the bases has
// it. Not by lookup: a subclass may have overridden the name.
PyObject* findMethod(PyTypeObject* type, BorrowedRef<> bound, PyTypeObject* descriptorType) {
  PyMethodDef* method = cpython::methodDefinition(bound);
  for (; type; type = type->tp_base) {
    PyObject* found = cpython::ownAttribute(type, method->ml_name);
    bool isDescriptor = found && Py_TYPE(found) == descriptorType;
    if (isDescriptor && cpython::methodDefinition(found) == method) return found;
  }
  return nullptr;
}

// Does the type have anything by the C function's name?
bool hasAttributeOfName(PyTypeObject* type, BorrowedRef<> function) {
  const char* name = cpython::methodDefinition(function)->ml_name;
  PyObject* mro = cpython::mro(type);
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (cpython::ownAttribute(base, name)) return true;
  }
  return false;
}

// A class method of C, bound to its class afresh each time it is looked up: dict.fromkeys.
PyObject* classMethodOf(PyObject* object) {
  PyObject* self = PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : nullptr;
  return self && PyType_Check(self)
             ? findMethod(reinterpret_cast<PyTypeObject*>(self), object, &PyClassMethodDescr_Type)
             : nullptr;
}

}  // namespace

bool isNamedTupleType(Heap& heap, PyTypeObject* type) {
  if (cpython::base(type) != &PyTuple_Type || !cpython::isHeapType(type)) return false;
  static PyObject* const name = staticName("_fields");
  Found fields = heap.lookup(type, name);
  return fields && PyTuple_CheckExact(fields.object);
}

const Source* VariableBuilder::path(SourceKind kind) const {
  return source_ ? translator_.sources->path(kind, source_) : nullptr;
}

const Source* VariableBuilder::item(SourceKind kind, int64_t index) const {
  return source_ ? translator_.sources->item(kind, source_, index) : nullptr;
}

void VariableBuilder::guardType() {
  guard(GuardType::TYPE_MATCH, reinterpret_cast<PyObject*>(Py_TYPE(object_.get())));
}

Value VariableBuilder::build() {
  PyObject* object = object_;
  if (isConstantObject(object) && !PyTuple_CheckExact(object)) return buildConstant();
  if (PyTuple_CheckExact(object)) return buildTuple();
  return buildMutableOrShared();
}

Value VariableBuilder::buildConstant() {
  PyObject* object = object_;
  if (source_) translator_.rememberConstant(object, source_);
  if (object == Py_None) {
    guard(GuardType::NONE_MATCH);
  } else if (PyBool_Check(object)) {
    guard(GuardType::BOOL_MATCH, nullptr, object == Py_True);
  } else if (isConstant(object)) {
    guard(GuardType::EQUALS_MATCH, object);
    if (source_ && PyFrozenSet_CheckExact(object)) rememberElements(translator_, source_, object);
  } else if (PyModule_Check(object)) {
    guard(GuardType::MODULE_MATCH, object);
    guardModuleClass(translator_, object);
  } else if (PyObject* descriptor = classMethodOf(object)) {
    guard(GuardType::BUILTIN_MATCH, descriptor);
    translator_.addGuard(path(SourceKind::MethodSelf), GuardType::ID_MATCH,
                         PyCFunction_GET_SELF(object));
  } else if (PyCFunction_Check(object)) {
    guard(GuardType::BUILTIN_MATCH, object);
  } else {
    guard(GuardType::ID_MATCH, object);
  }
  return Value::constant(object);
}

Value VariableBuilder::buildMutableOrShared() {
  PyObject* object = object_;
  Value known = translator_.known(object);
  const Source* first = known && known.isTracker() ? known.tracker()->source() : nullptr;
  if (known && !translator_.graph->keepsApart(first, source_)) {
    if (first) {
      translator_.guardSame(source_, first, true);
    } else if (source_) {
      guard(GuardType::ID_MATCH, object);
    }
    return known;
  }
  Value built;
  PyTypeObject* type = Py_TYPE(object);
  if (PyList_CheckExact(object)) {
    checkListOfWarnings(translator_, object);
    built = buildList();
  } else if (PyDict_CheckExact(object) || type == &PyODict_Type ||
             std::strcmp(type->tp_name, "collections.defaultdict") == 0) {
    built = buildDict();
  } else if (type == cpython::dequeType()) {
    guardType();
    built = translator_.make<DequeVariable>(translator_, source_, object_);
  } else if (PySet_CheckExact(object) || PyFrozenSet_CheckExact(object)) {
    built = buildSet();
  } else if (PyFunction_Check(object)) {
    built = buildFunction();
  } else if (PyMethod_Check(object)) {
    built = buildMethod();
  } else if (PyCFunction_Check(object)) {
    built = buildBuiltinMethod();
  } else if (type == partialType()) {
    built = buildPartial();
  } else if (type == unionType() && (!source_ || source_->isGlobal())) {
    guard(GuardType::ID_MATCH, object);
    return Value::constant(object);
  } else if (type == unionType()) {
    built = buildOpaque();  // an argument may be a new one in each call
  } else if (type == &PyDictProxy_Type) {
    built = buildMappingProxy();
  } else if (PyType_Check(object)) {
    built = buildClass();
  } else if (PyCell_Check(object)) {
    built = buildCell();
  } else if (type == &PySlice_Type) {
    built = buildSlice();
  } else if (const Library* library = libraryOfArrays(type)) {
    built = buildArray(*library);
  } else if (Value iterator =
                 source_ ? buildExistingIterator(translator_, source_, object) : Value()) {
    built = std::move(iterator);
  } else if (Value generator = source_ && type == &PyGen_Type
                                   ? translator_.existingGenerator(source_, object)
                                   : Value()) {
    built = std::move(generator);
  } else if (isStructSequence(type) || isNamedTupleType(translator_.heap, type)) {
    built = buildNamedTuple();
  } else {
    built = buildInstance();
  }
  translator_.remember(object, built);
  return built;
}

// --- Containers: their elements stay lazy.

Value VariableBuilder::buildTuple() {
  guardType();
  Py_ssize_t count = PyTuple_GET_SIZE(object_.get());
  if (source_) translator_.checkItemCount(source_, count);
  guard(GuardType::SEQUENCE_LENGTH, nullptr, count);
  if (count == 0) return Value::constant(object_);
  ValueVector items;
  for (Py_ssize_t i = 0; i < count; ++i) {
    items.push_back(
        translator_.wrap(item(SourceKind::TupleItem, i), PyTuple_GET_ITEM(object_.get(), i)));
  }
  return translator_.make<TupleVariable>(std::move(items), source_, object_);
}

Value VariableBuilder::buildNamedTuple() {
  guardType();
  return translator_.make<NamedTupleVariable>(Py_TYPE(object_.get()), tupleItems(), source_,
                                              object_);
}

ValueVector VariableBuilder::tupleItems() {
  ValueVector items;
  if (source_) translator_.checkItemCount(source_, PyTuple_GET_SIZE(object_.get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object_.get()); ++i) {
    items.push_back(
        translator_.wrap(item(SourceKind::TupleItem, i), PyTuple_GET_ITEM(object_.get(), i)));
  }
  guard(GuardType::SEQUENCE_LENGTH, nullptr, items.size());
  return items;
}

Value VariableBuilder::buildList() {
  guardType();
  return translator_.make<ListVariable>(translator_, source_, object_);
}

Value VariableBuilder::buildDict() {
  guardType();
  return translator_.make<DictVariable>(source_, object_);
}

SetVariable* VariableBuilder::buildSet() {
  using Loading = SetVariable::Loading;
  Loading loading = Loading::ByValue;
  if (PySet_GET_SIZE(object_.get()) > kMostSetElements) loading = Loading::Never;
  for (cpython::SetEntry each; loading != Loading::Never && cpython::nextEntry(object_, each);) {
    PyObject* element = each.element;
    bool isPlain = isConstant(element) || (PyType_Check(element) && hashWithoutCode(element));
    if (isPlain) continue;
    // Sets of functions are large, and asked for one of them.
    bool hasPlace = source_ && !PyFunction_Check(element) && hashWithoutCode(element) &&
                    isKeyByIdentity(Py_TYPE(element));
    loading = hasPlace ? Loading::ByPlace : Loading::Never;
  }
  guardType();
  return translator_.make<SetVariable>(source_, object_, loading);
}

// --- Functions and classes.

Value VariableBuilder::buildFunction() {
  auto* function = reinterpret_cast<PyFunctionObject*>(object_.get());
  Heap& heap = translator_.heap;
  PyCodeObject* real = heap.codeOf(source_, function);
  // Code that the program has put together may load anything.
  CodePtr code = isConstant(reinterpret_cast<PyObject*>(real)) ? lift(real) : nullptr;
  if (!code) {
    clearException();
    return buildOpaque();
  }
  DictVariable* globals =
      translator_.moduleDict(cpython::read(object_, cpython::FunctionField::Globals));
  auto* variable =
      translator_.make<UserFunctionVariable>(std::move(code), globals, source_, object_);
  Found defaults = heap.part(source_, function, SourceKind::FunctionDefaults);
  variable->defaults = translator_.wrap(defaults.source, defaults.object);
  Found keywordDefaults = heap.part(source_, function, SourceKind::FunctionKwDefaults);
  variable->keywordDefaults = translator_.wrap(keywordDefaults.source, keywordDefaults.object);
  if (PyObject* closure = cpython::read(object_, cpython::FunctionField::Closure)) {
    const Source* closureSource = path(SourceKind::FunctionClosure);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(closure); ++i) {
      const Source* cellSource =
          closureSource ? translator_.sources->item(SourceKind::TupleItem, closureSource, i)
                        : nullptr;
      Value cell = VariableBuilder(translator_, cellSource, PyTuple_GET_ITEM(closure, i)).build();
      variable->closure.push_back(requireKind<NewCellVariable>(cell));
    }
  }
  return variable;
}

Value VariableBuilder::buildCell() {
  // A function's closure holds nothing else.
  bool isOfFunction =
      source_ && source_->base() && source_->base()->kind() == SourceKind::FunctionClosure;
  if (!isOfFunction) guardType();
  PyObject* contents = PyCell_GET(object_.get());
  Value inside;
  if (contents) {
    inside = translator_.wrap(path(SourceKind::CellContents), contents);
  }
  return translator_.make<NewCellVariable>(std::move(inside), source_, object_);
}

Value VariableBuilder::buildMethod() {
  guardType();
  Value function =
      translator_.wrap(path(SourceKind::MethodFunction), PyMethod_GET_FUNCTION(object_.get()));
  Value self = translator_.wrap(path(SourceKind::MethodSelf), PyMethod_GET_SELF(object_.get()));
  return translator_.make<BoundMethodVariable>(&PyMethod_Type, std::move(function), std::move(self),
                                               source_, object_);
}

Value VariableBuilder::buildBuiltinMethod() {
  // A C method bound to an object: `xs.append` found in a variable. Such objects are made afresh
  // each time, so what counts is of what they are made.
  PyObject* self = PyCFunction_GET_SELF(object_.get());
  PyObject* descriptor = findMethod(Py_TYPE(self), object_, &PyMethodDescr_Type);
  if (!descriptor && !hasAttributeOfName(Py_TYPE(self), object_)) {
    // No method, but a function of an extension module, with what its binding generator keeps.
    guard(GuardType::ID_MATCH, object_);
    return Value::constant(object_);
  }
  if (!descriptor) return buildOpaque();
  guard(GuardType::BUILTIN_MATCH, descriptor);
  return translator_.make<BoundMethodVariable>(&PyCFunction_Type, Value::constant(descriptor),
                                               translator_.wrap(path(SourceKind::MethodSelf), self),
                                               source_, object_);
}

Value VariableBuilder::buildPartial() {
  guardType();
  return makePartial();
}

PartialVariable* VariableBuilder::makePartial() {
  auto part = [&](const char* name) {
    PyObject* member = cpython::ownAttribute(partialType(), name);
    const Source* source =
        source_ ? translator_.sources->item(SourceKind::Slot, source_, member) : nullptr;
    return translator_.wrap(source, cpython::memberValue(object_, member));
  };
  return translator_.make<PartialVariable>(Py_TYPE(object_.get()), part("func"), part("args"),
                                           part("keywords"), source_, object_);
}

Value VariableBuilder::buildMappingProxy() {
  guardType();
  Value mapping =
      translator_.wrap(path(SourceKind::ProxiedMapping), cpython::proxiedMapping(object_));
  return translator_.make<MappingProxyVariable>(std::move(mapping), source_, object_);
}

Value VariableBuilder::buildClass() {
  guard(GuardType::CLASS_MATCH, object_);
  translator_.heap.metaclassOf(reinterpret_cast<PyTypeObject*>(object_.get()));
  return translator_.make<UserClassVariable>(source_, object_);
}

// --- Arrays and instances.

Value VariableBuilder::buildArray(const Library& library) {
  const ArrayLibrary* reader = arrayLibrary(library.kind());
  if (!source_ || !reader) return buildOpaque();
  std::shared_ptr<const TensorMetadata> metadata = library.scalarMetadata(Py_TYPE(object_.get()));
  if (!metadata) {
    auto read = std::make_shared<TensorMetadata>();
    if (!reader->read(object_, *read, nullptr)) return buildOpaque();
    metadata = std::move(read);
  }
  guardType();
  Node* node = translator_.addInput(source_, object_);
  if (!node->metadata) node->metadata = std::move(metadata);
  translator_.observe(node, ObservedDispatchKeys);
  return translator_.make<TensorVariable>(Py_TYPE(object_.get()), node, &library, source_, object_);
}

Value VariableBuilder::buildInstance() {
  PyTypeObject* type = Py_TYPE(object_.get());
  PyTypeObject* layout = staticBase(type);
  bool isModule = layout == &PyModule_Type;
  bool isError = source_ && PyExceptionClass_Check(reinterpret_cast<PyObject*>(layout));
  bool hasItems = layout == &PyDict_Type || layout == &PyODict_Type || layout == &PyList_Type ||
                  layout == &PyTuple_Type || layout == &PySet_Type || layout == &PyFrozenSet_Type ||
                  layout == cpython::dequeType();
  hasItems = hasItems || (partialType() && PyType_IsSubtype(type, partialType()));
  bool plainLayout =
      layout == &PyBaseObject_Type || hasItems || isModule || dataLayout(type) == layout;
  static PyObject* const getattribute = staticName("__getattribute__");
  Found access = translator_.heap.lookup(type, getattribute);
  bool knownAccess =
      (layout->tp_getattro == PyObject_GenericGetAttr || isModule) &&
      (translator_.heap.inherits(type, layout, getattribute) || PyFunction_Check(access.object));
  bool isNamespace = layout == cpython::simpleNamespaceType();
  bool isPlain = isNamespace || (plainLayout && (type->tp_flags & Py_TPFLAGS_HEAPTYPE));
  if (!knownAccess || !(isPlain || isError)) return buildOpaque();
  guardType();
  if (isError) {
    return translator_.make<ExceptionVariable>(source_, object_, translator_.knownClass(type));
  }
  VariableTracker* items = hasItems ? makeItems(layout) : nullptr;
  if (hasItems && !items) return buildOpaque();
  auto* object = translator_.make<UserObjectVariable>(source_, object_);
  object->container = items;
  if (items) items->instance = object;
  return object;
}

// The builtin part of an instance of a subclass of a container; null where the trace can't know it.
VariableTracker* VariableBuilder::makeItems(PyTypeObject* layout) {
  if (layout == &PyList_Type) return translator_.make<ListVariable>(translator_, source_, object_);
  if (layout == cpython::dequeType()) {
    return translator_.make<DequeVariable>(translator_, source_, object_);
  }
  if (layout == &PyTuple_Type) {
    return translator_.make<TupleVariable>(tupleItems(), source_, object_, Py_TYPE(object_.get()));
  }
  if (layout == &PySet_Type || layout == &PyFrozenSet_Type) return buildSet();
  if (layout == &PyBaseObject_Type) return makePartial();
  return translator_.make<DictVariable>(source_, object_);
}

// One with a part that is no data.
Value VariableBuilder::buildSlice() {
  guardType();
  auto part = [&](const char* name) {
    return wrapMember(translator_, &PySlice_Type, source_, object_, name);
  };
  return translator_.make<SliceVariable>(part("start"), part("stop"), part("step"), source_,
                                         object_);
}

Value VariableBuilder::buildOpaque() {
  guardType();
  if (PyContextVar_CheckExact(object_.get())) {
    return translator_.make<ContextVarVariable>(source_, object_);
  }
  return translator_.make<OpaqueVariable>(source_, object_);
}

}  // namespace armature
