// What the variables ask of an array library: which calls are graph operations, and what comes out.
//
// Implemented in libraries/ (one class a library) and registered at start-up; the variables know
// libraries only through this interface.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include "core/ref.h"
#include "graph/graph.h"
#include "graph/mode_state.h"
#include "shapes/tensor_metadata.h"

namespace armature {

struct CallArguments;
struct Code;
class Translator;
class Value;

enum class CallKind : uint8_t {
  NotOurs,           // not a callable of this library
  GraphOperation,    // becomes a node when called
  ConstantFoldable,  // pure on constants: called at once; no node
  Inline,            // a Python function to trace through
  Handled,           // the library performs the call, by `handler`
  Unsupported,       // a graph break, for `reason`
};

// Performs a call of `callable`; as CallFunction of TypeSlots. May forward `arguments.tail`.
using LibraryCallHandler = Value (*)(Translator&, const Value& callable, CallArguments& arguments);

// Arguments of an operation.
struct ArgumentPlaces {
  uint32_t positions = 0;  // one bit each
  std::array<std::string_view, 2> keywords = {};

  bool contains(size_t position) const { return position < 32 && (positions >> position & 1); }
  bool contains(std::string_view keyword) const { return llvm::is_contained(keywords, keyword); }
};

// What a library says of one callable (or method name).
struct CallRule {
  CallKind kind = CallKind::NotOurs;
  // GraphOperation: the result may be an array of another library.
  bool leavesLibrary = false;
  // GraphOperation: the result is one array whatever the arguments, so nobody has to ask.
  bool returnsOneArray = false;
  // GraphOperation: the operation mutates arguments (Library::changedArrays).
  bool mutates = false;
  // GraphOperation: called with as many arguments, all of them positional, only the types of Python
  // numbers among them matter to what is known of the result (and whether it raises), as long as
  // an int has 64 bits. 0: never.
  uint8_t takesAnyNumberOf = 0;
  // GraphOperation: the same goes for the numbers at these places, as long as all arrays are of
  // dtypes that hold fractions (Library::holdsFractions) and the numbers are small enough for each
  // of those. Null: for none.
  const ArgumentPlaces* smallNumbers = nullptr;
  // Unsupported: why, for the graph break; a constant string.
  const char* reason = "";
  // ConstantFoldable: the bits of the library's state that the answer depends on, which is guarded
  // where it is folded (Translator::observeState).
  uint64_t states = 0;
  LibraryCallHandler handler = nullptr;  // Handled
};

// How arrays behave where the libraries differ.
struct ArrayConventions {
  const char* word = "array";  // in the errors of iteration
  const char* lengthOfScalar = "len() of unsized object";
  // What __len__ and, besides its length, __iter__ of the library's class ask arrays for, where
  // they are Python code: the program may replace that, too. Or null.
  std::array<const char*, 2> askedByLength = {};
  const char* askedByIteration = nullptr;
  // Sums, differences, products, quotients and comparisons of an array and a Python number are
  // operations of CallRule::takesAnyNumberOf, and items whose index is in range.
  bool onlyTypesOfNumbersMatter = false;
  // Operators take lists and tuples for arrays.
  bool takesSequences = false;
  // Operators leave operands of unknown classes to those classes, and `==` knows None.
  bool leavesOthers = false;
  // `x @= y` is an operation of its own, not x = x @ y.
  bool hasInPlaceMatrixProduct = false;
  PyTypeObject* iterator = &PySeqIter_Type;
};

// The structure of what an operation returned, when it is not known to be one array.
struct ResultStructure {
  enum class Kind : uint8_t { Array, Constant, Tuple, List };
  Kind kind = Kind::Array;
  std::shared_ptr<const TensorMetadata> metadata;  // Array
  // Array: not a new object but the very one that this input of the node holds.
  Node* same = nullptr;
  // Array: the input whose very array this is, where that was looked at (Library::identityOf); the
  // node's result goes by its own name all the same.
  const Node* returned = nullptr;
  // The operation, which raises nothing on these shapes and dtypes, may raise on some data.
  bool mayFailOnData = false;
  Ref<> constant;                         // Constant: int, bool, None, dtype, …
  Ref<> type;                             // Tuple: its class
  std::vector<ResultStructure> elements;  // Tuple, List
};

// What a node changes besides making its result. That it may raise does not count.
enum class NodeEffect : uint8_t {
  None,
  // Arrays that the graph itself has made, and nobody else has: to run the graph once more from its
  // beginning is as good as running it once.
  Own,
  // Sets the library's mode. Library::modeState() says how it is put back; without it, calling the
  // target with the truth of the node's `mode` does so.
  Mode,
  // The generator of random numbers that it draws from, whose state can be put back
  // (Library::randomState).
  Random,
  // Arrays, anything else.
  Other,
};

// An attribute of arrays that holds another array, or None: a gradient. No operation of a graph
// changes what it holds.
struct HeldAttribute {
  // The attribute of the metadata that says that it can be read without further ado.
  std::string_view readable;
  // Those in which the array that is put there has to be like the one that it is put onto.
  std::vector<std::string_view> alike;
};

// How what the program does behind a graph depends on how the graph's arrays were computed.
enum class HistoryUse : uint8_t {
  None,
  Results,     // by which results they passed, and where those were used: a gradient's hook
  Operations,  // by which operations
};

class Library;

// Told of every input whose metadata an answer depended on; the translator turns it into guards.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void observe(Node* placeholder, uint32_t observed) = 0;
  // Have the arrays of these placeholders no memory in common? If so, that is guarded.
  virtual bool areApart(llvm::ArrayRef<Node*> placeholders) {
    (void)placeholders;
    return false;
  }
  // What a library remembers for as long as the observer lives; null at first.
  std::shared_ptr<void>& memoryOf(const Library& library) { return memories_[&library]; }

 private:
  llvm::SmallDenseMap<const Library*, std::shared_ptr<void>, 2> memories_;
};

class Library {
 public:
  virtual ~Library() = default;
  virtual ArrayLibraryKind kind() const = 0;
  // The type of the arrays that operations return.
  virtual PyTypeObject* arrayType() const = 0;
  // Does the dtype hold fractions, and each int and float up to kSmallNumber in magnitude?
  virtual bool holdsFractions(DType dtype) const {
    (void)dtype;
    return false;
  }
  static constexpr int64_t kSmallNumber = 32768;
  // True for the exact types whose instances are this library's arrays to a trace. Subclasses may
  // override anything, so they are not.
  virtual bool isArrayType(PyTypeObject* type) const { return type == arrayType(); }
  virtual const ArrayConventions& conventions() const = 0;
  // The union of Observed bits that an attribute or method without arguments tells.
  virtual uint32_t observedBy(std::string_view attribute) const = 0;
  // May an operation of the graph have changed the attribute of the array that `node` makes, though
  // it changed another array? (Gradients that are stored in a view belong to its base, too.)
  virtual bool mayHaveChanged(const Node& node, std::string_view attribute, const Graph& graph,
                              Observer& observer) const {
    (void)node, (void)attribute, (void)graph, (void)observer;
    return false;
  }
  // What is known of the attribute if it holds another array, or None, as the program puts it
  // there; null for all others.
  virtual const HeldAttribute* heldAttribute(std::string_view attribute) const {
    (void)attribute;
    return nullptr;
  }
  // Of an attribute by which the program gives an array the memory of another one, and whatever
  // else that is, but for its history: those in which the two have to be alike; null for all
  // others. The attribute is an operation, which gives a new array of the same memory.
  virtual const std::vector<std::string_view>* memoryAttribute(std::string_view attribute) const {
    (void)attribute;
    return nullptr;
  }
  // True for attributes that are operations: a view, say, and not metadata.
  virtual bool isOperationAttribute(std::string_view attribute) const = 0;
  // The type of a result that has this metadata.
  virtual PyTypeObject* typeOf(const TensorMetadata& metadata) const {
    (void)metadata;
    return arrayType();
  }
  // True for types of this library whose instances no operation changes (scalars).
  virtual bool isImmutable(PyTypeObject* type) const {
    (void)type;
    return false;
  }
  // The metadata that every instance of an immutable type has; null for other types.
  virtual std::shared_ptr<const TensorMetadata> scalarMetadata(PyTypeObject* type) const {
    (void)type;
    return nullptr;
  }
  // True if every result must be evaluated at once, because its Python type depends on values or
  // shapes (functions that return arrays or scalars).
  virtual bool eager() const { return false; }

  // `callable` is a real object. What it is follows from its identity and its type, never from what
  // it says of itself (__module__, __name__).
  virtual CallRule classify(BorrowedRef<> callable) const = 0;
  // Is what attribute lookup finds under `name`, interned, in a type of arrays what the library
  // itself defined there (null: nothing)? Programs can put other things into types that are written
  // in Python.
  virtual bool owns(PyTypeObject* type, PyObject* name, PyObject* attribute) const {
    (void)type, (void)name, (void)attribute;
    return true;
  }
  // A method that the library owns, by name (str).
  virtual CallRule classifyMethod(BorrowedRef<> name) const = 0;

  // Asked before an operation becomes a node, with its arguments, those inside of lists, tuples,
  // dicts and slices included: what the call is, given their types. `rule`; or Unsupported, where
  // an argument's type takes over. Guards what the answer depends on.
  virtual CallRule dispatch(Translator& translator, const CallRule& rule,
                            llvm::ArrayRef<Value> arguments) const {
    (void)translator, (void)arguments;
    return rule;
  }

  // Why only the library itself can run the operation, and no backend; null if backends can.
  // `graph`: what comes before it, and the node.
  virtual const char* reasonAgainstBackends(const Node& node, const Graph& graph,
                                            Observer& observer) const {
    (void)node, (void)graph, (void)observer;
    return nullptr;
  }
  // As far as can be told by the code, which runs with these globals.
  virtual HistoryUse historyUse(const Code& code, BorrowedRef<> globals) const {
    (void)code, (void)globals;
    return HistoryUse::None;
  }
  // Can backends have the finished graph? Not if what it is given or gives means something only
  // while what it enters, or what is entered around it, has not been left (levels of function
  // transforms), nor if `use` would find another history of its results.
  virtual bool isForBackends(const Graph& graph, HistoryUse use) const {
    (void)graph, (void)use;
    return true;
  }
  // May the operation return its argument, an array of another type than arrayType()?
  virtual bool mayReturnItself(const Node& node) const {
    (void)node;
    return false;
  }
  // Does the operation, which changes an array, change what the array object is, its shape, say,
  // and not only its data?
  virtual bool changesLayout(const Node& node) const {
    (void)node;
    return false;
  }

  // The metadata of a node that is one array; computes and stores what is missing on the way,
  // through the library's rules or by asking the library itself, and observes the
  // placeholders it depended on. Null if the operation raises: the Python exception is then set.
  // Throws GraphBreak where the result cannot be known without data.
  virtual const TensorMetadata* metadata(Node* node, Observer& observer) const = 0;
  // The structure of the result of any node. On failure as `metadata`, with kind Constant and a
  // null constant. Stores node->metadata where the result is one array.
  virtual ResultStructure evaluate(Node* node, Observer& observer) const = 0;

  // --- Operations on arrays of several libraries.
  // Does all but data depend on no data, if arrays of other libraries are where the node has them?
  // All its inputs have metadata.
  virtual bool takesForeign(const Node& node) const {
    (void)node;
    return false;
  }
  // Is this the library that tries such operations out, with stand-ins of the others, in modes of
  // its own? Of those registered, at most one does.
  virtual bool triesMixtures() const { return false; }
  // As evaluate(), of a node that mixes libraries; and as Kind::Array of `same`, where it returns
  // an argument. Observes all that is known of the inputs.
  virtual ResultStructure evaluateMixture(Node* node, const Library& called,
                                          Observer& observer) const {
    (void)called, (void)observer;
    throw std::logic_error("no mixture: " + targetName(node->target));
  }
  // As metadata(), with the strides that the array will have.
  virtual const TensorMetadata* layout(Node* node, Observer& observer) const {
    return metadata(node, observer);
  }
  // Do data say where in its memory the array, whose metadata is known, begins?
  virtual bool placeDependsOnData(const Node& node) const {
    (void)node;
    return false;
  }
  // An array of zeros with this metadata, in memory of its own. Null with an exception set on
  // failure.
  virtual Ref<> standIn(const TensorMetadata& metadata) const {
    (void)metadata;
    PyErr_SetString(PyExc_SystemError, "this library's arrays have no stand-ins");
    return nullptr;
  }
  // An array with this metadata and no data, for backends to look at. `mode` is what all of a graph
  // have in common, null before the first. Null without an exception set where the library has no
  // such arrays.
  virtual Ref<> exampleValue(const TensorMetadata& metadata, Ref<>& mode) const {
    (void)metadata, (void)mode;
    return nullptr;
  }
  // What is known of an array of the library, immutable ones included; null for other objects.
  virtual std::shared_ptr<const TensorMetadata> describe(BorrowedRef<> object) const {
    (void)object;
    return nullptr;
  }
  // Calls the callable so that nothing of the library's own is heard of what it does to stand-ins.
  virtual Ref<> callSilently(BorrowedRef<> callable, BorrowedRef<> arguments,
                             BorrowedRef<> keywords) const {
    return Ref<>::steal(PyObject_Call(callable.get(), arguments.get(), keywords.get()));
  }

  // An attribute or argument-free method of an array that its metadata answers (shape, dtype,
  // device, ndim, …) as a constant; null, with no exception set, for any other name.
  virtual Ref<> attribute(const TensorMetadata& metadata, std::string_view name) const {
    (void)metadata, (void)name;
    return nullptr;
  }
  // The mode that the library's operations run in now, by a number of its own
  // (Translator::changeMode).
  virtual uint32_t currentMode() const { return 0; }
  // Of a node that sets the mode: how what it changes of the thread's state is read and put back.
  // None where its own target puts back the mode that the node had (Node::mode).
  using ModeState = armature::ModeState;
  virtual ModeState modeState(const Node& node) const {
    (void)node;
    return {};
  }
  // Does the mode change any of these states (CallRule::states)? Then what the thread says now is
  // not what the program would hear.
  virtual bool isStateOfMode(uint32_t mode, uint64_t states) const {
    (void)mode, (void)states;
    return false;
  }
  // Makes of a graph that ends here, and gives these results, what compilers of graphs understand:
  // adds what leaves the regions in which it would end (callsInto() enters them again), and says by
  // their own nodes which arrays are the same.
  virtual void finishForBackend(Graph& graph, std::vector<Node*>& results) const {
    (void)graph, (void)results;
  }
  // Adds to a graph what leaves the contexts that it would leave entered, and that only objects
  // which cannot come out of it can leave. Gives the calls that have entered them, the outermost
  // first: made again behind the graph, each in its mode (Node::mode), they give such objects.
  virtual std::vector<Node*> leaveContexts(Graph& graph) const {
    (void)graph;
    return {};
  }
  // A call of a function; `keywords` may be null.
  struct ModeCall {
    Ref<> function, arguments, keywords;
  };
  // The calls, in their order, by which a graph's nodes have brought a thread into that mode; none
  // where a graph that ends in it is for no backend.
  virtual std::vector<ModeCall> callsInto(uint32_t mode) const {
    (void)mode;
    return {};
  }
  // The call from one mode to another that is inside of the same regions; its function is null
  // where they are the same.
  virtual ModeCall callBetween(uint32_t from, uint32_t to) const {
    (void)from, (void)to;
    return {};
  }
  // While the object lives, this thread is in that mode. Null where it cannot be.
  virtual std::shared_ptr<void> enterMode(uint32_t mode) const {
    (void)mode;
    return nullptr;
  }
  // True if the node has no effect besides its result, so that an unused one may be dropped; that
  // is what the engines that the library knows drop, not all that could be.
  virtual bool isPure(const Node& node) const = 0;
  virtual NodeEffect effectOf(const Node& node) const {
    return isPure(node) ? NodeEffect::None : NodeEffect::Other;
  }
  // Of a node with the effect `Other`: does it change nothing, but may warn?
  virtual bool onlyWarns(const Node& node) const {
    (void)node;
    return false;
  }
  // For graphs with random numbers: a function that gives the state of the generator, and one that
  // takes it. Borrowed, and there as long as effectOf() says Random.
  struct RandomState {
    PyObject* get = nullptr;
    PyObject* set = nullptr;
  };
  virtual RandomState randomState() const { return {}; }
  // Code that this process made will run: a library that captures programs itself is told to leave
  // it alone. False with a Python exception set.
  virtual bool disownCode(BorrowedRef<PyCodeObject> code) const {
    (void)code;
    return true;
  }
  // Why no operation can be in a graph as things stand in this thread; null if they can. Nothing
  // that a trace follows changes the answer, so that it is asked for once.
  virtual const char* reasonAgainstOperations() const { return nullptr; }
  // The node that made the very array that `node` gives: where an operation returns an argument of
  // its own, as x.contiguous() may, the argument's. Throws a GraphBreak where nobody can tell.
  virtual const Node* identityOf(const Node* node, Observer& observer) const {
    (void)observer;
    return node;
  }
  // True if the operation, which has been evaluated, may still fail when it runs: an exception
  // handler around it then depends on data.
  virtual bool mayFailOnData(const Node& node, Observer& observer) const {
    (void)node, (void)observer;
    return false;
  }
  // The arrays that a call with CallRule::mutates, or with `out`, changes; none where nobody can
  // tell.
  virtual void changedArrays(const Node& node, llvm::SmallVectorImpl<Node*>& changed) const = 0;
  // Of such a call that changes one array and whose result is an array: is it that one? False only
  // where it is known what the operation changes.
  virtual bool returnsChanged(const Node& node) const {
    (void)node;
    return true;
  }
};

// Whose callables are, in one trace, which asks the libraries once for each: most calls are of what
// no library knows, and to be sure of that takes all of their tables.
class LibraryOfCallables {
 public:
  struct Owner {
    const Library* library = nullptr;  // null: no library knows the callable
    CallRule rule;
  };
  Owner of(BorrowedRef<> callable);

 private:
  llvm::DenseMap<PyObject*, Owner> owners_;
  std::vector<Ref<>> kept_;  // keeps the keys alive
};

// The library that tries out operations on arrays of several; null while it is not imported.
const Library* libraryOfMixtures();
// Registered libraries; at most one of each kind. Null while the library is not imported.
const Library* findLibrary(ArrayLibraryKind kind);
// What the node changes, by its library: nothing if it is no call.
NodeEffect effectOf(const Node& node);
// Those that are there, always in the same order.
llvm::ArrayRef<const Library*> registeredLibraries();
void registerLibrary(const Library* library);
// The library whose arrays are of this exact type, immutable ones included; null if there is none.
const Library* libraryOfArrays(PyTypeObject* type);

}  // namespace armature
