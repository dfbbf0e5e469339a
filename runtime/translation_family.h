// The translations of one code object under the same settings: what compiled functions that carry
// the code share, be it one that is compiled again, or nested functions that each call makes anew.
#pragma once

#include <Python.h>

#include <memory>

#include "runtime/code_cache.h"

namespace armature {

// A Python object, so that the garbage collector sees what translations hold, once, whoever shares
// them; the compiled functions own it.
class TranslationFamily {
 public:
  // The family for the code that the function has now. An existing one if there is one for the same
  // code and globals whose settings are equal and have a sharing key. Throws
  // PendingPythonException, or RaisedForUser, if there is none; what cannot be traced has a family
  // without a root.
  static Ref<> of(BorrowedRef<> function, const std::shared_ptr<const Settings>& settings);
  static TranslationFamily& from(BorrowedRef<> object);

  // The function's own entry point; null if its code cannot be traced.
  const std::shared_ptr<CodeCache>& root() const { return root_; }
  const std::shared_ptr<const Settings>& settings() const { return settings_; }
  const std::shared_ptr<CodeCache::Family>& caches() const { return caches_; }
  // The code object that it is for, borrowed.
  PyObject* code() const { return code_.get(); }

  // Takes over a reference of a function that is no more, so that the same code that is compiled
  // again soon finds its translations. Only the youngest are kept.
  static void keepForLater(Ref<> family);
  // Gives up the families that only keepForLater keeps: at the start of each full collection, since
  // the collector does not see them as garbage; and at the end of the process, from where on none
  // is kept (`keepMore` false).
  static void forgetUnused(bool keepMore);

  // Prepares the type. -1 with an exception set.
  static int readyType();

 private:
  struct Object;
  friend struct Object;

  TranslationFamily(Ref<> code, std::shared_ptr<const Settings> settings);
  int traverse(visitproc visit, void* arg) const;

  Ref<> code_;
  std::shared_ptr<const Settings> settings_;  // its own, which nobody else visits
  std::shared_ptr<CodeCache::Family> caches_ = std::make_shared<CodeCache::Family>();
  std::shared_ptr<CodeCache> root_;
};

}  // namespace armature
