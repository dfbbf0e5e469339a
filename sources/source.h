// Where an input of the trace came from: how to find the same object in the next call.
//
// Sources are hash-consed: within one SourceTable, equal sources are one object, so equality and
// hash are those of the pointer. What a source means for guards and for codegen is decided in those
// rooms; here it is only a path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/Allocator.h>

#include "core/ref.h"

namespace armature {

enum class SourceKind : uint8_t {
  // Roots.
  Local,         // L['x']: the frame's local `index`; a cell's content where the slot is a cell
  LocalCell,     // the cell object itself in the frame's slot `index`
  GlobalsDict,   // the globals of a traced function (G[…] for the root's); `object` is the dict
  BuiltinsDict,  // builtins.__dict__
  ModulesDict,   // sys.modules
  // What the caller of the traced function handles (sys.exc_info()[1] at entry), None if nothing.
  HandledException,
  Constant,  // `object` itself, known by identity: classes above all, whose facts hang on it
  // Paths from `base`. None of them runs Python code.
  Type,                // type(base)
  InstanceDict,        // base.__dict__, by _PyObject_GetDictPtr
  DictItem,            // dict.__getitem__(base, object)
  DictKey,             // list(dict.keys(base))[index]
  ListItem,            // list.__getitem__(base, index)
  DequeItem,           // deque.__getitem__(base, index)
  TupleItem,           // tuple.__getitem__(base, index)
  Slot,                // the member descriptor `object` (__slots__) read from base
  TypeAttribute,       // _PyType_Lookup(base, object): base is a type, object a str
  SuperAttribute,      // what super(after, …) finds in the MRO of base, a type; object is a str
  TypeName,            // base.__name__ of a heap type, as type.__name__ gives it
  TypeQualifiedName,   // base.__qualname__ likewise
  CellContents,        // base.cell_contents
  FunctionCode,        // base.__code__
  FunctionDefaults,    // base.__defaults__ (tuple or None)
  FunctionKwDefaults,  // base.__kwdefaults__ (dict or None)
  FunctionClosure,     // base.__closure__ (tuple or None)
  FunctionGlobals,     // base.__globals__
  FunctionBuiltins,    // base.__builtins__
  FunctionName,        // base.__name__
  FunctionQualifiedName,  // base.__qualname__
  FunctionModule,         // base.__module__ (None where the function has none)
  FunctionDoc,            // base.__doc__
  MethodFunction,         // base.__func__ of a bound method
  MethodSelf,             // base.__self__ of a bound method or builtin
  TypeMro,                // base.__mro__
  TypeDict,               // the dict of base, a type, of which base.__dict__ is a proxy
  ProxiedMapping,         // the mapping of base, a types.MappingProxyType
  WeakReferent,           // what base, a weak reference, refers to (None where that is gone)
  IteratorItem,           // what base, an iterator, gives after `index` other items
  IteratorValue,          // the value of its dict that belongs to that item
  IteratorField,          // the field `index` (cpython::IteratorField) of base, an iterator
  GeneratorSlot,          // the slot `index`, of locals and then the stack, of base, a generator
  // What the computation `object` (sources/computation.h) gives of base, a number or a str. The
  // result is a new reference.
  Computed,
  // A path that calls the getset or member descriptor `object` of a C type (tensor.grad, slice
  // members …): runs C code of that type only. The result is a new reference.
  Descriptor,
};

class Source {
 public:
  SourceKind kind() const { return kind_; }
  const Source* base() const { return base_; }
  int64_t index() const { return index_; }
  BorrowedRef<> object() const { return object_; }
  // SuperAttribute: the class behind which the search begins.
  BorrowedRef<> after() const { return after_; }

  // The one textual form: L['x'], G['torch'], L['self'].fc1 (instance dict items whose key is an
  // identifier print as attributes), L['xs'][0], type(L['x']), ….
  const std::string& name() const;
  // True if the path starts in the globals, builtins or sys.modules.
  bool isGlobal() const;
  // Number of steps from the root.
  int depth() const { return depth_; }
  // Its place among the sources of its table, the oldest first: a base comes before what begins
  // with it. What is kept for every source is an array by this number.
  uint32_t number() const { return number_; }

 private:
  friend class SourceTable;
  Source() = default;

  SourceKind kind_ = SourceKind::Local;
  const Source* base_ = nullptr;
  int64_t index_ = 0;
  int depth_ = 0;
  uint32_t number_ = 0;
  Ref<> object_;  // key, name, dict or descriptor, by kind
  Ref<> after_;
  // A local's name, or that of a module of globals; null for others.
  std::unique_ptr<const std::string> text_;
  mutable std::unique_ptr<const std::string> name_;  // once somebody has asked for it
};

// Owns the sources of one compiled entry; shared by its graph, its guards and its explanation.
class SourceTable {
 public:
  SourceTable();
  ~SourceTable();
  SourceTable(const SourceTable&) = delete;
  SourceTable& operator=(const SourceTable&) = delete;

  // Gives up the references to what Constant sources name, and to keys of which `isWeakKey` holds;
  // their texts stay. Called when the guards that hold those objects weakly are in place.
  void releaseConstants(llvm::function_ref<bool(BorrowedRef<>)> isWeakKey);
  // Visits the objects held, for the garbage collector.
  int traverse(visitproc visit, void* arg) const;

  // The oldest first; only the last are new when it is asked again.
  llvm::ArrayRef<const Source*> all() const { return sources_; }

  const Source* local(int64_t index, BorrowedRef<> name);
  const Source* localCell(int64_t index, BorrowedRef<> name);
  // `isRoot`: the globals of the function being compiled, which print as G.
  const Source* globalsDict(BorrowedRef<> dict, bool isRoot);
  const Source* builtinsDict();
  const Source* modulesDict();
  const Source* handledException();
  const Source* constant(BorrowedRef<> object);
  // What super(after, …) finds under `name` in the MRO of the type `base`.
  const Source* superAttribute(const Source* base, BorrowedRef<> name, BorrowedRef<> after);
  // Paths without operand.
  const Source* path(SourceKind kind, const Source* base);
  // Paths with an index (DictKey, ListItem, TupleItem, IteratorItem, GeneratorSlot, …).
  const Source* item(SourceKind kind, const Source* base, int64_t index);
  // Paths with an object (DictItem, Slot, TypeAttribute, Descriptor). DictItem keys are compared by
  // identity, or by type and value where they are str or int.
  const Source* item(SourceKind kind, const Source* base, BorrowedRef<> object);
  // What a computation gives of `base`. Equal computations make one source.
  const Source* computed(const Source* base, Ref<> computation);
  // base.__dict__[name]
  const Source* instanceAttribute(const Source* base, BorrowedRef<> name) {
    return item(SourceKind::DictItem, path(SourceKind::InstanceDict, base), name);
  }

 private:
  struct Key {
    SourceKind kind;
    const Source* base;
    int64_t index;
    PyObject* object;
    PyObject* after;
    bool operator==(const Key&) const = default;
  };
  static uint32_t hashOf(const Key& key);
  static Key keyOf(const Source& source);
  // Where the source of that key and hash is in table_, or belongs.
  size_t placeOf(const Key& key, uint32_t hash) const;
  Ref<> canonical(BorrowedRef<> object);
  const Source* intern(SourceKind kind, const Source* base, int64_t index, BorrowedRef<> object,
                       std::string_view text = {}, BorrowedRef<> after = nullptr);
  void grow();

  std::vector<Ref<>> computations_;  // each once
  Ref<> integers_;                   // dict: the one object for each int that serves as a key
  llvm::SpecificBumpPtrAllocator<Source> allocator_;
  std::vector<Source*> sources_;  // the oldest first
  // Open addressing by keys; a power of two, or empty until it is asked for. The hash is here so
  // that sources of other keys need not be looked at.
  struct Cell {
    uint32_t hash = 0;
    uint32_t count = 0;  // the source's number and one; 0: free
  };
  std::vector<Cell> table_;
  // Null for a free cell.
  const Source* at(const Cell& cell) const;
};

}  // namespace armature
