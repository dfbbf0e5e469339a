// set and frozenset.
//
// An existing set is asked for single items, as dicts are (variables/containers/dict.h): what the
// program never asks for is not guarded. Only what depends on all items loads, and guards, them
// all; each is then the very item that the set holds, which one that is equal to it is not.
//
// The order in which a set is iterated is that of its hash table, which depends on all that
// happened to it. Where a set has held data only, that is known: the operations are kept, and done
// again on a real set, which for an existing one begins as a copy of its table.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <vector>

#include "variables/containers/ordered_value_map.h"
#include "variables/side_effects.h"
#include "variables/variable_tracker.h"

namespace armature {

class Translator;

// The element at a place, in its own order, of the set or frozenset found at `set`.
const Source* elementSource(Translator& translator, const Source* set, BorrowedRef<> existing,
                            int64_t place);
// Of a set or frozenset whose elements guards hold by value, in this order: which objects they are
// (isToldApart), each call tells.
void rememberElements(Translator& translator, const Source* set, BorrowedRef<> existing);

class SetVariable : public VariableTracker {
 public:
  // How the items of an existing set are known, if all are asked for.
  enum class Loading : uint8_t {
    ByValue,  // constants and classes, which guards hold as what they are
    ByPlace,  // some go by their identity: they are found again by their place in the set's order
    Never,    // they are too many, or methods of the program's compare them
  };

  ARMATURE_KIND(Set)
  // A new one.
  explicit SetVariable(PyTypeObject* type) : VariableTracker(VariableKind::Set, type) {}
  // An existing one.
  SetVariable(const Source* source, BorrowedRef<> existing, Loading loading)
      : VariableTracker(VariableKind::Set, Py_TYPE(existing.get()), source, existing),
        loading_(loading),
        complete_(false) {}

  // Sets a TypeError for an unhashable key, and breaks, as dicts do.
  bool contains(Translator& translator, const Value& key);
  // False with an exception pending (unhashable).
  bool add(Translator& translator, const Value& key);
  // True if it was there.
  bool remove(Translator& translator, const Value& key);
  void clear(Translator& translator);
  // pop(): breaks where it is not known which item that is. The set must not be empty.
  Value pop(Translator& translator);
  // The number of items. It does not matter which they are.
  size_t size(Translator& translator);
  // Likewise, where that of an existing set varied between calls and nothing came or went; else
  // null.
  Value varyingSize(Translator& translator) const;
  // In no particular order. Loads all.
  void forEach(Translator& translator, llvm::function_ref<void(const Value&)> visit);
  // All items in the set's order. False where that is not known.
  bool inOrder(Translator& translator, llvm::SmallVectorImpl<Value>& items);

  // Does `change` (adds and removals) as one operation of a real set: its method `name` with these
  // arguments (a tuple). Null where they are not known as data, so that the order is lost.
  void changeBy(Translator& translator, const char* name, Ref<> arguments,
                llvm::function_ref<void()> change);
  // May an operation ask methods of the program's about its items? Then it is done item by item.
  bool asksItems() const { return map_.hasKeysByMethods(); }
  // Fills a new set by adds, and says how a real one is made: self.name(*arguments), or set(self)
  // where `name` is null. Null self or arguments: the order is lost.
  void makeBy(const char* name, Ref<> self, Ref<> arguments, llvm::function_ref<void()> fill);
  // A fresh real set with equal items in an equal table, so that it is iterated in the same order
  // whatever is done to both. Of an existing set the table is guarded. Null where it is not known.
  Ref<> real(Translator& translator);
  // Does its order follow from the table of an existing set, which is not known?
  bool isOfUnknownTable() const { return existing() && loading_ != Loading::ByValue; }

 private:
  struct Operation {
    const char* name;  // of a method; null: set(self)
    Ref<> self;        // null: the set so far
    Ref<> arguments;   // a tuple; null where there is no method
  };
  int32_t find(Translator& translator, const Value& key, Py_hash_t hash,
               bool* asksOthers = nullptr);
  void complete(Translator& translator);
  // The objects that the items of an existing set are to the trace, in the set's order.
  void loadItems(Translator& translator, llvm::SmallVectorImpl<OrderedValueMap::Entry>& items);
  // The item that is that object, or data equal to it.
  Value knownItem(PyObject* item, Py_hash_t hash) const;
  // The existing set, if nothing was done to it; else null.
  BorrowedRef<> untouched(Translator& translator) const;
  void recordEffect(Translator& translator, EffectKind kind, Value key = {}, Value value = {});
  void record(Translator& translator, Operation operation);
  void loseOrder(Translator& translator);
  void removeEntry(Translator& translator, int32_t index);

  // An item has the value None; one that was removed, or asked for and not there, has none.
  OrderedValueMap map_;
  const Loading loading_ = Loading::ByValue;
  // False while items of the existing set may be missing in map_. Trailed, like all below.
  bool complete_ = true;
  // The number of live items; of an incomplete set, by how many the trace has made it larger.
  int64_t live_ = 0;
  // What made the set, from the start.
  std::vector<Operation> operations_;
  // A real set on which all of them were done, its finger included, so that a loop of pops does
  // them once and not for each pop; null: it has to be made. A rewind of any of them drops it.
  Ref<> mirror_;
  bool orderKnown_ = true;
  // False within changeBy: one operation, and where it is known one effect, stands for all.
  bool recording_ = true;
  bool logging_ = true;
};

}  // namespace armature
