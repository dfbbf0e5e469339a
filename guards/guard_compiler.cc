#include "guards/guard_compiler.h"

#include <set>
#include <stdexcept>
#include <utility>

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>

#include "core/constant.h"
#include "cpython/instance_attributes.h"
#include "guards/instruction_writer.h"
#include "guards/object_access.h"
#include "guards/section_guards.h"
#include "guards/silent_end.h"

namespace armature {
namespace {

bool isMembership(const Guard& guard) {
  return guard.type == GuardType::DICT_CONTAINS || guard.type == GuardType::DICT_NOT_CONTAINS;
}

bool demandsEmptiness(const Guard& guard) {
  return guard.type == GuardType::EMPTY_NN_MODULE_HOOKS_DICT ||
         (guard.type == GuardType::SEQUENCE_LENGTH && guard.number == 0);
}

// A load that finds nothing fails, so that no check is needed of what is loaded anyway.
bool isLoaded(const GuardNode& node, SourceKind kind, BorrowedRef<> object) {
  return llvm::any_of(node.children, [&](const GuardNode* child) {
    return child->source->kind() == kind && child->source->object() == object;
  });
}

class Compiler {
 public:
  explicit Compiler(GuardTree& tree)
      : tree_(tree), writer_(tree.nodeCount()), done_(tree.guards().size()) {
    order_.reserve(tree.guards().size());
  }

  std::unique_ptr<GuardProgram> compile(const std::vector<const Source*>& captures) {
    for (const GuardTree::Step& step : tree_.steps()) {
      if (!step.root) {
        emitCheck(step.guard, nullptr);
        continue;
      }
      emitTree(step.root);
    }
    emitRelations();
    emitDeferred(captures);
    emitRelations();
    for (const Source* source : captures)
      program().captures.push_back(tree_.node(source)->loadedIn);
    program().guardOrder = std::move(order_);
    return writer_.finish();
  }

 private:
  // --- Nodes

  // Everything that there is to check at a node and below it. A path may be longer than the stack
  // of C++ is deep.
  void emitTree(GuardNode* root) {
    std::vector<GuardNode*> pending{root};
    while (!pending.empty()) {
      GuardNode* node = pending.back();
      pending.pop_back();
      if (node->source->kind() == SourceKind::Descriptor && !writer_.pinning) {
        deferred_.push_back(node);
        continue;
      }
      if (!node->loadedIn) writer_.load(node);
      GuardNode* attributes = emitNode(node);
      for (GuardNode* child : llvm::reverse(node->children)) {
        if (child == attributes)
          pending.insert(pending.end(), child->children.rbegin(), child->children.rend());
        else
          pending.push_back(child);
      }
    }
  }

  // What there is to check at the node itself. The result is the child for its instance dict, if an
  // instance section did all that there is to do for that.
  GuardNode* emitNode(GuardNode* node) {
    GuardNode* attributes = instanceAttributesOf(*node);
    if (attributes) emitInstanceSection(node, attributes);
    for (size_t guard : node->guards) {
      const Guard& request = tree_.guards()[guard];
      if (done_[guard] || isAboutDictContent(request, *node) || isAboutTypeContent(request, *node))
        continue;
      if (request.type == GuardType::TYPE_MATCH && isCheckedWithTensor(*node, request))
        markDone(guard);
      else
        emitCheck(guard, node);
    }
    emitDictSection(node);
    emitTypeSection(node);
    return attributes;
  }

  // The child through which only named attributes are looked at, so that the dict itself need not
  // exist.
  GuardNode* instanceAttributesOf(const GuardNode& node) const {
    for (GuardNode* child : node.children) {
      if (child->source->kind() != SourceKind::InstanceDict || child->wanted || child->loadedIn)
        continue;
      bool onlyNames =
          llvm::all_of(child->children,
                       [](const GuardNode* attribute) {
                         return attribute->source->kind() == SourceKind::DictItem &&
                                PyUnicode_CheckExact(attribute->source->object().get());
                       }) &&
          llvm::all_of(child->guards, [this](size_t guard) {
            const Guard& request = tree_.guards()[guard];
            return isMembership(request) && PyUnicode_CheckExact(request.operand.get());
          });
      if (onlyNames && !(child->children.empty() && child->guards.empty())) return child;
    }
    return nullptr;
  }

  // A TENSOR_MATCH looks at the type first.
  bool isCheckedWithTensor(const GuardNode& node, const Guard& typeMatch) const {
    return llvm::any_of(node.guards, [&](size_t guard) {
      const Guard& request = tree_.guards()[guard];
      return request.type == GuardType::TENSOR_MATCH &&
             request.operand.get() == typeMatch.operand.get();
    });
  }

  // --- Sections

  void emitInstanceSection(GuardNode* node, GuardNode* attributes) {
    // The dict's node stands for the object itself: its children are looked up through it.
    attributes->loadedIn = node->loadedIn;
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
      emitContents(attributes->guards, attributes->children, attributes);
    });
  }

  // Checks of what a dict holds, after its entries were loaded: what was found need not be looked
  // for again.
  void emitContents(llvm::ArrayRef<uint32_t> contents, llvm::ArrayRef<GuardNode*> entries,
                    GuardNode* node) {
    llvm::SmallPtrSet<PyObject*, 16> found;
    for (const GuardNode* entry : entries)
      if (entry->source->kind() == SourceKind::DictItem)
        found.insert(entry->source->object().get());
    for (size_t guard : contents) {
      const Guard& request = tree_.guards()[guard];
      if (request.type == GuardType::DICT_CONTAINS && found.count(request.operand.get()))
        markDone(guard);
      else
        emitCheck(guard, node);
    }
  }

  void emitDictSection(GuardNode* node) {
    llvm::SmallVector<GuardNode*, 16> entries;
    for (GuardNode* child : node->children)
      if (isDictEntry(*child->source)) entries.push_back(child);
    llvm::SmallVector<uint32_t, 16> contents;
    for (uint32_t guard : node->guards)
      if (isAboutDictContent(tree_.guards()[guard], *node)) contents.push_back(guard);
    auto isAbout = [this](auto demands) {
      return [this, demands](size_t guard) { return demands(tree_.guards()[guard]); };
    };
    // To see that it is empty costs no more than to see that it has not changed.
    if (entries.empty() && llvm::all_of(contents, isAbout(demandsEmptiness))) {
      for (size_t guard : contents) emitCheck(guard, node);
      return;
    }
    auto demandsOrder = [](const Guard& guard) { return guard.type == GuardType::DICT_KEYS_MATCH; };
    bool ordered = llvm::any_of(contents, isAbout(demandsOrder)) ||
                   llvm::any_of(entries, [](const GuardNode* entry) {
                     return entry->source->kind() == SourceKind::DictKey;
                   });
    Instruction enter{.operation = Operation::EnterDict, .ordered = ordered};
    emitSection(enter, -1, node, entries, [&] {
      for (GuardNode* entry : entries) writer_.load(entry);
      emitContents(contents, entries, node);
    });
  }

  void emitTypeSection(GuardNode* node) {
    llvm::SmallVector<GuardNode*, 16> entries;
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
                   llvm::ArrayRef<GuardNode*> entries, Load load) {
    writer_.enter(enter, node, guard);
    load();
    for (GuardNode* entry : entries) emitStable(entry);
    writer_.leave();
    pinAll(entries);
  }

  // Within a section: what follows from the identity of the node's object alone.
  void emitStable(GuardNode* root) {
    llvm::SmallVector<GuardNode*, 8> pending{root};
    while (!pending.empty()) {
      GuardNode* node = pending.pop_back_val();
      if (!node->loadedIn) writer_.load(node);
      for (size_t guard : node->guards) {
        const Guard& request = tree_.guards()[guard];
        if (request.type == GuardType::EMPTY_NN_MODULE_HOOKS_DICT) emitDictCheck(node);
        if (isAboutIdentity(request, *node)) emitCheck(guard, node);
      }
      for (GuardNode* child : llvm::reverse(node->children))
        if (leadsToTheSame(*child->source)) pending.push_back(child);
    }
  }

  // What a section has loaded, which it must not do itself: it may be skipped.
  void pinAll(llvm::ArrayRef<GuardNode*> nodes) {
    if (!writer_.pinning) return;
    std::vector<GuardNode*> pending(nodes.rbegin(), nodes.rend());
    while (!pending.empty()) {
      GuardNode* node = pending.back();
      pending.pop_back();
      writer_.pin(node);
      for (GuardNode* child : llvm::reverse(node->children))
        if (child->loadedIn) pending.push_back(child);
    }
  }

  // --- Checks

  // The guard's number in the order of evaluation.
  int64_t markDone(size_t guard) {
    done_[guard] = true;
    order_.push_back(static_cast<uint32_t>(guard));
    return static_cast<int64_t>(order_.size()) - 1;
  }

  void emitCheck(size_t index, GuardNode* node) {
    const Guard& guard = tree_.guards()[index];
    if (done_[index] || guard.distinct() || guard.other()) return;
    int64_t number = markDone(index);
    auto check = [&](Operation operation) -> Instruction& {
      Instruction& instruction = writer_.emit(operation, guard.source, number);
      instruction.input = node ? node->loadedIn : 0;
      return instruction;
    };
    auto checkIdentity = [&](Operation operation, PyObject* object) {
      const ObjectParts* parts =
          operation == Operation::CheckIdentity ? program().identities.watchParts(object) : nullptr;
      if (parts) {
        check(Operation::CheckParts).parts = parts;
      } else {
        check(operation).object = object;
        program().identities.watch(object);
      }
    };
    auto checkContains = [&](Operation operation, bool negated) {
      Instruction& instruction = check(operation);
      instruction.object = writer_.ownKey(guard.operand);
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
      case GuardType::BUILTIN_PART_MATCH:
        check(Operation::CheckBuiltinPart).object = writer_.own(guard.operand);
        break;
      case GuardType::BUILTIN_MATCH:
        checkIdentity(
            isBindingDescriptor(guard.operand) ? Operation::CheckBoundBy : Operation::CheckIdentity,
            guard.operand.get());
        break;
      case GuardType::SMALL_INT_MATCH:
        check(Operation::CheckSmallInteger);
        break;
      case GuardType::SYM_COMPARISON:
        program().comparisons.push_back(
            std::get<std::shared_ptr<const SymComparison>>(guard.detail));
        check(Operation::CheckComparison).comparison = guard.comparison();
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
        // A function that is made afresh from source has an equal code object.
        if (isConstant(guard.operand))
          check(Operation::CheckFunctionCode).object = writer_.own(guard.operand);
        else
          checkIdentity(Operation::CheckFunctionCode, guard.operand.get());
        break;
      case GuardType::SEQUENCE_LENGTH:
        if (!demandsEmptiness(guard))
          check(Operation::CheckLength).number = guard.number;
        else if (!widen(Operation::CheckEmpty, node))
          check(Operation::CheckEmpty).number = 1;
        break;
      case GuardType::EMPTY_NN_MODULE_HOOKS_DICT:
        emitDictCheck(node);
        if (!widen(Operation::CheckNoEntries, node)) check(Operation::CheckNoEntries).number = 1;
        break;
      case GuardType::DICT_CONTAINS:
      case GuardType::DICT_NOT_CONTAINS: {
        bool isInstance = node->source->kind() == SourceKind::InstanceDict &&
                          node->loadedIn == node->parent->loadedIn;
        checkContains(isInstance ? Operation::CheckInstanceContains : Operation::CheckDictContains,
                      guard.type == GuardType::DICT_NOT_CONTAINS);
        break;
      }
      case GuardType::SET_CONTAINS:
      case GuardType::SET_NOT_CONTAINS:
        checkContains(Operation::CheckSetContains, guard.type == GuardType::SET_NOT_CONTAINS);
        break;
      case GuardType::SET_HOLDS:
        checkContains(Operation::CheckSetHolds, false);
        break;
      case GuardType::SET_TABLE_MATCH:
        check(Operation::CheckSetTable).object = writer_.own(guard.operand);
        break;
      case GuardType::DICT_KEYS_MATCH:
        check(Operation::CheckDictKeys).keys = keyList(guard.operand);
        break;
      case GuardType::SET_ITEMS_MATCH:
        check(Operation::CheckSetItems).keys = keyList(guard.operand);
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
      case GuardType::SLOT_IS_SET: {
        if (guard.number && isLoaded(*node, SourceKind::Slot, guard.operand)) break;
        Instruction& instruction = check(Operation::CheckSlot);
        instruction.object = writer_.ownDescriptor(guard.operand);
        instruction.negated = guard.number == 0;
        break;
      }
      case GuardType::CELL_IS_SET:
        if (guard.number && isLoaded(*node, SourceKind::CellContents, nullptr)) break;
        check(Operation::CheckCell).negated = guard.number == 0;
        break;
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
      case GuardType::BUILTIN_NEW:
        check(Operation::CheckBuiltinNew).negated = guard.number == 0;
        break;
      case GuardType::ABC_CACHE_TOKEN:
        check(Operation::CheckAbcToken).number = guard.number;
        break;
      case GuardType::ENDS_SILENTLY: {
        Instruction& instruction = check(Operation::CheckSilentEnd);
        if (guard.operand) instruction.object = writer_.own(guard.operand);
        instruction.number = guard.number;
        break;
      }
      case GuardType::ITERATOR_ITEM:
        check(Operation::CheckIteratorItem).number = guard.number;
        break;
      case GuardType::ITERATOR_END:
        check(Operation::CheckIteratorEnd).number = guard.number;
        break;
      case GuardType::ITERATOR_STATE:
        check(Operation::CheckIteratorState).number = guard.number;
        break;
      case GuardType::GENERATOR_MATCH:
        check(Operation::CheckGenerator).object = writer_.own(guard.operand);
        break;
      case GuardType::TENSOR_MATCH: {
        const ArrayLibrary* library = arrayLibrary(guard.metadata()->library);
        if (!library) throw std::invalid_argument("TENSOR_MATCH without the array's library");
        auto* type = reinterpret_cast<PyTypeObject*>(guard.operand.get());
        program().tensors.push_back({library, type, *guard.metadata()});
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
          program().globalStates.push_back({library, library->captureGlobalState(guard.number)});
          check(Operation::CheckGlobalState).globalState = &program().globalStates.back();
        }
        break;
      case GuardType::VALUE_COMPARISON: {
        Instruction& instruction = check(Operation::CheckValues);
        instruction.object = writer_.own(guard.operand);
        instruction.number = guard.number;
        break;
      }
      case GuardType::DUPLICATE_INPUT:
        break;
    }
  }

  const std::vector<PyObject*>* keyList(BorrowedRef<> list) {
    std::vector<PyObject*> keys;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
      PyObject* key = PyList_GET_ITEM(list.get(), i);
      // What only the program's own code hashes may be nested to any depth.
      keys.push_back(hashWithoutCode(key) ? writer_.ownKey(key) : writer_.own(key));
    }
    program().keyLists.push_back(std::move(keys));
    return &program().keyLists.back();
  }

  // An object that is a dict stays one, whatever is assigned to its __class__.
  void emitDictCheck(GuardNode* node) {
    if (node->isKnownAsDict) return;
    writer_.emit(Operation::CheckDict, node->source).input = node->loadedIn;
    node->isKnownAsDict = true;
  }

  // Objects in registers side by side are found empty by one instruction, whose guards are numbered
  // in the same order.
  bool widen(Operation emptiness, const GuardNode* node) {
    Instruction* last = writer_.last();
    if (!last || last->operation != emptiness || order_.size() < 2 ||
        last->input + last->number != node->loadedIn)
      return false;
    const Guard& previous = tree_.guards()[order_[order_.size() - 2]];
    if (!demandsEmptiness(previous) || tree_.node(previous.source)->loadedIn + 1 != node->loadedIn)
      return false;
    ++last->number;
    return true;
  }

  // Guards on objects, once all of them are loaded.
  void emitRelations() {
    std::vector<size_t> different;
    for (size_t index : tree_.relations()) {
      const Guard& guard = tree_.guards()[index];
      bool ready = llvm::all_of(tree_.relatedBy(guard), [this](const GuardTree::Related& related) {
        return related.node->loadedIn != 0;
      });
      if (done_[index] || !ready) continue;
      if (guard.distinct())
        emitGroup(index);
      else if (guard.number || guard.type == GuardType::VALUE_COMPARISON)
        emitRelation(index);
      else
        different.push_back(index);
    }
    emitPairs(different);
  }

  void emitRelation(size_t index) {
    const Guard& guard = tree_.guards()[index];
    bool comparesValues = guard.type == GuardType::VALUE_COMPARISON;
    Instruction& instruction =
        writer_.emit(comparesValues ? Operation::CheckValues : Operation::CheckSame, guard.source,
                     markDone(index));
    instruction.input = registerOf(guard.source);
    instruction.output = registerOf(guard.other());
    if (comparesValues) {
      instruction.number = guard.number;
    } else {
      instruction.negated = guard.number == 0;
    }
  }

  // One check for all objects of a group.
  void emitGroup(size_t index) {
    const DistinctObjects& objects = *tree_.guards()[index].distinct();
    std::vector<DistinctRegisters::Member> written, read;
    // One path may be named twice: what is written was mostly read as well.
    std::set<std::pair<uint32_t, bool>> known;
    auto add = [&](const Source* source, const GuardTree::Related& related,
                   std::vector<DistinctRegisters::Member>& members) {
      uint32_t index = related.node->loadedIn;
      if (known.emplace(index, related.instanceDict).second)
        members.push_back({source, index, related.instanceDict});
    };
    std::vector<GuardTree::Related> related = tree_.relatedBy(tree_.guards()[index]);
    size_t next = 0;
    for (const Source* source : objects.written) add(source, related[next++], written);
    for (const Source* source : objects.read) add(source, related[next++], read);
    ObjectSet seen(written.size());
    program().distinct.push_back(
        {std::move(written), std::move(read), std::move(seen), objects.inMemory});
    writer_.emit(Operation::CheckDistinct, nullptr, markDone(index)).distinct =
        &program().distinct.back();
  }

  // Pairs that must differ. There may be many among few objects, which mostly are all different.
  void emitPairs(const std::vector<size_t>& pairs) {
    llvm::MapVector<uint32_t, const Source*> registers;
    for (size_t index : pairs)
      for (const Source* source : {tree_.guards()[index].source, tree_.guards()[index].other()})
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
      if (node->loadedIn) writer_.pin(node);
    };
    for (const Source* source : captures) pinIfLoaded(tree_.node(source));
    for (size_t index : tree_.relations())
      if (!done_[index])
        for (const GuardTree::Related& related : tree_.relatedBy(tree_.guards()[index]))
          pinIfLoaded(related.node);
    for (GuardNode* node : deferred_) writer_.pin(node->parent);
    writer_.pinning = true;
    for (GuardNode* node : deferred_) {
      emitTree(node);
    }
  }

  GuardProgram& program() { return writer_.program(); }
  uint32_t registerOf(const Source* source) const { return tree_.node(source)->loadedIn; }

  GuardTree& tree_;
  InstructionWriter writer_;
  std::vector<bool> done_;
  std::vector<uint32_t> order_;
  std::vector<GuardNode*> deferred_;
};

}  // namespace

std::unique_ptr<GuardProgram> compileGuards(GuardTree& tree,
                                            const std::vector<const Source*>& captures) {
  return Compiler(tree).compile(captures);
}

}  // namespace armature
