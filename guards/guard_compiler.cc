#include "guards/guard_compiler.h"

#include <cstddef>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>

#include "guards/constant.h"
#include "guards/object_access.h"

namespace armature {
namespace {

// May an instance of the type get another type? CPython allows an assignment to __class__ only
// between heap types that are not immutable, and between kinds of modules
// (Objects/typeobject.c, object_set_class).
bool keepsInstances(PyTypeObject* type) {
  return type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && !PyType_IsSubtype(type, &PyModule_Type);
}

bool hasFixedLength(PyTypeObject* type) {
  return type == &PyTuple_Type || type == &PyUnicode_Type || type == &PyBytes_Type ||
         type == &PyFrozenSet_Type || type == &PyRange_Type;
}

// Guards on what a dict holds: answered by its version.
bool isAboutDictContent(const Guard& guard, const GuardNode& node) {
  switch (guard.type) {
    case GuardType::DICT_CONTAINS:
    case GuardType::DICT_NOT_CONTAINS:
    case GuardType::DICT_KEYS_MATCH:
      return true;
    case GuardType::SEQUENCE_LENGTH:
    case GuardType::EMPTY_NN_MODULE_HOOKS_DICT:
      return node.exactType && PyType_IsSubtype(node.exactType, &PyDict_Type);
    default:
      return false;
  }
}

// Guards whose outcome for one object never changes.
bool isAboutIdentity(const Guard& guard, const GuardNode& node) {
  switch (guard.type) {
    case GuardType::ID_MATCH:
    case GuardType::FUNCTION_MATCH:
    case GuardType::CLASS_MATCH:
    case GuardType::MODULE_MATCH:
    case GuardType::BUILTIN_MATCH:
    case GuardType::BOOL_MATCH:
    case GuardType::NONE_MATCH:
    case GuardType::NOT_NONE_MATCH:
    case GuardType::EQUALS_MATCH:  // operands are constants: only a constant can equal them
    case GuardType::CONSTANT_MATCH:
      return true;
    case GuardType::TYPE_MATCH:
      return keepsInstances(reinterpret_cast<PyTypeObject*>(guard.operand.get()));
    case GuardType::SEQUENCE_LENGTH:
      return node.exactType && hasFixedLength(node.exactType);
    default:
      return false;
  }
}

// Paths that always lead from one object to the same other one.
bool leadsToTheSame(const Source& source) {
  switch (source.kind()) {
    case SourceKind::TupleItem:
    case SourceKind::FunctionClosure:
    case SourceKind::MethodFunction:
    case SourceKind::MethodSelf:
      return true;
    default:
      return false;
  }
}

bool isEnter(Operation operation) {
  return operation == Operation::EnterDict || operation == Operation::EnterInstance ||
         operation == Operation::EnterType || operation == Operation::EnterUnlessDistinct;
}

Operation commitOf(Operation enter) {
  switch (enter) {
    case Operation::EnterInstance:
      return Operation::CommitInstance;
    case Operation::EnterType:
      return Operation::CommitType;
    default:
      return Operation::CommitDict;
  }
}

bool isDictEntry(const Source& source) {
  return source.kind() == SourceKind::DictItem || source.kind() == SourceKind::DictKey;
}

// The child through which only named attributes are looked at, so that the dict itself need not
// exist.
GuardNode* instanceAttributesOf(const GuardNode& node) {
  for (GuardNode* child : node.children) {
    if (child->source->kind() != SourceKind::InstanceDict || child->captured ||
        !child->guards.empty())
      continue;
    bool onlyNames = llvm::all_of(child->children, [](const GuardNode* attribute) {
      return attribute->source->kind() == SourceKind::DictItem &&
             PyUnicode_CheckExact(attribute->source->object().get());
    });
    if (onlyNames && !child->children.empty()) return child;
  }
  return nullptr;
}

// The descriptor by which functools.partial shows a field of its C structure.
Ref<> partialMember(const char* name) {
  Ref<> functools = Ref<>::steal(PyImport_ImportModule("functools"));
  Ref<> partial =
      Ref<>::steal(functools ? PyObject_GetAttrString(functools.get(), "partial") : nullptr);
  Ref<> member = Ref<>::steal(partial ? PyObject_GetAttrString(partial.get(), name) : nullptr);
  if (!member) {
    PyErr_Clear();
    throw std::invalid_argument("functools.partial is not as known");
  }
  return member;
}

class Compiler {
 public:
  explicit Compiler(GuardTree& tree)
      : tree_(tree), program_(std::make_unique<GuardProgram>()), done_(tree.guards().size()) {}

  std::unique_ptr<GuardProgram> compile(const std::vector<const Source*>& captures) {
    for (const GuardTree::Step& step : tree_.steps()) {
      if (!step.root) {
        emitCheck(step.guard, nullptr);
        continue;
      }
      emitLoad(step.root);
      emitNode(step.root);
    }
    emitRelations();
    emitDeferred(captures);
    emitRelations();
    for (const Source* source : captures)
      program_->captures.push_back(registerOf(tree_.node(source)));
    emit(Operation::Pass, nullptr);
    joinSections();
    renumberGuards();
    return std::move(program_);
  }

 private:
  // --- Instructions

  // Instructions and what they are there for.
  struct Code {
    std::vector<Instruction> instructions;
    std::vector<GuardProgram::Origin> origins;
  };

  Instruction& emit(Operation operation, const Source* source, int64_t guard = -1) {
    code_->instructions.push_back({.operation = operation});
    code_->origins.push_back({source, guard});
    return code_->instructions.back();
  }

  // Puts the sections behind the main code and lets the jumps between them point there.
  void joinSections() {
    std::vector<Instruction>& all = program_->instructions;
    all = std::move(main_.instructions);
    program_->origins = std::move(main_.origins);
    auto offset = static_cast<uint32_t>(all.size());
    for (Instruction& instruction : all)
      if (isEnter(instruction.operation)) instruction.target += offset;
    llvm::append_range(all, sections_.instructions);
    llvm::append_range(program_->origins, sections_.origins);
  }

  uint32_t newRegister() { return program_->registerCount++; }

  uint32_t registerOf(const GuardNode* node) { return registers_.at(node); }

  bool isLoaded(const Source* source) const { return registers_.count(tree_.node(source)); }

  PyObject* own(BorrowedRef<> object) {
    program_->objects.push_back(Ref<>::create(object.get()));
    return object;
  }

  static int64_t hashOf(BorrowedRef<> key) {
    Py_hash_t hash = hashWithoutCode(key);
    if (hash == -1)
      throw std::invalid_argument("a key whose hash is computed by the program: " +
                                  std::string(Py_TYPE(key.get())->tp_name));
    return hash;
  }

  // --- Loads

  // Gives the node a register, and the instruction that fills it from its parent's.
  Instruction& emitLoadAs(GuardNode* node, Operation operation) {
    Instruction& instruction = emit(operation, node->source);
    instruction.input = node->parent ? registerOf(node->parent) : 0;
    instruction.output = newRegister();
    registers_.emplace(node, instruction.output);
    return instruction;
  }

  void emitLoad(GuardNode* node) {
    const Source& source = *node->source;
    if (node->constantType) {
      emitLoadAs(node, Operation::LoadConstant).object =
          reinterpret_cast<PyObject*>(node->constantType);
      return;
    }
    switch (source.kind()) {
      case SourceKind::Local:
        emitLoadAs(node, Operation::LoadLocal).number = source.index();
        break;
      case SourceKind::LocalCell:
        emitLoadAs(node, Operation::LoadCell).number = source.index();
        break;
      case SourceKind::GlobalsDict:
      case SourceKind::BuiltinsDict:
      case SourceKind::ModulesDict:
        emitLoadAs(node, Operation::LoadConstant).object = source.object();
        break;
      case SourceKind::Type:
        emitLoadAs(node, Operation::LoadType);
        break;
      case SourceKind::InstanceDict:
        emitLoadAs(node, Operation::LoadInstanceDict);
        break;
      case SourceKind::DictItem:
        emitLoadWithKey(node, Operation::LoadDictItem);
        break;
      case SourceKind::DictKey:
        emitLoadAs(node, Operation::LoadDictKey).number = source.index();
        break;
      case SourceKind::ListItem:
        emitLoadAs(node, Operation::LoadListItem).number = indexOf(source);
        break;
      case SourceKind::TupleItem:
        emitLoadAs(node, Operation::LoadTupleItem).number = indexOf(source);
        break;
      case SourceKind::Slot:
        emitMember(node, source.object());
        break;
      case SourceKind::TypeAttribute:
        emitLoadAs(node, Operation::LoadTypeAttribute).object = source.object();
        break;
      case SourceKind::CellContents:
        emitLoadAs(node, Operation::LoadCellContents);
        break;
      case SourceKind::FunctionCode:
        emitFunctionField(node, offsetof(PyFunctionObject, func_code));
        break;
      case SourceKind::FunctionDefaults:
        emitFunctionField(node, offsetof(PyFunctionObject, func_defaults));
        break;
      case SourceKind::FunctionKwDefaults:
        emitFunctionField(node, offsetof(PyFunctionObject, func_kwdefaults));
        break;
      case SourceKind::FunctionClosure:
        emitFunctionField(node, offsetof(PyFunctionObject, func_closure));
        break;
      case SourceKind::MethodFunction:
        emitLoadAs(node, Operation::LoadMethodFunction);
        break;
      case SourceKind::MethodSelf:
        emitLoadAs(node, Operation::LoadMethodSelf);
        break;
      case SourceKind::TypeMro:
        emitLoadAs(node, Operation::LoadMro);
        break;
      case SourceKind::PartialFunction:
        emitMember(node, partialMember("func"));
        break;
      case SourceKind::PartialArguments:
        emitMember(node, partialMember("args"));
        break;
      case SourceKind::PartialKeywords:
        emitMember(node, partialMember("keywords"));
        break;
      case SourceKind::Descriptor:
        emitLoadAs(node, Operation::LoadDescriptor).object = source.object();
        break;
    }
    if (pinning_) emitPin(node);
  }

  static int64_t indexOf(const Source& source) {
    if (source.index() < 0) throw std::invalid_argument("a negative index: " + source.name());
    return source.index();
  }

  void emitLoadWithKey(GuardNode* node, Operation operation) {
    Instruction& instruction = emitLoadAs(node, operation);
    instruction.object = node->source->object();
    instruction.number = hashOf(instruction.object);
  }

  void emitMember(GuardNode* node, BorrowedRef<> descriptor) {
    if (!isObjectMember(descriptor))
      throw std::invalid_argument("not a member that holds an object: " + node->source->name());
    emitLoadAs(node, Operation::LoadMember).object = own(descriptor);
  }

  void emitFunctionField(GuardNode* node, size_t offset) {
    emitLoadAs(node, Operation::LoadFunctionField).number = static_cast<int64_t>(offset);
  }

  void emitPin(const GuardNode* node) {
    emit(Operation::Pin, node->source).input = registerOf(node);
  }

  // --- Nodes

  // Everything that there is to check at a loaded node and below it.
  void emitNode(GuardNode* node) {
    GuardNode* attributes = instanceAttributesOf(*node);
    if (attributes && !registers_.count(attributes)) emitInstanceSection(node, attributes);
    for (size_t guard : node->guards)
      if (!isAboutDictContent(tree_.guards()[guard], *node) &&
          !isAboutTypeContent(tree_.guards()[guard], *node))
        emitCheck(guard, node);
    emitDictSection(node);
    emitTypeSection(node);
    for (GuardNode* child : node->children) {
      if (child == attributes) {
        for (GuardNode* attribute : child->children) emitNode(attribute);
      } else if (child->source->kind() == SourceKind::Descriptor && !pinning_) {
        deferred_.push_back(child);
      } else {
        if (!registers_.count(child)) emitLoad(child);
        emitNode(child);
      }
    }
  }

  void emitInstanceSection(GuardNode* node, GuardNode* attributes) {
    // The dict's node stands for the object itself: its children are looked up through it.
    registers_.emplace(attributes, registerOf(node));
    Instruction enter{.operation = Operation::EnterInstance};
    int64_t checkedGuard = -1;
    for (size_t guard : node->guards) {
      if (tree_.guards()[guard].type != GuardType::TYPE_MATCH || done_[guard]) continue;
      enter.object = tree_.guards()[guard].operand.get();
      enter.number = instanceDictOffset(reinterpret_cast<PyTypeObject*>(enter.object));
      program_->identities.watch(enter.object);
      checkedGuard = markDone(guard);
      break;
    }
    emitSection(enter, checkedGuard, node, attributes->children, [&] {
      for (GuardNode* attribute : attributes->children)
        emitLoadWithKey(attribute, Operation::LoadInstanceItem);
    });
  }

  void emitDictSection(GuardNode* node) {
    std::vector<GuardNode*> entries;
    for (GuardNode* child : node->children)
      if (isDictEntry(*child->source)) entries.push_back(child);
    std::vector<size_t> contents;
    for (size_t guard : node->guards)
      if (isAboutDictContent(tree_.guards()[guard], *node)) contents.push_back(guard);
    if (entries.empty() && contents.empty()) return;
    bool ordered = llvm::any_of(contents,
                                [&](size_t guard) {
                                  return tree_.guards()[guard].type == GuardType::DICT_KEYS_MATCH;
                                }) ||
                   llvm::any_of(entries, [](const GuardNode* entry) {
                     return entry->source->kind() == SourceKind::DictKey;
                   });
    Instruction enter{.operation = Operation::EnterDict, .ordered = ordered};
    emitSection(enter, -1, node, entries, [&] {
      for (GuardNode* entry : entries) {
        if (entry->source->kind() == SourceKind::DictItem)
          emitLoadWithKey(entry, Operation::LoadDictItem);
        else
          emitLoadAs(entry, Operation::LoadDictKey).number = entry->source->index();
      }
      for (size_t guard : contents) emitCheck(guard, node);
    });
  }

  // Whether an attribute is found in the MRO of a type: true as long as the type's version stays.
  static bool isAboutTypeContent(const Guard& guard, const GuardNode& node) {
    return guard.type == GuardType::HASATTR && node.source->kind() == SourceKind::Type;
  }

  void emitTypeSection(GuardNode* node) {
    std::vector<GuardNode*> entries;
    for (GuardNode* child : node->children)
      if (child->source->kind() == SourceKind::TypeAttribute) entries.push_back(child);
    std::vector<size_t> contents;
    for (size_t guard : node->guards)
      if (isAboutTypeContent(tree_.guards()[guard], *node)) contents.push_back(guard);
    if (entries.empty() && contents.empty()) return;
    emitSection({.operation = Operation::EnterType}, -1, node, entries, [&] {
      for (GuardNode* entry : entries)
        emitLoadAs(entry, Operation::LoadTypeAttribute).object = entry->source->object();
      for (size_t guard : contents) emitCheck(guard, node);
    });
  }

  // A section of the node: `load` emits what loads the entries, what is known of their identities
  // follows.
  template <class Load>
  void emitSection(Instruction enter, int64_t guard, const GuardNode* node,
                   const std::vector<GuardNode*>& entries, Load load) {
    enter.input = registerOf(node);
    enter.output = newRegister();
    enter.target = static_cast<uint32_t>(sections_.instructions.size());
    emit(enter.operation, node->source, guard) = enter;

    Instruction commit = enter;
    commit.operation = commitOf(enter.operation);
    commit.object = nullptr;
    commit.target = static_cast<uint32_t>(main_.instructions.size() - 1);
    code_ = &sections_;
    load();
    for (GuardNode* entry : entries) emitStable(entry);
    emit(commit.operation, node->source) = commit;
    code_ = &main_;
    pinAll(entries);
  }

  // Within a section: what follows from the identity of the node's object alone.
  void emitStable(GuardNode* node) {
    for (size_t guard : node->guards)
      if (isAboutIdentity(tree_.guards()[guard], *node)) emitCheck(guard, node);
    for (GuardNode* child : node->children) {
      if (!leadsToTheSame(*child->source)) continue;
      bool pinning = std::exchange(pinning_, false);  // pinned after the section
      emitLoad(child);
      pinning_ = pinning;
      emitStable(child);
    }
  }

  void pinAll(const std::vector<GuardNode*>& nodes) {
    if (!pinning_) return;
    for (GuardNode* node : nodes) {
      emitPin(node);
      std::vector<GuardNode*> loaded;
      for (GuardNode* child : node->children)
        if (registers_.count(child)) loaded.push_back(child);
      pinAll(loaded);
    }
  }

  // --- Checks

  int64_t markDone(size_t guard) {
    done_[guard] = true;
    order_.push_back(guard);
    return static_cast<int64_t>(guard);
  }

  void emitCheck(size_t index, GuardNode* node) {
    const Guard& guard = tree_.guards()[index];
    if (done_[index] || guard.type == GuardType::DUPLICATE_INPUT) return;
    markDone(index);
    auto check = [&](Operation operation) -> Instruction& {
      Instruction& instruction = emit(operation, guard.source, static_cast<int64_t>(index));
      instruction.input = node ? registerOf(node) : 0;
      return instruction;
    };
    auto checkIdentity = [&](Operation operation, PyObject* object) {
      check(operation).object = object;
      program_->identities.watch(object);
    };
    auto checkContains = [&](Operation operation, bool negated) {
      Instruction& instruction = check(operation);
      instruction.object = own(guard.operand);
      instruction.number = hashOf(guard.operand);
      instruction.negated = negated;
    };
    switch (guard.type) {
      case GuardType::TYPE_MATCH:
        checkIdentity(Operation::CheckType, guard.operand.get());
        break;
      case GuardType::ID_MATCH:
      case GuardType::FUNCTION_MATCH:
      case GuardType::CLASS_MATCH:
      case GuardType::MODULE_MATCH:
      case GuardType::BUILTIN_MATCH:
        checkIdentity(Operation::CheckIdentity, guard.operand.get());
        break;
      case GuardType::EQUALS_MATCH:
      case GuardType::CONSTANT_MATCH:
        // Other objects have no equality that could be asked without running code.
        if (isConstant(guard.operand))
          check(Operation::CheckConstant).object = own(guard.operand);
        else
          checkIdentity(Operation::CheckIdentity, guard.operand.get());
        break;
      case GuardType::BOOL_MATCH:
        checkIdentity(Operation::CheckIdentity, guard.number ? Py_True : Py_False);
        break;
      case GuardType::NONE_MATCH:
        checkIdentity(Operation::CheckIdentity, Py_None);
        break;
      case GuardType::NOT_NONE_MATCH:
        checkIdentity(Operation::CheckNotIdentity, Py_None);
        break;
      case GuardType::CLOSURE_MATCH:
        checkIdentity(Operation::CheckFunctionCode, guard.operand.get());
        break;
      case GuardType::SEQUENCE_LENGTH:
        check(Operation::CheckLength).number = guard.number;
        break;
      case GuardType::EMPTY_NN_MODULE_HOOKS_DICT:
        check(Operation::CheckLength).number = 0;
        break;
      case GuardType::DICT_CONTAINS:
      case GuardType::DICT_NOT_CONTAINS:
        checkContains(Operation::CheckDictContains, guard.type == GuardType::DICT_NOT_CONTAINS);
        break;
      case GuardType::SET_CONTAINS:
      case GuardType::SET_NOT_CONTAINS:
        checkContains(Operation::CheckSetContains, guard.type == GuardType::SET_NOT_CONTAINS);
        break;
      case GuardType::DICT_KEYS_MATCH:
        check(Operation::CheckDictKeys).object = own(guard.operand);
        break;
      case GuardType::HASATTR: {
        Instruction& instruction = check(Operation::CheckAttribute);
        instruction.object = own(guard.operand);
        instruction.negated = guard.number == 0;
        break;
      }
      case GuardType::TENSOR_MATCH: {
        const ArrayLibrary* library = arrayLibrary(guard.metadata->library);
        if (!library) throw std::invalid_argument("TENSOR_MATCH without the array's library");
        auto* type = reinterpret_cast<PyTypeObject*>(guard.operand.get());
        program_->tensors.push_back({library, type, *guard.metadata});
        program_->identities.watch(guard.operand.get());
        Instruction& instruction = check(Operation::CheckTensor);
        instruction.tensor = &program_->tensors.back();
        instruction.number = guard.number;
        break;
      }
      case GuardType::GLOBAL_STATE:
        // A library that is imported later cannot have been part of the trace.
        for (ArrayLibraryKind kind : {ArrayLibraryKind::Torch, ArrayLibraryKind::NumPy}) {
          const ArrayLibrary* library = arrayLibrary(kind);
          if (!library) continue;
          program_->globalStates.push_back({library, library->captureGlobalState()});
          check(Operation::CheckGlobalState).globalState = &program_->globalStates.back();
        }
        break;
      case GuardType::DUPLICATE_INPUT:
        break;
    }
  }

  // Guards on two objects, once both are loaded.
  void emitRelations() {
    std::vector<size_t> different;
    for (size_t index : tree_.relations()) {
      const Guard& guard = tree_.guards()[index];
      if (done_[index] || !isLoaded(guard.source) || !isLoaded(guard.other)) continue;
      if (guard.number)
        emitRelation(index);
      else
        different.push_back(index);
    }
    emitDistinct(different);
  }

  void emitRelation(size_t index) {
    const Guard& guard = tree_.guards()[index];
    Instruction& instruction = emit(Operation::CheckSame, guard.source, markDone(index));
    instruction.input = registerOf(tree_.node(guard.source));
    instruction.output = registerOf(tree_.node(guard.other));
    instruction.negated = guard.number == 0;
  }

  // Pairs that must differ. There may be many among few objects, which mostly are all different.
  void emitDistinct(const std::vector<size_t>& pairs) {
    llvm::SetVector<uint32_t> registers;
    for (size_t index : pairs) {
      registers.insert(registerOf(tree_.node(tree_.guards()[index].source)));
      registers.insert(registerOf(tree_.node(tree_.guards()[index].other)));
    }
    bool manyPairs = pairs.size() > registers.size();
    if (manyPairs) {
      ObjectSet seen(registers.size());
      program_->distinct.push_back({registers.takeVector(), std::move(seen)});
      Instruction& enter = emit(Operation::EnterUnlessDistinct, nullptr);
      enter.distinct = &program_->distinct.back();
      enter.target = static_cast<uint32_t>(sections_.instructions.size());
      code_ = &sections_;
    }
    for (size_t index : pairs) emitRelation(index);
    if (manyPairs) {
      emit(Operation::Leave, nullptr).target = static_cast<uint32_t>(main_.instructions.size() - 1);
      code_ = &main_;
    }
  }

  // Descriptors run foreign code, which may do anything to the objects at hand. So they come last,
  // after everything that is still needed has been given references; and what they lead to gets
  // references at once.
  void emitDeferred(const std::vector<const Source*>& captures) {
    if (deferred_.empty()) return;
    auto pinIfLoaded = [&](const Source* source) {
      if (isLoaded(source)) emitPin(tree_.node(source));
    };
    for (const Source* source : captures) pinIfLoaded(source);
    for (size_t index : tree_.relations())
      if (!done_[index]) {
        pinIfLoaded(tree_.guards()[index].source);
        pinIfLoaded(tree_.guards()[index].other);
      }
    for (GuardNode* node : deferred_) emitPin(node->parent);
    pinning_ = true;
    for (GuardNode* node : deferred_) {
      emitLoad(node);
      emitNode(node);
    }
  }

  // Lets the guards be numbered in the order of evaluation.
  void renumberGuards() {
    std::vector<Guard> ordered;
    std::vector<int64_t> numbers(order_.size());
    for (size_t guard : order_) {
      numbers[guard] = static_cast<int64_t>(ordered.size());
      ordered.push_back(std::move(tree_.guards()[guard]));
    }
    tree_.guards() = std::move(ordered);
    for (GuardProgram::Origin& origin : program_->origins)
      if (origin.guard >= 0) origin.guard = numbers[static_cast<size_t>(origin.guard)];
  }

  GuardTree& tree_;
  Code main_, sections_;
  Code* code_ = &main_;
  std::unique_ptr<GuardProgram> program_;
  std::unordered_map<const GuardNode*, uint32_t> registers_;
  std::vector<bool> done_;
  std::vector<size_t> order_;
  std::vector<GuardNode*> deferred_;
  bool pinning_ = false;
};

}  // namespace

std::unique_ptr<GuardProgram> compileGuards(GuardTree& tree,
                                            const std::vector<const Source*>& captures) {
  return Compiler(tree).compile(captures);
}

}  // namespace armature
