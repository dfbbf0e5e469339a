// Bytecode that makes a traced value, or loads it from where it is.
#include <cstring>

#include "codegen/py_codegen.h"
#include "codegen/unsupported.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/containers/iterators.h"
#include "variables/functions/functions.h"
#include "variables/objects/context_manager.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// A callable that generated code needs: attribute `name` of a module. Immortal.
PyObject* moduleAttribute(const char* module, const char* name) {
  Ref<> imported = Ref<>::steal(PyImport_ImportModule(module));
  PyObject* attribute = imported ? PyObject_GetAttrString(imported.get(), name) : nullptr;
  if (!attribute) {
    PyErr_Clear();
    throw UnsupportedReconstruction(std::string(module) + "." + name + " is missing");
  }
  return attribute;
}

PyObject* objectNew() {
  static PyObject* const function =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__");
  return function;
}

PyObject* objectSetattr() {
  static PyObject* const function =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__setattr__");
  return function;
}

}  // namespace

void PyCodegen::loadSource(const Source* source) {
  if (source->kind() == SourceKind::Local || source->kind() == SourceKind::LocalCell) {
    auto index = static_cast<int32_t>(source->index());
    size_t stackInputs = inputCount_ - translator_.entry().locals.size();
    bool isCell = static_cast<size_t>(index) >= stackInputs &&
                  translator_.entry().localIsCell[index - stackInputs];
    if (!isCell || source->kind() == SourceKind::LocalCell) {
      assembler_.emit(isCell ? Opcode::LOAD_CLOSURE : Opcode::LOAD_FAST, index);
      return;
    }
    // AutoDerefLocalSource: the cell's content at entry. While the trace does not write the cell,
    // that is what the cell holds.
    bool written = false;
    for (VariableTracker* tracker : translator_.sideEffects().mutated()) {
      const Source* cell = tracker->source();
      written |= cell && cell->kind() == SourceKind::LocalCell && cell->index() == source->index();
    }
    if (!written) {
      assembler_.emit(Opcode::LOAD_DEREF, index);
      return;
    }
  }
  if (source->kind() == SourceKind::GlobalsDict) {
    assembler_.emitLoadConst(source->object());
    return;
  }
  auto [found, inserted] = captureLocals_.try_emplace(source, -1);
  if (inserted) {
    std::string name = "___capture" + std::to_string(captures_.size());
    captures_.push_back(source);
    found->second = assembler_.addParameter(Ref<>::steal(PyUnicode_FromString(name.c_str())));
  }
  assembler_.emit(Opcode::LOAD_FAST, found->second);
}

void PyCodegen::load(const Value& value) {
  if (value.isNull()) {
    assembler_.emit(Opcode::PUSH_NULL);
    return;
  }
  if (value.isConstant()) {
    assembler_.emitLoadConst(value.object());
    return;
  }
  VariableTracker* tracker = value.tracker();
  if (auto found = temporaries_.find(tracker); found != temporaries_.end()) {
    bool isCell = tracker->kind() == VariableKind::NewCell;
    assembler_.emit(isCell ? Opcode::LOAD_CLOSURE : Opcode::LOAD_FAST, found->second);
    return;
  }
  if (tracker->source()) {
    loadSource(tracker->source());
    return;
  }
  if (tracker->existing()) {
    // An object that a library pins, or that belongs to one (see Translator::knownClass).
    assembler_.emitLoadConst(tracker->existing());
    return;
  }
  build(tracker);
  if (references_.lookup(tracker) > 1) {
    int32_t local = freshLocal("tmp");
    assembler_.emit(Opcode::COPY, 1);
    assembler_.emit(Opcode::STORE_FAST, local);
    temporaries_[tracker] = local;
  }
}

void PyCodegen::loadType(PyTypeObject* type) { load(translator_.knownClass(type)); }

// --- Objects that others may refer to before they are whole.

bool PyCodegen::isAllocatedFirst(VariableTracker* tracker) const {
  switch (tracker->kind()) {
    case VariableKind::UserObject:
    case VariableKind::Exception:
    case VariableKind::NewCell:
      return true;
    case VariableKind::List:
    case VariableKind::Dict:
    case VariableKind::Set:
      return references_.lookup(tracker) > 1 && !llvm::isa<SetVariable>(tracker);
    default:
      return false;
  }
}

void PyCodegen::allocate(VariableTracker* tracker) {
  int32_t local = freshLocal(tracker->kind() == VariableKind::NewCell ? "cell" : "tmp");
  temporaries_[tracker] = local;
  switch (tracker->kind()) {
    case VariableKind::NewCell:
      assembler_.emit(Opcode::MAKE_CELL, local);
      return;
    case VariableKind::List:
      assembler_.emit(Opcode::BUILD_LIST, 0);
      break;
    case VariableKind::Dict: {
      PyTypeObject* type = tracker->type();
      if (type == &PyDict_Type) {
        assembler_.emit(Opcode::BUILD_MAP, 0);
      } else if (type == &PyODict_Type) {
        assembler_.emit(Opcode::PUSH_NULL);
        assembler_.emitLoadConst(reinterpret_cast<PyObject*>(type));
        assembler_.emitCall(0);
      } else {
        throw UnsupportedReconstruction(std::string("a new ") + type->tp_name);
      }
      break;
    }
    case VariableKind::UserObject: {
      auto* object = llvm::cast<UserObjectVariable>(tracker);
      assembler_.emit(Opcode::PUSH_NULL);
      assembler_.emitLoadConst(object->container ? dictMethod(object->type(), "__new__")
                                                 : objectNew());
      load(object->classVariable);
      assembler_.emitCall(1);
      break;
    }
    default: {  // Exception: __new__ without __init__, which has been traced.
      auto* exception = llvm::cast<ExceptionVariable>(tracker);
      assembler_.emit(Opcode::PUSH_NULL);
      load(exception->classVariable);
      assembler_.emitName(Opcode::LOAD_ATTR, "__new__");
      load(exception->classVariable);
      for (const Value& argument : exception->arguments) load(argument);
      assembler_.emitCall(1 + static_cast<int32_t>(exception->arguments.size()));
      break;
    }
  }
  assembler_.emit(Opcode::STORE_FAST, local);
}

PyObject* PyCodegen::dictMethod(PyTypeObject* type, const char* name) {
  bool isOrdered = PyType_IsSubtype(type, &PyODict_Type);
  PyTypeObject* base = isOrdered ? &PyODict_Type : &PyDict_Type;
  // Borrowed by the constants of the code; the builtin type keeps it alive for good.
  PyObject* method = PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), name);
  if (!method) {
    PyErr_Clear();
    throw UnsupportedReconstruction(std::string("dict.") + name + " is missing");
  }
  return method;
}

void PyCodegen::setDictItem(VariableTracker* dict, const Value& key, const Value& value) {
  if (dict->type()->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(dictMethod(dict->type(), "__setitem__"));
    load(dict);
    load(key);
    load(value);
    assembler_.emitCall(3);
    assembler_.emit(Opcode::POP_TOP);
    return;
  }
  load(value);
  load(dict);
  load(key);
  assembler_.emit(Opcode::STORE_SUBSCR);
}

void PyCodegen::setAttribute(VariableTracker* object, PyObject* name, const Value& value) {
  static PyObject* const setattr = PyUnicode_InternFromString("__setattr__");
  bool plain =
      cpython::lookup(object->type(), setattr) == cpython::lookup(&PyBaseObject_Type, setattr) ||
      object->kind() == VariableKind::Exception;
  if (plain) {
    load(value);
    load(object);
    assembler_.emitName(Opcode::STORE_ATTR, name);
    return;
  }
  // An overridden __setattr__ has been traced; only its final effect is replayed.
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(objectSetattr());
  load(object);
  assembler_.emitLoadConst(name);
  load(value);
  assembler_.emitCall(3);
  assembler_.emit(Opcode::POP_TOP);
}

void PyCodegen::fill(VariableTracker* tracker) {
  switch (tracker->kind()) {
    case VariableKind::NewCell: {
      const Value& contents = llvm::cast<NewCellVariable>(tracker)->contents();
      if (!contents) return;
      load(contents);
      assembler_.emit(Opcode::STORE_DEREF, temporaries_[tracker]);
      return;
    }
    case VariableKind::List: {
      const ValueVector& items = llvm::cast<ListVariable>(tracker)->items();
      if (items.empty()) return;
      load(tracker);
      for (const Value& item : items) load(item);
      assembler_.emit(Opcode::BUILD_LIST, static_cast<int32_t>(items.size()));
      assembler_.emit(Opcode::LIST_EXTEND, 1);
      assembler_.emit(Opcode::POP_TOP);
      return;
    }
    case VariableKind::Dict: {
      llvm::cast<DictVariable>(tracker)->forEach(translator_,
                                                 [&](const OrderedValueMap::Entry& entry) {
                                                   setDictItem(tracker, entry.key, entry.value);
                                                 });
      return;
    }
    case VariableKind::UserObject: {
      auto* object = llvm::cast<UserObjectVariable>(tracker);
      if (object->container) {
        object->container->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
          setDictItem(object, entry.key, entry.value);
        });
      }
      if (object->dict) {
        object->dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
          setAttribute(object, entry.key.object(), entry.value);
        });
      }
      if (object->memberValues) {
        object->memberValues->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
          assembler_.emitLoadConst(entry.key.object());
          assembler_.emitName(Opcode::LOAD_METHOD, "__set__");
          load(tracker);
          load(entry.value);
          assembler_.emitCall(2);
          assembler_.emit(Opcode::POP_TOP);
        });
      }
      return;
    }
    default: {  // Exception
      auto* exception = llvm::cast<ExceptionVariable>(tracker);
      static PyObject* const cause = PyUnicode_InternFromString("__cause__");
      static PyObject* const context = PyUnicode_InternFromString("__context__");
      if (exception->context) setAttribute(exception, context, exception->context);
      if (exception->cause) setAttribute(exception, cause, exception->cause);
      if (exception->dict) {
        exception->dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
          setAttribute(exception, entry.key.object(), entry.value);
        });
      }
      return;
    }
  }
}

// --- Everything else.

void PyCodegen::build(VariableTracker* tracker) {
  auto count = [](size_t n) { return static_cast<int32_t>(n); };
  switch (tracker->kind()) {
    case VariableKind::Tensor:
      assembler_.emit(Opcode::LOAD_FAST,
                      outputs_.find(llvm::cast<TensorVariable>(tracker)->node)->second);
      return;
    case VariableKind::Tuple:
    case VariableKind::List: {
      const ValueVector& items = llvm::cast<SequenceVariable>(tracker)->items();
      for (const Value& item : items) load(item);
      assembler_.emit(
          tracker->kind() == VariableKind::List ? Opcode::BUILD_LIST : Opcode::BUILD_TUPLE,
          count(items.size()));
      return;
    }
    case VariableKind::NamedTuple: {
      const ValueVector& items = llvm::cast<SequenceVariable>(tracker)->items();
      bool isNamedTuple = cpython::ownAttribute(tracker->type(), "_fields") != nullptr;
      static PyObject* const tupleNew =
          PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__");
      assembler_.emit(Opcode::PUSH_NULL);
      if (isNamedTuple) assembler_.emitLoadConst(tupleNew);
      loadType(tracker->type());
      for (const Value& item : items) load(item);
      assembler_.emit(Opcode::BUILD_TUPLE, count(items.size()));
      assembler_.emitCall(isNamedTuple ? 2 : 1);
      return;
    }
    case VariableKind::Dict: {
      auto* dict = llvm::cast<DictVariable>(tracker);
      bool isPlain = tracker->type() == &PyDict_Type;
      if (!isPlain && tracker->type() != &PyODict_Type) {
        throw UnsupportedReconstruction(std::string("a new ") + tracker->type()->tp_name);
      }
      if (!isPlain) {
        assembler_.emit(Opcode::PUSH_NULL);
        loadType(tracker->type());
      }
      int32_t size = 0;
      dict->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
        load(entry.key);
        load(entry.value);
        ++size;
      });
      assembler_.emit(Opcode::BUILD_MAP, size);
      if (!isPlain) assembler_.emitCall(1);
      return;
    }
    case VariableKind::Set: {
      auto* set = llvm::cast<SetVariable>(tracker);
      bool isPlain = tracker->type() == &PySet_Type;
      if (!isPlain) {
        assembler_.emit(Opcode::PUSH_NULL);
        loadType(tracker->type());
      }
      set->forEach([&](const Value& key) { load(key); });
      assembler_.emit(Opcode::BUILD_SET, count(set->size()));
      if (!isPlain) assembler_.emitCall(1);
      return;
    }
    case VariableKind::Slice: {
      auto* slice = llvm::cast<SliceVariable>(tracker);
      load(slice->start);
      load(slice->stop);
      load(slice->step);
      assembler_.emit(Opcode::BUILD_SLICE, 3);
      return;
    }
    case VariableKind::DictView: {
      auto* view = llvm::cast<DictViewVariable>(tracker);
      static constexpr const char* kMethods[] = {"keys", "values", "items"};
      load(view->dict);
      assembler_.emitName(Opcode::LOAD_METHOD, kMethods[static_cast<int>(view->view)]);
      assembler_.emitCall(0);
      return;
    }
    case VariableKind::UserFunction:
      buildFunction(llvm::cast<UserFunctionVariable>(tracker));
      return;
    case VariableKind::BoundMethod: {
      auto* method = llvm::cast<BoundMethodVariable>(tracker);
      PyObject* function = method->function.objectOrNull();
      if (method->type() == &PyMethod_Type) {
        assembler_.emit(Opcode::PUSH_NULL);
        assembler_.emitLoadConst(reinterpret_cast<PyObject*>(&PyMethod_Type));
        load(method->function);
        load(method->self);
        assembler_.emitCall(2);
        return;
      }
      // A C method: bound by its descriptor, since a subclass may have overridden the attribute.
      if (function && Py_TYPE(function)->tp_descr_get) {
        assembler_.emitLoadConst(function);
        assembler_.emitName(Opcode::LOAD_METHOD, "__get__");
        // A class method is bound to a class: __get__(None, class).
        bool ofClass = Py_TYPE(function) == &PyClassMethodDescr_Type;
        if (ofClass) assembler_.emitLoadConst(Py_None);
        load(method->self);
        assembler_.emitCall(ofClass ? 2 : 1);
        return;
      }
      if (!function || !PyUnicode_Check(function)) {
        throw UnsupportedReconstruction(describe(tracker));
      }
      load(method->self);
      assembler_.emitName(Opcode::LOAD_ATTR, function);
      return;
    }
    case VariableKind::Super: {
      auto* super = llvm::cast<SuperVariable>(tracker);
      assembler_.emit(Opcode::PUSH_NULL);
      assembler_.emitLoadConst(reinterpret_cast<PyObject*>(&PySuper_Type));
      load(super->startClass);
      load(super->self);
      assembler_.emitCall(2);
      return;
    }
    case VariableKind::ContextManager: {
      auto* manager = llvm::cast<ContextManagerVariable>(tracker);
      // Not by its constructor, which may set the mode.
      assembler_.emit(Opcode::PUSH_NULL);
      assembler_.emitLoadConst(objectNew());
      load(manager->classValue);
      assembler_.emitCall(1);
      auto set = [&](const char* name, bool value) {
        assembler_.emitLoadConst(value ? Py_True : Py_False);
        assembler_.emit(Opcode::COPY, 2);
        assembler_.emitName(Opcode::STORE_ATTR, name);
      };
      set("prev", manager->previous);
      if (manager->takesMode) set("mode", manager->target);
      return;
    }
    case VariableKind::ContextExit:
      load(llvm::cast<ContextExitVariable>(tracker)->manager);
      assembler_.emitName(Opcode::LOAD_ATTR, "__exit__");
      return;
    default:
      buildIterator(tracker);
  }
}

void PyCodegen::buildFunction(UserFunctionVariable* function) {
  static PyObject* const functionType = moduleAttribute("types", "FunctionType");
  auto* code = reinterpret_cast<PyObject*>(function->code->original.get());
  auto pushClosure = [&] {
    for (NewCellVariable* cell : function->closure) load(cell);
    assembler_.emit(Opcode::BUILD_TUPLE, static_cast<int32_t>(function->closure.size()));
  };
  auto set = [&](const char* name, const Value& value) {
    if (!value) return;
    assembler_.emit(Opcode::COPY, 1);
    load(value);
    assembler_.emit(Opcode::SWAP, 2);
    assembler_.emitName(Opcode::STORE_ATTR, name);
  };
  auto setAttributes = [&] {
    if (!function->attributes) return;
    function->attributes->forEach(translator_, [&](const OrderedValueMap::Entry& entry) {
      set(PyUnicode_AsUTF8(entry.key.object()), entry.value);
    });
  };
  if (function->globals->existing() == translator_.rootGlobals()) {
    int32_t flags = 0;
    if (function->defaults) flags |= 0x01, load(function->defaults);
    if (function->keywordDefaults) flags |= 0x02, load(function->keywordDefaults);
    if (function->annotations) flags |= 0x04, load(function->annotations);
    if (!function->closure.empty()) flags |= 0x08, pushClosure();
    assembler_.emitLoadConst(code);
    assembler_.emit(Opcode::MAKE_FUNCTION, flags);
    setAttributes();
    return;
  }
  // FunctionType(code, globals, name, argdefs, closure), for a function of another module.
  if (function->annotations) {
    throw UnsupportedReconstruction("a new annotated function of another module");
  }
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(functionType);
  assembler_.emitLoadConst(code);
  load(function->globals);
  assembler_.emitLoadConst(Py_None);
  if (function->defaults) {
    load(function->defaults);
  } else {
    assembler_.emitLoadConst(Py_None);
  }
  if (function->closure.empty()) {
    assembler_.emitLoadConst(Py_None);
  } else {
    pushClosure();
  }
  assembler_.emitCall(5);
  set("__kwdefaults__", function->keywordDefaults);
  setAttributes();
}

// A new iterator of the dict, advanced past the items that the trace has seen: it must notice
// what happens to the dict later. Where the trace has changed the dict's keys since it began, there
// is no such iterator.
bool PyCodegen::buildDictIterator(DictIteratorVariable* iterator) {
  auto* dict = llvm::dyn_cast<DictVariable>(iterator->container);
  if (!dict) return false;  // A set: its copy may have another order.
  if (iterator->exhausted) {
    assembler_.emitLoadConst(Ref<>::steal(PyTuple_New(0)));
    assembler_.emit(Opcode::GET_ITER);
    return true;
  }
  if (dict->size(translator_) != iterator->expectedSize ||
      dict->entries().entryCount() != iterator->entryCount) {
    return false;
  }
  // It is made before effects are replayed: an existing dict must have its keys already.
  for (int32_t i = 0; dict->existing() && i < dict->entries().entryCount(); ++i) {
    const OrderedValueMap::Entry& entry = dict->entries()[i];
    if (entry.existed != entry.live()) return false;
  }
  static PyObject* const reversed = PyDict_GetItemString(PyEval_GetBuiltins(), "reversed");
  static PyObject* const next = PyDict_GetItemString(PyEval_GetBuiltins(), "next");
  static PyObject* const islice = [] {
    Ref<> module = Ref<>::steal(PyImport_ImportModule("itertools"));
    return PyObject_GetAttrString(module.get(), "islice");
  }();
  static constexpr const char* kMethods[] = {"keys", "values", "items"};
  if (iterator->reversed) {
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(reversed);
  }
  load(dict);
  assembler_.emitName(Opcode::LOAD_METHOD, kMethods[static_cast<int>(iterator->view)]);
  assembler_.emitCall(0);
  if (iterator->reversed) {
    assembler_.emitCall(1);
  } else {
    assembler_.emit(Opcode::GET_ITER);
  }
  if (size_t seen = iterator->expectedSize - iterator->remaining) {
    // next(islice(iterator, seen, seen), None)
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(next);
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(islice);
    assembler_.emit(Opcode::COPY, 5);
    Ref<> count = Ref<>::steal(PyLong_FromSize_t(seen));
    assembler_.emitLoadConst(count);
    assembler_.emitLoadConst(count);
    assembler_.emitCall(3);
    assembler_.emitLoadConst(Py_None);
    assembler_.emitCall(2);
    assembler_.emit(Opcode::POP_TOP);
  }
  return true;
}

void PyCodegen::buildIterator(VariableTracker* tracker) {
  auto callType = [&](PyTypeObject* type, auto&& arguments, int32_t count) {
    assembler_.emit(Opcode::PUSH_NULL);
    assembler_.emitLoadConst(reinterpret_cast<PyObject*>(type));
    arguments();
    assembler_.emitCall(count);
  };
  switch (tracker->kind()) {
    case VariableKind::SequenceIterator: {
      auto* iterator = llvm::cast<SequenceIteratorVariable>(tracker);
      if (iterator->step != 1 || trackerOf<TensorVariable>(iterator->sequence)) break;
      if (!iterator->sequence) {
        assembler_.emitLoadConst(Ref<>::steal(PyTuple_New(0)));
        assembler_.emit(Opcode::GET_ITER);
        return;
      }
      load(iterator->sequence);
      assembler_.emit(Opcode::GET_ITER);
      if (iterator->index > 0) {
        assembler_.emit(Opcode::COPY, 1);
        assembler_.emitName(Opcode::LOAD_METHOD, "__setstate__");
        assembler_.emitLoadConst(Ref<>::steal(PyLong_FromLongLong(iterator->index)));
        assembler_.emitCall(1);
        assembler_.emit(Opcode::POP_TOP);
      }
      return;
    }
    case VariableKind::DictIterator:
      if (!buildDictIterator(llvm::cast<DictIteratorVariable>(tracker))) break;
      return;
    case VariableKind::Enumerate: {
      auto* enumerate = llvm::cast<EnumerateVariable>(tracker);
      callType(
          &PyEnum_Type, [&] { load(enumerate->iterator), load(enumerate->count); }, 2);
      return;
    }
    case VariableKind::Zip: {
      auto* zip = llvm::cast<ZipVariable>(tracker);
      if (zip->strict) break;
      callType(
          &PyZip_Type,
          [&] {
            for (const Value& item : zip->iterators) load(item);
          },
          static_cast<int32_t>(zip->iterators.size()));
      return;
    }
    case VariableKind::Map: {
      auto* map = llvm::cast<MapVariable>(tracker);
      callType(
          &PyMap_Type,
          [&] {
            load(map->function);
            for (const Value& item : map->iterators) load(item);
          },
          1 + static_cast<int32_t>(map->iterators.size()));
      return;
    }
    case VariableKind::Filter: {
      auto* filter = llvm::cast<FilterVariable>(tracker);
      callType(
          &PyFilter_Type, [&] { load(filter->function), load(filter->iterator); }, 2);
      return;
    }
    default:
      break;
  }
  throw UnsupportedReconstruction(describe(tracker));
}

}  // namespace armature
