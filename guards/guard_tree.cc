#include "guards/guard_tree.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/STLExtras.h>

#include "core/constant.h"
#include "guards/object_access.h"

namespace armature {
namespace {

// In checks that cost about a nanosecond. Measured roughly: only the order depends on it.
uint32_t costOf(const Guard& guard) {
  switch (guard.type) {
    case GuardType::TENSOR_MATCH:
      return 6;
    case GuardType::DICT_CONTAINS:
    case GuardType::DICT_NOT_CONTAINS:
    case GuardType::SET_CONTAINS:
    case GuardType::SET_NOT_CONTAINS:
    case GuardType::HASATTR:
      return 10;
    case GuardType::DICT_KEYS_MATCH:
      return 20;
    case GuardType::GLOBAL_STATE:
      return 60;
    default:
      return 1;
  }
}

uint32_t costOfLoad(const Source& source) {
  switch (source.kind()) {
    case SourceKind::DictItem:
    case SourceKind::DictKey:
      return 2;
    case SourceKind::Descriptor:
      return 100;
    default:
      return 1;
  }
}

size_t hashOperand(BorrowedRef<> operand) { return operand ? hashConstant(operand) : 0; }

GuardNode* childLike(const GuardNode& parent, const Source& source) {
  for (GuardNode* child : parent.children)
    if (child->source->kind() == source.kind() && child->source->index() == source.index() &&
        child->source->object().get() == source.object().get() &&
        child->source->after().get() == source.after().get())
      return child;
  return nullptr;
}

void require(bool condition, const Guard& guard, const char* what) {
  if (!condition) throw std::invalid_argument(std::string(guardTypeName(guard.type)) + " " + what);
}

void validate(const Guard& guard) {
  bool sourceless = guard.type == GuardType::GLOBAL_STATE ||
                    guard.type == GuardType::ABC_CACHE_TOKEN || guard.distinct;
  require(guard.source || sourceless, guard, "needs a source");
  require(!guard.distinct || guard.type == GuardType::DUPLICATE_INPUT, guard,
          "tells no objects apart");
  switch (guard.type) {
    case GuardType::TYPE_MATCH:
      require(guard.operand && PyType_Check(guard.operand.get()), guard, "needs a type");
      break;
    case GuardType::EQUALS_MATCH:
    case GuardType::CONSTANT_MATCH:
    case GuardType::ID_MATCH:
    case GuardType::FUNCTION_MATCH:
    case GuardType::CLASS_MATCH:
    case GuardType::MODULE_MATCH:
    case GuardType::BUILTIN_MATCH:
    case GuardType::CLOSURE_MATCH:
    case GuardType::DICT_CONTAINS:
    case GuardType::DICT_NOT_CONTAINS:
    case GuardType::SET_CONTAINS:
    case GuardType::SET_NOT_CONTAINS:
    case GuardType::SUBCLASS_MATCH:
      require(static_cast<bool>(guard.operand), guard, "needs an operand");
      break;
    case GuardType::DICT_KEYS_MATCH:
      require(guard.operand && PyList_Check(guard.operand.get()), guard, "needs a list of keys");
      break;
    case GuardType::HASATTR:
      require(guard.operand && PyUnicode_CheckExact(guard.operand.get()), guard, "needs a name");
      break;
    case GuardType::TENSOR_MATCH:
      require(static_cast<bool>(guard.metadata), guard, "needs the example's metadata");
      break;
    case GuardType::DUPLICATE_INPUT:
      require(guard.distinct || guard.other, guard, "needs another source");
      break;
    default:
      break;
  }
}

// The source whose object must be loaded to find the one that is to be different.
const Source* loadedFor(const Source* source) {
  return source->kind() == SourceKind::InstanceDict ? source->base() : source;
}

}  // namespace

GuardTree::GuardTree(std::vector<Guard> requests, const std::vector<const Source*>& captures) {
  for (const Guard& guard : requests) {
    validate(guard);
    if (guard.type == GuardType::TYPE_MATCH)
      exactTypes_.try_emplace(guard.source, reinterpret_cast<PyTypeObject*>(guard.operand.get()));
  }
  for (Guard& guard : requests) add(std::move(guard));
  for (const Source* source : captures) nodeFor(source)->captured = true;
  for (GuardNode* root : roots_) sortByCost(root);
}

void GuardTree::add(Guard guard) {
  size_t index = guards_.size();
  if (!guard.source && !guard.distinct) {
    auto isSame = [&](size_t known) { return guards_[known].type == guard.type; };
    if (llvm::any_of(unrooted_, isSame)) return;
    unrooted_.push_back(index);
  } else if (guard.distinct) {
    addNodesOf(*guard.distinct);
    relations_.push_back(index);
  } else {
    GuardNode* node = nodeFor(guard.source);
    if (repeats(node, guard)) return;
    if (guard.type == GuardType::DUPLICATE_INPUT) {
      nodeFor(guard.other);
      relations_.push_back(index);
    }
    node->guards.push_back(index);
  }
  guards_.push_back(std::move(guard));
}

void GuardTree::addNodesOf(const DistinctObjects& distinct) {
  for (const auto* sources : {&distinct.written, &distinct.read})
    for (const Source* source : *sources) nodeFor(loadedFor(source));
}

std::vector<GuardTree::Related> GuardTree::relatedBy(const Guard& guard) const {
  if (!guard.distinct) return {{node(guard.source), false}, {node(guard.other), false}};
  std::vector<Related> related;
  for (const auto* sources : {&guard.distinct->written, &guard.distinct->read})
    for (const Source* source : *sources)
      related.push_back({node(loadedFor(source)), source->kind() == SourceKind::InstanceDict});
  return related;
}

bool GuardTree::repeats(const GuardNode* node, const Guard& guard) {
  size_t hash = llvm::hash_combine(node, guard.type, guard.other, guard.after.get(),
                                   hashOperand(guard.operand));
  auto [begin, end] = guardsByHash_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate) {
    Guard& known = guards_[candidate->second];
    if (nodeFor(known.source) != node || known.type != guard.type || known.other != guard.other ||
        known.after.get() != guard.after.get())
      continue;
    bool sameOperand = known.operand && guard.operand ? sameConstant(known.operand, guard.operand)
                                                      : known.operand.get() == guard.operand.get();
    if (!sameOperand) continue;
    if (guard.type == GuardType::TENSOR_MATCH) {
      if (!(*known.metadata == *guard.metadata)) continue;
      known.number |= guard.number;
      return true;
    }
    if (known.number == guard.number) return true;
  }
  guardsByHash_.emplace(hash, guards_.size());
  return false;
}

GuardNode* GuardTree::newNode(const Source* source, GuardNode* parent) {
  storage_.push_back({.source = source, .parent = parent});
  GuardNode* node = &storage_.back();
  node->shared = parent && parent->shared;
  (parent ? parent->children : roots_).push_back(node);
  return node;
}

PyTypeObject* GuardTree::constantTypeOf(const Source* source) const {
  if (source->kind() == SourceKind::Constant && PyType_Check(source->object().get()))
    return reinterpret_cast<PyTypeObject*>(source->object().get());
  if (source->kind() != SourceKind::Type) return nullptr;
  auto exact = exactTypes_.find(source->base());
  return exact == exactTypes_.end() ? nullptr : exact->second;
}

GuardNode* GuardTree::nodeFor(const Source* source) {
  auto known = nodes_.find(source);
  if (known != nodes_.end()) return known->second;

  const Source* base = source->base();
  GuardNode* node = nullptr;
  if (PyTypeObject* type = constantTypeOf(source)) {
    GuardNode*& constant = constantTypes_[type];
    if (!constant) {
      constant = newNode(source, nullptr);
      constant->constantType = type;
      constant->shared = true;
    }
    node = constant;
  } else {
    GuardNode* parent = base ? nodeFor(base) : nullptr;
    if (parent && parent->shared) node = childLike(*parent, *source);
    if (!node) node = newNode(source, parent);
  }
  auto type = exactTypes_.find(source);
  if (type != exactTypes_.end() && !node->exactType) node->exactType = type->second;
  nodes_.emplace(source, node);
  return node;
}

void GuardTree::sortByCost(GuardNode* node) {
  uint32_t cost = costOfLoad(*node->source);
  for (size_t index : node->guards) cost += costOf(guards_[index]);
  for (GuardNode* child : node->children) {
    sortByCost(child);
    cost += child->cost;
  }
  node->cost = cost;
  std::stable_sort(node->guards.begin(), node->guards.end(),
                   [this](size_t a, size_t b) { return costOf(guards_[a]) < costOf(guards_[b]); });
  // Only orders of magnitude count, so that siblings of like cost keep the order of the program,
  // which is likely that of their addresses.
  std::stable_sort(node->children.begin(), node->children.end(),
                   [](const GuardNode* a, const GuardNode* b) {
                     return std::bit_width(a->cost) < std::bit_width(b->cost);
                   });
}

std::vector<GuardTree::Step> GuardTree::steps() const {
  struct Ranked {
    uint32_t rank;
    Step step;
  };
  std::vector<Ranked> ranked;
  for (GuardNode* root : roots_) {
    // Arguments differ from call to call; functions and modules are rarely replaced.
    uint32_t unlikely = root->constantType || root->source->isGlobal() ? 3 : 0;
    ranked.push_back({static_cast<uint32_t>(std::bit_width(root->cost)) + unlikely, {root, 0}});
  }
  for (size_t index : unrooted_)
    ranked.push_back(
        {static_cast<uint32_t>(std::bit_width(costOf(guards_[index]))), {nullptr, index}});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  std::vector<Step> steps;
  for (const Ranked& each : ranked) steps.push_back(each.step);
  return steps;
}

}  // namespace armature
