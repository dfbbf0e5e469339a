// The iterators of itertools by their state: those that a trace makes, and those that existed
// before it whose state is known by parts (cpython/iterator_state.h), which are the same here. What
// is set in one of these is stored in it again, all at once, as an effect. (chain: iterators.h.
// Others that existed: existing_iterators.h.)
#pragma once

#include <memory>
#include <vector>

#include "variables/containers/sequence.h"
#include "variables/variable_tracker.h"

namespace armature {

class ItertoolsVariable;
class Translator;

// How generated code makes an iterator that stands where the trace has left it: the class is called
// with `arguments`, of which the last one may go by a keyword, and the iterator's __setstate__ with
// `state`, if there is any, as a tuple if there are several.
struct IteratorRecipe {
  enum class Construction : uint8_t {
    Call,      // class(*arguments)
    Pairwise,  // with the item that came before: pairwise(chain([old], iterator))
    Tee,       // what the tees share: _tee(chain(items, iterator))
    TeeBranch  // a copy of that, so many items further
  };
  Construction construction = Construction::Call;
  ValueVector arguments = {};
  // Which of the arguments are iterators. The class asks them for one, and is to be given them as
  // they are.
  std::vector<size_t> iterators = {};
  const char* keyword = nullptr;
  ValueVector state = {};
  // What it is that Python code has no way to make; null if it has.
  const char* impossible = nullptr;
};

// One class of itertools.
struct ItertoolsModel {
  const char* name;
  // Null without a pending exception at the end.
  Value (*next)(Translator&, ItertoolsVariable&);
  IteratorRecipe (*recipe)(Translator&, const ItertoolsVariable&);
  PyTypeObject* type = nullptr;
};

// The model of a type, or null.
const ItertoolsModel* itertoolsModel(const PyTypeObject* type);

// The tuples of indexes that product, combinations and permutations go through, as they give them.
class IndexTuples {
 public:
  IndexTuples(Ref<> iterator) : iterator_(std::move(iterator)) {}
  // The tuple at a position; null at the end. Borrowed.
  PyObject* at(size_t position);

 private:
  Ref<> iterator_;
  std::vector<Ref<>> given_;
};

class ItertoolsVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Itertools)
  ItertoolsVariable(const ItertoolsModel& model, ValueVector state,
                    std::unique_ptr<IndexTuples> indexes = nullptr)
      : VariableTracker(VariableKind::Itertools, model.type),
        model(model),
        indexes(std::move(indexes)),
        state_(std::move(state)) {}
  // One that existed before the trace.
  ItertoolsVariable(const ItertoolsModel& model, ValueVector state, const Source* source,
                    BorrowedRef<> existing)
      : VariableTracker(VariableKind::Itertools, model.type, source, existing),
        model(model),
        state_(std::move(state)) {}

  const ItertoolsModel& model;
  const std::unique_ptr<IndexTuples> indexes;

  const ValueVector& state() const { return state_; }
  const Value& operator[](size_t i) const { return state_[i]; }
  void set(Translator& translator, size_t i, Value value);

 private:
  ValueVector state_;  // trailed, each
};

}  // namespace armature
