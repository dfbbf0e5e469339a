// The guards of one entry by where they look: a tree of sources in which common prefixes are one
// node, walked once.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/Support/Allocator.h>

#include "guards/guard.h"

namespace armature {

struct GuardNode {
  const Source* source;
  GuardNode* parent = nullptr;  // null for roots
  // Cheap and likely to fail first.
  llvm::MutableArrayRef<GuardNode*> children;
  llvm::MutableArrayRef<uint32_t> guards;  // indices
  PyTypeObject* exactType = nullptr;       // what a TYPE_MATCH here demands
  // A root that stands for type(x) where a TYPE_MATCH fixes the type of x: what is looked up in the
  // type need not be looked up again for every instance.
  PyTypeObject* constantType = nullptr;
  // In such a tree: several sources may lead here.
  bool shared = false;
  bool isKnownAsDict = false;  // a CheckDict has been emitted
  bool wanted = false;  // the object itself is: as a capture, or to be compared with another one
  uint32_t childCount = 0;
  uint32_t guardCount = 0;
  // What checking the node and all below it costs, in checks.
  uint32_t cost = 0;
  // Where the program finds the node's object; 0 as long as it is not loaded.
  uint32_t loadedIn = 0;
};

class GuardTree {
 public:
  // Takes the requests, drops repetitions, and unites what TENSOR_MATCHes observe of one source.
  // Throws std::invalid_argument for a request that makes no sense.
  GuardTree(std::vector<Guard> requests, const std::vector<const Source*>& captures);
  GuardTree(const GuardTree&) = delete;
  GuardTree& operator=(const GuardTree&) = delete;

  std::vector<Guard>& guards() { return guards_; }
  size_t nodeCount() const { return storage_.size(); }
  // Null where the tree has none for the source.
  GuardNode* node(const Source* source) const {
    return source->number() < known_.size() ? known_[source->number()].node : nullptr;
  }

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
  class Demands;  // an open hash table of guards by what they demand

  struct KnownSource {
    GuardNode* node = nullptr;
    PyTypeObject* exactType = nullptr;
  };

  // Puts a request behind the guards that were kept, if it is new. It may be their next one.
  void add(Guard& request, Demands& demands);
  void addNodesOf(const DistinctObjects& distinct);
  KnownSource& known(const Source* source);
  PyTypeObject* constantTypeOf(const Source* source);
  GuardNode* nodeFor(const Source* source);
  GuardNode* newNodeFor(const Source* source);
  GuardNode* newNode(const Source* source, GuardNode* parent);
  void gather();
  void sortByCost();

  std::vector<Guard> guards_;
  size_t guardCount_ = 0;                // while they are gathered: how many of them are kept
  std::vector<GuardNode*> nodeOfGuard_;  // null for guards without a source
  llvm::BumpPtrAllocator allocator_;
  std::vector<GuardNode*> storage_;  // a parent comes before its children
  std::vector<KnownSource> known_;   // by the sources' numbers
  llvm::DenseMap<PyTypeObject*, GuardNode*> constantTypes_;
  // Below a constant type, by (parent, kind, index, object, after).
  using Path = std::tuple<GuardNode*, SourceKind, int64_t, PyObject*, PyObject*>;
  std::map<Path, GuardNode*> sharedNodes_;
  std::vector<GuardNode*> roots_;
  std::vector<GuardNode*> children_;  // of all nodes, those of each side by side
  std::vector<uint32_t> guardsOfNodes_;
  std::vector<size_t> unrooted_;
  std::vector<size_t> relations_;
};

}  // namespace armature
