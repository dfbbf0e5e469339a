// The guards of one entry by where they look: a tree of sources in which common prefixes are one
// node, walked once.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "guards/guard.h"

namespace armature {

struct GuardNode {
  const Source* source;
  GuardNode* parent = nullptr;  // null for roots
  std::vector<GuardNode*> children;
  std::vector<size_t> guards;         // indices
  PyTypeObject* exactType = nullptr;  // what a TYPE_MATCH here demands
  // A root that stands for type(x) where a TYPE_MATCH fixes the type of x: what is looked up in the
  // type need not be looked up again for every instance.
  PyTypeObject* constantType = nullptr;
  // In such a tree: several sources may lead here.
  bool shared = false;
  bool captured = false;
  // What checking the node and all below it costs, in checks.
  uint32_t cost = 1;
};

class GuardTree {
 public:
  // Takes the requests, drops repetitions, and unites what TENSOR_MATCHes observe of one source.
  // Throws std::invalid_argument for a request that makes no sense.
  GuardTree(std::vector<Guard> requests, const std::vector<const Source*>& captures);

  std::vector<Guard>& guards() { return guards_; }
  GuardNode* node(const Source* source) const { return nodes_.at(source); }

  // What there is to do at the top, cheap and likely to fail first: roots of the tree, and guards
  // without a source. Deterministic.
  struct Step {
    GuardNode* root = nullptr;
    size_t guard = 0;  // where root is null
  };
  std::vector<Step> steps() const;
  // Guards that compare nodes; to be checked when everything is loaded.
  const std::vector<size_t>& relations() const { return relations_; }
  // What such a guard compares. Of an InstanceDict among distinct objects, the node is the
  // object's: the dict is looked for, but not demanded.
  struct Related {
    GuardNode* node;
    bool instanceDict;
  };
  std::vector<Related> relatedBy(const Guard& guard) const;

 private:
  void add(Guard guard);
  void addNodesOf(const DistinctObjects& distinct);
  bool repeats(const GuardNode* node, const Guard& guard);
  PyTypeObject* constantTypeOf(const Source* source) const;
  GuardNode* nodeFor(const Source* source);
  GuardNode* newNode(const Source* source, GuardNode* parent);
  void sortByCost(GuardNode* node);

  std::vector<Guard> guards_;
  std::deque<GuardNode> storage_;
  std::unordered_map<const Source*, GuardNode*> nodes_;
  std::unordered_map<const Source*, PyTypeObject*> exactTypes_;
  std::unordered_map<PyTypeObject*, GuardNode*> constantTypes_;
  std::unordered_multimap<size_t, size_t> guardsByHash_;
  std::vector<GuardNode*> roots_;
  std::vector<size_t> unrooted_;
  std::vector<size_t> relations_;
};

}  // namespace armature
