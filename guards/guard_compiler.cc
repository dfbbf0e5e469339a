#include "guards/guard_compiler.h"

#include <set>
#include <stdexcept>
#include <utility>

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>

#include "core/constant.h"
#include "cpython/instance_attributes.h"
#include "guards/instruction_writer.h"
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

// Guards on what a class has, its metaclass aside: answered by the type's version.
bool isAboutTypeContent(const Guard& guard, const GuardNode& node) {
  if (guard.type == GuardType::SUBCLASS_MATCH || guard.type == GuardType::ABSTRACT_CLASS)
    return true;
  bool isClass = node.constantType || node.source->kind() == SourceKind::Type;
  return guard.type == GuardType::HASATTR && isClass;
}

// Guards whose outcome for one object never changes.
bool isAboutIdentity(const Guard& guard, const GuardNode& node) {
  switch (guard.type) {
    case GuardType::ID_MATCH:
    case GuardType::FUNCTION_MATCH:
    case GuardType::CLASS_MATCH:
    case GuardType::MODULE_MATCH:
    case GuardType::BUILTIN_MATCH:
    case GuardType::SMALL_INT_MATCH:
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
    case SourceKind::FunctionGlobals:
    case SourceKind::FunctionBuiltins:
    case SourceKind::MethodFunction:
    case SourceKind::MethodSelf:
      return true;
    default:
      return false;
  }
}

bool isFoundInType(const Source& source) {
  return source.kind() == SourceKind::TypeAttribute || source.kind() == SourceKind::SuperAttribute;
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

class Compiler {
 public:
  explicit Compiler(GuardTree& tree) : tree_(tree), done_(tree.guards().size()) {}

  std::unique_ptr<GuardProgram> compile(const std::vector<const Source*>& captures) {
    for (const GuardTree::Step& step : tree_.steps()) {
      if (!step.root) {
        emitCheck(step.guard, nullptr);
        continue;
      }
      writer_.load(step.root);
      emitNode(step.root);
    }
    emitRelations();
    emitDeferred(captures);
    emitRelations();
    for (const Source* source : captures)
      program().captures.push_back(writer_.registerOf(tree_.node(source)));
    std::unique_ptr<GuardProgram> program = writer_.finish();
    renumberGuards(*program);
    return program;
  }

 private:
  // --- Nodes

  // Everything that there is to check at a loaded node and below it.
  void emitNode(GuardNode* node) {
    GuardNode* attributes = instanceAttributesOf(*node);
    if (attributes && !writer_.isLoaded(attributes)) emitInstanceSection(node, attributes);
    for (size_t guard : node->guards)
      if (!isAboutDictContent(tree_.guards()[guard], *node) &&
          !isAboutTypeContent(tree_.guards()[guard], *node))
        emitCheck(guard, node);
    emitDictSection(node);
    emitTypeSection(node);
    for (GuardNode* child : node->children) {
      if (child == attributes) {
        for (GuardNode* attribute : child->children) emitNode(attribute);
      } else if (child->source->kind() == SourceKind::Descriptor && !writer_.pinning) {
        deferred_.push_back(child);
      } else {
        if (!writer_.isLoaded(child)) writer_.load(child);
        emitNode(child);
      }
    }
  }

  void emitInstanceSection(GuardNode* node, GuardNode* attributes) {
    // The dict's node stands for the object itself: its children are looked up through it.
    writer_.share(attributes, node);
    Instruction enter{.operation = Operation::EnterInstance};
    int64_t checkedGuard = -1;
    for (size_t guard : node->guards) {
      if (tree_.guards()[guard].type != GuardType::TYPE_MATCH || done_[guard]) continue;
      enter.object = tree_.guards()[guard].operand.get();
      enter.number = cpython::instanceDictOffset(reinterpret_cast<PyTypeObject*>(enter.object));
      program().identities.watch(enter.object);
      checkedGuard = markDone(guard);
      break;
    }
    emitSection(enter, checkedGuard, node, attributes->children, [&] {
      for (GuardNode* attribute : attributes->children)
        writer_.loadWithKey(attribute, Operation::LoadInstanceItem);
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
      for (GuardNode* entry : entries) writer_.load(entry);
      for (size_t guard : contents) emitCheck(guard, node);
    });
  }

  void emitTypeSection(GuardNode* node) {
    std::vector<GuardNode*> entries;
    for (GuardNode* child : node->children)
      if (isFoundInType(*child->source)) entries.push_back(child);
    std::vector<size_t> contents;
    for (size_t guard : node->guards)
      if (isAboutTypeContent(tree_.guards()[guard], *node)) contents.push_back(guard);
    if (entries.empty() && contents.empty()) return;
    emitSection({.operation = Operation::EnterType}, -1, node, entries, [&] {
      for (GuardNode* entry : entries) writer_.load(entry);
      for (size_t guard : contents) emitCheck(guard, node);
    });
  }

  // A section of the node: `load` emits what loads the entries, what is known of their identities
  // follows.
  template <class Load>
  void emitSection(Instruction enter, int64_t guard, const GuardNode* node,
                   const std::vector<GuardNode*>& entries, Load load) {
    writer_.enter(enter, node, guard);
    load();
    for (GuardNode* entry : entries) emitStable(entry);
    writer_.leave();
    pinAll(entries);
  }

  // Within a section: what follows from the identity of the node's object alone.
  void emitStable(GuardNode* node) {
    for (size_t guard : node->guards)
      if (isAboutIdentity(tree_.guards()[guard], *node)) emitCheck(guard, node);
    for (GuardNode* child : node->children) {
      if (!leadsToTheSame(*child->source)) continue;
      writer_.load(child);
      emitStable(child);
    }
  }

  // What a section has loaded, which it must not do itself: it may be skipped.
  void pinAll(const std::vector<GuardNode*>& nodes) {
    if (!writer_.pinning) return;
    for (GuardNode* node : nodes) {
      writer_.pin(node);
      std::vector<GuardNode*> loaded;
      for (GuardNode* child : node->children)
        if (writer_.isLoaded(child)) loaded.push_back(child);
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
      Instruction& instruction = writer_.emit(operation, guard.source, static_cast<int64_t>(index));
      instruction.input = node ? writer_.registerOf(node) : 0;
      return instruction;
    };
    auto checkIdentity = [&](Operation operation, PyObject* object) {
      check(operation).object = object;
      program().identities.watch(object);
    };
    auto checkContains = [&](Operation operation, bool negated) {
      Instruction& instruction = check(operation);
      instruction.object = writer_.own(guard.operand);
      instruction.number = InstructionWriter::hashOf(guard.operand);
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
        checkIdentity(Operation::CheckIdentity, guard.operand.get());
        break;
      case GuardType::EQUALS_MATCH:
      case GuardType::CONSTANT_MATCH:
        // Other objects have no equality that could be asked without running code.
        if (isConstant(guard.operand))
          check(Operation::CheckConstant).object = writer_.own(guard.operand);
        else
          checkIdentity(Operation::CheckIdentity, guard.operand.get());
        break;
      case GuardType::BUILTIN_MATCH:
        checkIdentity(
            isBindingDescriptor(guard.operand) ? Operation::CheckBoundBy : Operation::CheckIdentity,
            guard.operand.get());
        break;
      case GuardType::SMALL_INT_MATCH:
        check(Operation::CheckSmallInteger);
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
        check(Operation::CheckDictKeys).object = writer_.own(guard.operand);
        break;
      case GuardType::HASATTR: {
        bool inClass = isAboutTypeContent(guard, *node);
        Operation operation = !inClass      ? Operation::CheckAttribute
                              : guard.after ? Operation::CheckSuperAttribute
                                            : Operation::CheckTypeAttribute;
        Instruction& instruction = check(operation);
        if (guard.after) {
          instruction.number = reinterpret_cast<int64_t>(guard.after.get());
          program().identities.watch(guard.after.get());
        }
        instruction.object = writer_.own(guard.operand);
        instruction.negated = guard.number == 0;
        break;
      }
      case GuardType::SUBCLASS_MATCH: {
        Instruction& instruction = check(Operation::CheckSubclass);
        instruction.object = guard.operand.get();
        instruction.negated = guard.number == 0;
        program().identities.watch(guard.operand.get());
        break;
      }
      case GuardType::ABSTRACT_CLASS:
        check(Operation::CheckAbstract).negated = guard.number == 0;
        break;
      case GuardType::ABC_CACHE_TOKEN:
        check(Operation::CheckAbcToken).number = guard.number;
        break;
      case GuardType::TENSOR_MATCH: {
        const ArrayLibrary* library = arrayLibrary(guard.metadata->library);
        if (!library) throw std::invalid_argument("TENSOR_MATCH without the array's library");
        auto* type = reinterpret_cast<PyTypeObject*>(guard.operand.get());
        program().tensors.push_back({library, type, *guard.metadata});
        program().identities.watch(guard.operand.get());
        Instruction& instruction = check(Operation::CheckTensor);
        instruction.tensor = &program().tensors.back();
        instruction.number = guard.number;
        break;
      }
      case GuardType::GLOBAL_STATE:
        // A library that is imported later cannot have been part of the trace.
        for (ArrayLibraryKind kind : {ArrayLibraryKind::Torch, ArrayLibraryKind::NumPy}) {
          const ArrayLibrary* library = arrayLibrary(kind);
          if (!library) continue;
          program().globalStates.push_back({library, library->captureGlobalState()});
          check(Operation::CheckGlobalState).globalState = &program().globalStates.back();
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
      bool ready = llvm::all_of(tree_.relatedBy(guard), [this](const GuardTree::Related& related) {
        return writer_.isLoaded(related.node);
      });
      if (done_[index] || !ready) continue;
      if (guard.distinct)
        emitGroup(index);
      else if (guard.number)
        emitRelation(index);
      else
        different.push_back(index);
    }
    emitPairs(different);
  }

  void emitRelation(size_t index) {
    const Guard& guard = tree_.guards()[index];
    Instruction& instruction = writer_.emit(Operation::CheckSame, guard.source, markDone(index));
    instruction.input = registerOf(guard.source);
    instruction.output = registerOf(guard.other);
    instruction.negated = guard.number == 0;
  }

  // One check for all objects of a group.
  void emitGroup(size_t index) {
    const DistinctObjects& objects = *tree_.guards()[index].distinct;
    std::vector<DistinctRegisters::Member> written, read;
    // One path may be named twice: what is written was mostly read as well.
    std::set<std::pair<uint32_t, bool>> known;
    auto add = [&](const Source* source, const GuardTree::Related& related,
                   std::vector<DistinctRegisters::Member>& members) {
      uint32_t index = writer_.registerOf(related.node);
      if (known.emplace(index, related.instanceDict).second)
        members.push_back({source, index, related.instanceDict});
    };
    std::vector<GuardTree::Related> related = tree_.relatedBy(tree_.guards()[index]);
    size_t next = 0;
    for (const Source* source : objects.written) add(source, related[next++], written);
    for (const Source* source : objects.read) add(source, related[next++], read);
    ObjectSet seen(written.size());
    program().distinct.push_back({std::move(written), std::move(read), std::move(seen)});
    writer_.emit(Operation::CheckDistinct, nullptr, markDone(index)).distinct =
        &program().distinct.back();
  }

  // Pairs that must differ. There may be many among few objects, which mostly are all different.
  void emitPairs(const std::vector<size_t>& pairs) {
    llvm::MapVector<uint32_t, const Source*> registers;
    for (size_t index : pairs)
      for (const Source* source : {tree_.guards()[index].source, tree_.guards()[index].other})
        registers.insert({registerOf(source), source});
    bool manyPairs = pairs.size() > registers.size();
    if (manyPairs) {
      std::vector<DistinctRegisters::Member> members;
      for (auto [index, source] : registers) members.push_back({source, index, false});
      ObjectSet seen(members.size());
      program().distinct.push_back({std::move(members), {}, std::move(seen)});
      Instruction enter{.operation = Operation::EnterUnlessDistinct};
      enter.distinct = &program().distinct.back();
      writer_.enter(enter, nullptr, -1);
    }
    for (size_t index : pairs) emitRelation(index);
    if (manyPairs) writer_.leave();
  }

  // Descriptors run foreign code, which may do anything to the objects at hand. So they come last,
  // after everything that is still needed has been given references; and what they lead to gets
  // references at once.
  void emitDeferred(const std::vector<const Source*>& captures) {
    if (deferred_.empty()) return;
    auto pinIfLoaded = [&](const GuardNode* node) {
      if (writer_.isLoaded(node)) writer_.pin(node);
    };
    for (const Source* source : captures) pinIfLoaded(tree_.node(source));
    for (size_t index : tree_.relations())
      if (!done_[index])
        for (const GuardTree::Related& related : tree_.relatedBy(tree_.guards()[index]))
          pinIfLoaded(related.node);
    for (GuardNode* node : deferred_) writer_.pin(node->parent);
    writer_.pinning = true;
    for (GuardNode* node : deferred_) {
      writer_.load(node);
      emitNode(node);
    }
  }

  // Lets the guards be numbered in the order of evaluation.
  void renumberGuards(GuardProgram& program) {
    std::vector<Guard> ordered;
    std::vector<int64_t> numbers(order_.size());
    for (size_t guard : order_) {
      numbers[guard] = static_cast<int64_t>(ordered.size());
      ordered.push_back(std::move(tree_.guards()[guard]));
    }
    tree_.guards() = std::move(ordered);
    for (GuardProgram::Origin& origin : program.origins)
      if (origin.guard >= 0) origin.guard = numbers[static_cast<size_t>(origin.guard)];
  }

  GuardProgram& program() { return writer_.program(); }
  uint32_t registerOf(const Source* source) const { return writer_.registerOf(tree_.node(source)); }

  GuardTree& tree_;
  InstructionWriter writer_;
  std::vector<bool> done_;
  std::vector<size_t> order_;
  std::vector<GuardNode*> deferred_;
};

}  // namespace

std::unique_ptr<GuardProgram> compileGuards(GuardTree& tree,
                                            const std::vector<const Source*>& captures) {
  return Compiler(tree).compile(captures);
}

}  // namespace armature
