// What a trace may know of objects that existed before it.
//
// Every question gives its answer and requests, in the same call, the guard that keeps the answer
// true, for hits and for misses alike. Nowhere else does the trace look into a type, a function, a
// dict or a module of the program. (V8's optimizing compilers work so: a heap broker that answers,
// and compilation dependencies that the answer rests on.)
//
// Facts about one class hang on one source, the class itself, so that they are one section of the
// guard program: while the version of the class stands, none of them is checked again. A trace
// knows classes by identity; whoever reaches one holds that by a TYPE_MATCH or CLASS_MATCH.
//
// No function here runs code of the program or sets an exception. Objects are borrowed from the
// program; the trace keeps what it has seen alive.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallPtrSet.h>

#include <optional>

#include "core/ref.h"
#include "core/trail.h"
#include "cpython/special_slots.h"
#include "cpython/type_lookup.h"
#include "guards/guard.h"
#include "sources/source.h"

namespace armature {

// An existing object and the path to it, not looked at yet: whoever looks (Translator::wrap,
// realize) requests what it then depends on. The source is null where nothing can change what was
// found: the attribute of an immutable type.
struct Found {
  PyObject* object = nullptr;  // null: nothing is there
  const Source* source = nullptr;

  explicit operator bool() const { return object != nullptr; }
};

class Heap {
 public:
  // Takes the guards, and gives up those of a rewound region.
  class Dependencies {
   public:
    virtual ~Dependencies() = default;
    virtual void addGuard(Guard guard) = 0;
    // What the dict of a made class (`include`) holds, or what stands for it.
    virtual Found ownAttributeOfMade(PyTypeObject* type, PyObject* name) = 0;
    // Likewise for an existing class to which the trace has written; nothing where it has not
    // written that attribute.
    virtual std::optional<Found> writtenAttribute(PyTypeObject* type, PyObject* name) = 0;
  };

  Heap(Trail& trail, SourceTable& sources, Dependencies& dependencies)
      : trail_(trail), sources_(sources), dependencies_(dependencies) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // --- Classes that the trace itself has made (variables/objects/made_class.h). The questions
  // below may be asked of them, too; nothing is guarded but what they inherit.
  void include(const PyTypeObject* made) { made_.insert(made); }
  bool isMade(const PyTypeObject* type) const { return !made_.empty() && made_.contains(type); }
  // The trace has set or deleted attributes of an existing class: from here on, what is looked up
  // is what the program has made of it.
  void includeWritten(const PyTypeObject* type) { written_.insert(type); }

  // --- Types (types.cc). `name` is interned.
  // The path to a class, by its identity; also to a static one.
  const Source* classSource(PyTypeObject* type);
  // What attribute lookup finds in the MRO of the type. What is found is held by its identity if it
  // behaves in some way (functions, descriptors, classes), else by its type alone.
  Found lookup(PyTypeObject* type, PyObject* name);
  // What super(after, …) finds for an object of the type.
  Found lookupAfter(PyTypeObject* type, PyTypeObject* after, PyObject* name);
  // Does the type define the special method, so that the C slot is filled?
  bool hasSpecial(PyTypeObject* type, cpython::SpecialSlot slot);
  // Does the type have what `base` has under that name: does it inherit it unchanged?
  bool inherits(PyTypeObject* type, PyTypeObject* base, PyObject* name);
  // Is `base` in the MRO of the type?
  bool isSubtype(PyTypeObject* type, PyTypeObject* base);
  // The class of the class, which an assignment to __class__ may change.
  PyTypeObject* metaclassOf(PyTypeObject* type);
  // Does the class have abstract methods left?
  bool isAbstract(PyTypeObject* type);
  // Are instances made by the tp_new of `base`, a static type?
  bool hasNewOf(PyTypeObject* type, const PyTypeObject* base);
  // Do the patterns of sequences and of mappings look into instances of the type? abc's register()
  // may say so of a class.
  bool isMatchedAsSequence(PyTypeObject* type);
  bool isMatchedAsMapping(PyTypeObject* type);
  // Is the instance itself what the one positional pattern of a class without __match_args__ is
  // for?
  bool isMatchedWhole(PyTypeObject* type);
  // type.__name__ and type.__qualname__, str; for a static type the name has no path.
  Found nameOf(PyTypeObject* type);
  Found qualifiedNameOf(PyTypeObject* type);
  // The name that errors call the type by, which is that of nameOf for a heap type.
  const char* nameInTexts(PyTypeObject* type);
  // type.__mro__ and type.__bases__, tuples, each class of which keeps its place.
  PyObject* mro(PyTypeObject* type);
  PyObject* bases(PyTypeObject* type);
  // The dict of which type.__dict__ is a proxy.
  Found dictOf(PyTypeObject* type);
  // Has a value found on a type __get__, or __set__ or __delete__? Types decide, which are looked
  // at.
  bool hasGet(PyObject* attribute);
  bool isDataDescriptor(PyObject* attribute);
  // issubclass(derived, type) for an abstract base class (abstract_classes.cc). RunsCode: only code
  // of the program could answer. Raised: CPython's exception is set.
  enum class Answer : int8_t { Raised = -1, No, Yes, RunsCode };
  Answer isAbstractSubclass(PyTypeObject* derived, PyTypeObject* type);

  // --- Functions (functions.cc). A function is what all its parts are. `source` is its path.
  // The code object, with the globals and builtins it runs in.
  PyCodeObject* codeOf(const Source* source, PyFunctionObject* function);
  // Each part; None where the function has none.
  Found part(const Source* source, PyFunctionObject* function, SourceKind kind);

  // function.__annotations__ and function.__dict__, which CPython makes when they are first asked
  // for. Null with the exception set where memory ran out.
  Found madeOnDemand(const Source* source, PyFunctionObject* function, const char* attribute);

  // Are the function's names those of its code?
  bool isNamedAsItsCode(const Source* source, PyFunctionObject* function);

  // The path leads to this very function: more is known of it than its code.
  void identify(const Source* source, PyFunctionObject* function);

  // --- Dicts and sets (dicts.cc): exact dicts, the dicts of objects, modules and functions, and
  // the dict that an instance of a subclass is, read as dict.__getitem__ does. dict[key], for a key
  // that is data or goes by identity (guards/key.h). Throws a GraphBreak where an __eq__ of the
  // program's would have to decide.
  Found item(const Source* source, PyObject* dict, PyObject* key);
  // item in set, likewise; set.__contains__ of an instance of a subclass as well.
  bool hasItem(const Source* source, PyObject* set, PyObject* item);
  // Are the dicts of hooks that the dict has under the names empty? For those that many calls ask
  // for: the names stand in an array that lasts.
  bool hasNoHooks(const Source* source, PyObject* dict, llvm::ArrayRef<PyObject*> names);

  // --- Cells and slots (slots.cc). What the member descriptor finds in the object; null where the
  // slot has no value.
  Found slot(const Source* source, PyObject* object, PyObject* descriptor);
  // Has the cell contents?
  bool isSet(const Source* source, PyObject* cell);

  // --- Constants: an attribute of an immutable object of a builtin type, which nothing can change.
  // Null with the exception set.
  static Ref<> attributeOfData(PyObject* object, PyObject* name) {
    return Ref<>::steal(PyObject_GetAttr(object, name));
  }

 private:
  struct Lookup {
    PyTypeObject* type;
    PyTypeObject* after;
    PyObject* name;

    bool operator==(const Lookup&) const = default;
  };
  struct LookupInfo {
    static Lookup getEmptyKey() {
      return {llvm::DenseMapInfo<PyTypeObject*>::getEmptyKey(), {}, {}};
    }
    static Lookup getTombstoneKey() {
      return {llvm::DenseMapInfo<PyTypeObject*>::getTombstoneKey(), {}, {}};
    }
    static unsigned getHashValue(const Lookup& lookup) {
      return llvm::DenseMapInfo<PyTypeObject*>::getHashValue(lookup.type) +
             3 * llvm::DenseMapInfo<PyTypeObject*>::getHashValue(lookup.after) +
             7 * llvm::DenseMapInfo<PyObject*>::getHashValue(lookup.name);
    }
    static bool isEqual(const Lookup& one, const Lookup& other) { return one == other; }
  };
  Found find(PyTypeObject* type, PyTypeObject* after, PyObject* name);
  Found findInMro(PyTypeObject* type, PyTypeObject* after, PyObject* name);
  Found ownAttribute(PyTypeObject* type, PyObject* name);
  void hold(const Found& found);
  // Does nothing change what is known of the type?
  bool isFixed(const PyTypeObject* type) const {
    return cpython::isImmutable(type) || isMade(type);
  }
  void depend(const Source* source, GuardType type, BorrowedRef<> operand = nullptr,
              int64_t number = 0, BorrowedRef<> after = nullptr);
  // True the first time; then the caller requests the guard. Trailed.
  bool isNew(const void* subject, GuardType type, const void* operand);
  bool wasAsked(const void* subject, GuardType type, const void* operand) const {
    return asked_.count({subject, {operand, static_cast<int>(type)}}) != 0;
  }
  // The guard that no class was registered with an abstract base class since.
  void dependOnRegistrations();
  bool hasCollectionFlag(PyTypeObject* type, unsigned long flag);

  Trail& trail_;
  SourceTable& sources_;
  Dependencies& dependencies_;
  // What was asked before; the youngest last, as the trail undoes them.
  llvm::MapVector<Lookup, Found, llvm::DenseMap<Lookup, unsigned, LookupInfo>> lookups_;
  llvm::MapVector<std::pair<const void*, std::pair<const void*, int>>, char> asked_;
  std::vector<Ref<>> kept_;
  llvm::SmallPtrSet<const PyTypeObject*, 2> made_, written_;
};

}  // namespace armature
