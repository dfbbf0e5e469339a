#include "guards/guard_tree.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include "core/constant.h"
#include "cpython/generator_frames.h"
#include "cpython/member_descriptors.h"
#include "guards/object_access.h"
#include "guards/silent_end.h"

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
    case GuardType::SET_HOLDS:
    case GuardType::HASATTR:
      return 10;
    case GuardType::DICT_KEYS_MATCH:
    case GuardType::SET_ITEMS_MATCH:
    case GuardType::SET_TABLE_MATCH:
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
    case SourceKind::Computed:
      return 50;
    case SourceKind::Descriptor:
      return 100;
    default:
      return 1;
  }
}

size_t hashOf(const GuardNode* node, const Guard& guard) {
  size_t hash = guard.operand ? hashConstant(guard.operand) : 0;
  for (const void* object :
       {static_cast<const void*>(node), static_cast<const void*>(guard.other()),
        static_cast<const void*>(guard.after.get())})
    hash = (hash ^ reinterpret_cast<uintptr_t>(object)) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ static_cast<size_t>(guard.type)) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

bool isSameDemand(const Guard& a, const Guard& b) {
  if (a.type != b.type || a.other() != b.other() || a.after.get() != b.after.get()) return false;
  if (a.type == GuardType::TENSOR_MATCH) {
    if (!(*a.metadata() == *b.metadata())) return false;
  } else if (a.type == GuardType::SYM_COMPARISON) {
    if (!(*a.comparison() == *b.comparison())) return false;
  } else if (a.number != b.number) {
    return false;
  }
  return a.operand && b.operand ? sameConstant(a.operand, b.operand)
                                : a.operand.get() == b.operand.get();
}

// Stable. Most lists are short.
template <class T, class Rank>
void sortByRank(llvm::MutableArrayRef<T> list, Rank rank) {
  auto before = [&](const T& a, const T& b) { return rank(a) < rank(b); };
  if (list.size() > 32) {
    std::stable_sort(list.begin(), list.end(), before);
    return;
  }
  for (T* each = list.begin(); each != list.end(); ++each)
    std::rotate(std::upper_bound(list.begin(), each, *each, before), each, each + 1);
}

template <class T>
void append(llvm::MutableArrayRef<T>& list, T value) {
  list = {list.data(), list.size() + 1};
  list.back() = value;
}

void require(bool condition, const Guard& guard, const char* what) {
  if (!condition) throw std::invalid_argument(std::string(guardTypeName(guard.type)) + " " + what);
}

void validate(const Guard& guard) {
  bool sourceless = guard.type == GuardType::GLOBAL_STATE ||
                    guard.type == GuardType::ABC_CACHE_TOKEN || guard.distinct();
  require(guard.source || sourceless, guard, "needs a source");
  require(!guard.distinct() || guard.type == GuardType::DUPLICATE_INPUT, guard,
          "tells no objects apart");
  switch (guard.type) {
    case GuardType::TYPE_MATCH:
      require(guard.operand && PyType_Check(guard.operand.get()), guard, "needs a type");
      break;
    case GuardType::BUILTIN_PART_MATCH:
      require(guard.operand && isConstant(guard.operand), guard, "needs a constant");
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
    case GuardType::SET_HOLDS:
    case GuardType::SUBCLASS_MATCH:
      require(static_cast<bool>(guard.operand), guard, "needs an operand");
      break;
    case GuardType::GENERATOR_MATCH:
      require(cpython::isDescriptionOfGenerator(guard.operand), guard, "needs a description");
      break;
    case GuardType::SLOT_IS_SET:
      require(guard.operand && cpython::isObjectMember(guard.operand), guard, "needs a slot");
      break;
    case GuardType::DICT_KEYS_MATCH:
    case GuardType::SET_ITEMS_MATCH:
      require(guard.operand && PyList_Check(guard.operand.get()), guard, "needs a list of keys");
      break;
    case GuardType::SET_TABLE_MATCH:
      require(guard.operand && PyFrozenSet_CheckExact(guard.operand.get()), guard,
              "needs a frozenset");
      break;
    case GuardType::HASATTR:
      require(guard.operand && PyUnicode_CheckExact(guard.operand.get()), guard, "needs a name");
      break;
    case GuardType::TENSOR_MATCH:
      require(guard.metadata() != nullptr, guard, "needs the example's metadata");
      break;
    case GuardType::SYM_COMPARISON:
      require(guard.comparison() != nullptr, guard, "compares nothing");
      break;
    case GuardType::VALUE_COMPARISON:
      require(guard.operand || guard.other(), guard, "compares nothing");
      require(guard.number >= 0 && guard.number <= 2 * Py_GE + 1, guard, "needs a comparison");
      break;
    case GuardType::ENDS_SILENTLY:
      require(isAboutEnds(guard.number, guard.operand), guard, "does not say what is let go of");
      break;
    case GuardType::DUPLICATE_INPUT:
      require(guard.distinct() || guard.other(), guard, "needs another source");
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

class GuardTree::Demands {
 public:
  explicit Demands(size_t capacity) : cells_(std::bit_ceil(2 * capacity + 1)) {}

  // The guard of that hash of which isSame(index) holds; or puts the index there and returns -1.
  template <class Same>
  int64_t findOrInsert(size_t hash, uint32_t index, Same isSame) {
    for (size_t i = hash & (cells_.size() - 1);; i = (i + 1) & (cells_.size() - 1)) {
      Cell& cell = cells_[i];
      if (!cell.isTaken) {
        cell = {static_cast<uint32_t>(hash), index, true};
        return -1;
      }
      if (cell.hash == static_cast<uint32_t>(hash) && isSame(cell.index)) return cell.index;
    }
  }

 private:
  struct Cell {
    uint32_t hash = 0;
    uint32_t index = 0;
    bool isTaken = false;
  };
  std::vector<Cell> cells_;
};

GuardTree::GuardTree(std::vector<Guard> requests, const std::vector<const Source*>& captures)
    : guards_(std::move(requests)) {
  uint32_t last = 0;
  for (const Guard& guard : guards_)
    if (guard.source) last = std::max(last, guard.source->number());
  known_.resize(last + size_t{1});
  for (const Guard& guard : guards_) {
    validate(guard);
    if (guard.type == GuardType::TYPE_MATCH)
      if (PyTypeObject*& type = known(guard.source).exactType; !type)
        type = reinterpret_cast<PyTypeObject*>(guard.operand.get());
  }
  Demands demands(guards_.size());
  nodeOfGuard_.reserve(guards_.size());
  for (Guard& guard : guards_) add(guard, demands);
  guards_.resize(guardCount_);
  for (const Source* source : captures) nodeFor(source)->wanted = true;
  gather();
  sortByCost();
}

void GuardTree::add(Guard& guard, Demands& demands) {
  auto index = static_cast<uint32_t>(guardCount_);
  GuardNode* node = nullptr;
  if (!guard.source && !guard.distinct()) {
    auto isSame = [&](size_t other) { return guards_[other].type == guard.type; };
    if (llvm::any_of(unrooted_, isSame)) return;
    unrooted_.push_back(index);
  } else if (guard.distinct()) {
    addNodesOf(*guard.distinct());
    relations_.push_back(index);
  } else {
    node = nodeFor(guard.source);
    int64_t first = demands.findOrInsert(hashOf(node, guard), index, [&](uint32_t other) {
      return nodeOfGuard_[other] == node && isSameDemand(guards_[other], guard);
    });
    if (first >= 0) {
      if (guard.type == GuardType::TENSOR_MATCH)
        guards_[static_cast<size_t>(first)].number |= guard.number;
      return;
    }
    if (guard.other()) {
      node->wanted = nodeFor(guard.other())->wanted = true;
      relations_.push_back(index);
    }
    ++node->guardCount;
  }
  if (&guards_[index] != &guard) guards_[index] = std::move(guard);
  ++guardCount_;
  nodeOfGuard_.push_back(node);
}

void GuardTree::addNodesOf(const DistinctObjects& distinct) {
  for (const auto* sources : {&distinct.written, &distinct.read})
    for (const Source* source : *sources) nodeFor(loadedFor(source));
}

std::vector<GuardTree::Related> GuardTree::relatedBy(const Guard& guard) const {
  if (!guard.distinct()) return {{node(guard.source), false}, {node(guard.other()), false}};
  std::vector<Related> related;
  for (const auto* sources : {&guard.distinct()->written, &guard.distinct()->read})
    for (const Source* source : *sources)
      related.push_back({node(loadedFor(source)), source->kind() == SourceKind::InstanceDict});
  return related;
}

GuardTree::KnownSource& GuardTree::known(const Source* source) {
  size_t number = source->number();
  if (number >= known_.size()) known_.resize(std::max(number + 1, 2 * known_.size()));
  return known_[number];
}

PyTypeObject* GuardTree::constantTypeOf(const Source* source) {
  if (source->kind() == SourceKind::Constant && PyType_Check(source->object().get()))
    return reinterpret_cast<PyTypeObject*>(source->object().get());
  return source->kind() == SourceKind::Type ? known(source->base()).exactType : nullptr;
}

// Paths may be longer than the stack of C++ is deep.
GuardNode* GuardTree::nodeFor(const Source* source) {
  if (GuardNode* node = known(source).node) return node;
  llvm::SmallVector<const Source*, 8> unknown;
  for (const Source* at = source; at && !known(at).node; at = at->base()) {
    unknown.push_back(at);
    if (constantTypeOf(at)) break;
  }
  GuardNode* node = nullptr;
  for (const Source* each : llvm::reverse(unknown)) node = newNodeFor(each);
  return node;
}

// The node of the source's base is known, unless it is not needed.
GuardNode* GuardTree::newNodeFor(const Source* source) {
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
    GuardNode* parent = source->base() ? known(source->base()).node : nullptr;
    if (parent && parent->shared) {
      Path path{parent, source->kind(), source->index(), source->object().get(),
                source->after().get()};
      GuardNode*& shared = sharedNodes_[path];
      if (!shared) shared = newNode(source, parent);
      node = shared;
    } else {
      node = newNode(source, parent);
    }
  }
  KnownSource& entry = known(source);
  if (!node->exactType) node->exactType = entry.exactType;
  entry.node = node;
  return node;
}

GuardNode* GuardTree::newNode(const Source* source, GuardNode* parent) {
  auto* node = new (allocator_.Allocate<GuardNode>()) GuardNode{.source = source, .parent = parent};
  storage_.push_back(node);
  node->shared = parent && parent->shared;
  if (parent)
    ++parent->childCount;
  else
    roots_.push_back(node);
  return node;
}

// Lays the children and the guards of each node side by side, in the order of the requests.
void GuardTree::gather() {
  children_.resize(storage_.size());
  guardsOfNodes_.resize(guards_.size());
  GuardNode** children = children_.data();
  uint32_t* guards = guardsOfNodes_.data();
  for (GuardNode* node : storage_) {
    node->children = {children, size_t{0}};
    node->guards = {guards, size_t{0}};
    children += node->childCount;
    guards += node->guardCount;
    if (node->parent) append(node->parent->children, node);
  }
  for (uint32_t index = 0; index < guards_.size(); ++index)
    if (GuardNode* node = nodeOfGuard_[index]) append(node->guards, index);
}

void GuardTree::sortByCost() {
  for (GuardNode* node : llvm::reverse(storage_)) {
    node->cost = costOfLoad(*node->source);
    for (uint32_t index : node->guards) node->cost += costOf(guards_[index]);
    for (const GuardNode* child : node->children) node->cost += child->cost;
    sortByRank(node->guards, [this](uint32_t guard) { return costOf(guards_[guard]); });
    // Only orders of magnitude count, so that siblings of like cost keep the order of the program,
    // which is likely that of their addresses.
    sortByRank(node->children, [](const GuardNode* child) { return std::bit_width(child->cost); });
  }
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
