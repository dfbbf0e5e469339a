// The structs of builtin iterators, for the files of this room alone.
//
// CPython keeps them to itself: Objects/listobject.c, tupleobject.c, unicodeobject.c,
// bytesobject.c, rangeobject.c, dictobject.c, setobject.c, enumobject.c, iterobject.c;
// Python/bltinmodule.c; Modules/itertoolsmodule.c, _collectionsmodule.c.
#pragma once

#include <Python.h>

namespace armature::cpython {

// Of lists and tuples, str and bytes, and reversed().
struct SequenceIterator {
  PyObject ob_base;
  Py_ssize_t index;
  PyObject* sequence;
};

struct RangeIterator {
  PyObject ob_base;
  long index;
  long start;
  long step;
  long length;
};

struct DictIterator {
  PyObject ob_base;
  PyDictObject* dict;
  Py_ssize_t used;
  Py_ssize_t position;
  PyObject* result;
  Py_ssize_t remaining;
};

struct SetIterator {
  PyObject ob_base;
  PySetObject* set;
  Py_ssize_t used;
  Py_ssize_t position;
  Py_ssize_t remaining;
};

struct Enumerate {
  PyObject ob_base;
  Py_ssize_t count;
  PyObject* iterator;
  PyObject* result;
  PyObject* longCount;  // where `count` is at its maximum; null until needed
};

struct Zip {
  PyObject ob_base;
  Py_ssize_t size;
  PyObject* iterators;
  PyObject* result;
  int strict;
};

struct Map {
  PyObject ob_base;
  PyObject* iterators;
  PyObject* function;
};

struct Filter {
  PyObject ob_base;
  PyObject* function;
  PyObject* iterator;
};

struct CallableIterator {
  PyObject ob_base;
  PyObject* function;
  PyObject* sentinel;
};

struct Count {
  PyObject ob_base;
  Py_ssize_t count;
  PyObject* longCount;  // where `count` is at its maximum
  PyObject* longStep;
};

struct Repeat {
  PyObject ob_base;
  PyObject* element;
  Py_ssize_t remaining;  // below 0: for ever
};

struct Chain {
  PyObject ob_base;
  PyObject* iterators;
  PyObject* active;
};

struct Islice {
  PyObject ob_base;
  PyObject* iterator;
  Py_ssize_t next;
  Py_ssize_t stop;  // below 0: never
  Py_ssize_t step;
  Py_ssize_t count;
};

struct Cycle {
  PyObject ob_base;
  PyObject* iterator;
  PyObject* saved;
  Py_ssize_t index;
  int isFirstRoundOver;
};

// Of takewhile and dropwhile.
struct Turning {
  PyObject ob_base;
  PyObject* function;
  PyObject* iterator;
  long hasTurned;
};

// Of filterfalse and starmap.
struct Applying {
  PyObject ob_base;
  PyObject* function;
  PyObject* iterator;
};

struct Compress {
  PyObject ob_base;
  PyObject* data;
  PyObject* selectors;
};

struct Accumulate {
  PyObject ob_base;
  PyObject* total;
  PyObject* iterator;
  PyObject* function;  // null for addition
  PyObject* initial;   // None for none
};

struct Pairwise {
  PyObject ob_base;
  PyObject* iterator;
  PyObject* old;
};

struct ZipLongest {
  PyObject ob_base;
  Py_ssize_t size;
  Py_ssize_t active;
  PyObject* iterators;  // a tuple; null where one has ended
  PyObject* result;
  PyObject* fill;
};

struct Product {
  PyObject ob_base;
  PyObject* pools;
  Py_ssize_t* indexes;
  PyObject* result;  // what it gave last; null at the start
  int hasEnded;
};

// Of combinations and combinations_with_replacement.
struct Combinations {
  PyObject ob_base;
  PyObject* pool;
  Py_ssize_t* indexes;
  PyObject* result;
  Py_ssize_t length;
  int hasEnded;
};

struct Permutations {
  PyObject ob_base;
  PyObject* pool;
  Py_ssize_t* indexes;
  Py_ssize_t* cycles;
  PyObject* result;
  Py_ssize_t length;
  int hasEnded;
};

// Forwards and backwards.
struct DequeIterator {
  PyObject ob_base;
  Py_ssize_t index;
  void* block;
  PyObject* deque;
  size_t state;  // of the deque when the iterator was made
  Py_ssize_t remaining;
};

struct Deque {
  PyVarObject ob_base;
  void* leftBlock;
  void* rightBlock;
  Py_ssize_t leftIndex;
  Py_ssize_t rightIndex;
  size_t state;  // how often its items moved
};

// The types that no header declares, found once.
struct HiddenTypes {
  PyTypeObject* asciiIterator = nullptr;
  PyTypeObject* count = nullptr;
  PyTypeObject* repeat = nullptr;
  PyTypeObject* chain = nullptr;
  PyTypeObject* cycle = nullptr;
  PyTypeObject* islice = nullptr;
};
const HiddenTypes& hiddenTypes();

// Whether the iterators of deques have been found to be as they are here.
extern bool dequeIteratorsAreKnown;

}  // namespace armature::cpython
