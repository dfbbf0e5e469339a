// The translations of one entry point, and the way to one more.
#pragma once

#include <llvm/ADT/STLExtras.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/graph_failure.h"
#include "interpreter/entry_point.h"
#include "runtime/cache_entry.h"
#include "runtime/settings.h"
#include "shapes/profile.h"

namespace armature {

class RuntimeEnvironment;
struct LeftFrames;

class CodeCache {
 public:
  using Caches = std::vector<std::shared_ptr<CodeCache>>;
  // What belongs to one TranslationFamily.
  struct Family {
    Caches caches;      // of all entry points
    Ref<> pythonCalls;  // see python_calls.h; null until it is needed
  };

  // `builtins`: those that the function chose when it was made; null: those that the globals name.
  CodeCache(EntryPoint entry, Ref<> globals, Ref<> builtins,
            std::shared_ptr<const Settings> settings, std::shared_ptr<Family> family);
  ~CodeCache();
  // A new cache of the family for the function, whose code this is, lifted. `movesInputs`: see
  // EntryPoint.
  static std::shared_ptr<CodeCache> ofFunction(BorrowedRef<> function, CodePtr code,
                                               std::shared_ptr<const Settings> settings,
                                               const std::shared_ptr<Family>& family,
                                               bool movesInputs = false);

  // What to do for these inputs.
  enum class Action : uint8_t { Run, Plain, Compiled, Error };
  // Finds, or makes, the entry for the inputs. Run: `function` is to be called with the inputs
  // (and what else holds them, if the entry moves them) followed by `captures` (which has room for
  // captureCapacity() objects, all borrowed). `pins`: what keeps captures alive that nothing else
  // holds, until the function has them.
  // Compiled: there is a new entry; ask again, with as much room as there must be now.
  // Error: a Python exception is set. Throws nothing of ours.
  Action find(const FrameLocalsMapping& inputs, PyObject** captures, Ref<>& function,
              size_t& captureCount, Pins& pins);
  size_t captureCapacity() const { return captureCapacity_; }
  // What comes before has been left to Python because it varies: what looks at such values in here
  // is, too, from now on (Translator::leaveVaryingToPython).
  void leaveVaryingToPython() { leavesVarying_ = true; }
  // After Run and Plain: the entry that was found, until other code runs; null if there is none.
  const CacheEntry* found() const { return found_; }
  // After Plain: the call uses an object for the first time, in code that must not break. It and
  // all that it calls is to run as it is, once: the next one may be translated.
  bool isFirstUse() const { return isFirstUse_; }
  // Why there is no entry for the inputs of a call that is Plain, for people.
  std::string whyNotCompiled() const;
  // After Plain: of the break because of which the call is plain (break_statistics.h), borrowed;
  // null if it is not measured.
  BorrowedRef<> plainStatistics() const { return plainStatistics_; }
  // Goes on with a call whose graph failed after it had changed something: what the function
  // returns. `inputs` has all arguments of the entry in its slots. Null with an exception set,
  // which is the failure's own if it cannot be gone on.
  PyObject* goOn(const FrameLocalsMapping& inputs, const GraphFailure& failure);

  const EntryPoint& entry() const { return entry_; }
  // For each input: is it a cell?
  const bool* inputIsCell() const { return inputIsCell_.get(); }
  BorrowedRef<> globals() const { return globals_; }
  BorrowedRef<> builtins() const { return builtins_; }
  const std::shared_ptr<const Settings>& settings() const { return settings_; }
  // Whether the guards of any entry hold for these inputs.
  bool accepts(const FrameLocalsMapping& inputs);
  // Shows the entry whose guards hold for these inputs; false if there is none.
  bool visitEntry(const FrameLocalsMapping& inputs,
                  llvm::function_ref<void(const CacheEntry&)> visit);
  // Shows all entries.
  void visitEntries(llvm::function_ref<void(const CacheEntry&)> visit);
  // A dict for each entry, with the name, filename and line at which it starts, is appended to
  // `list`. False with an exception set.
  bool describeEntries(BorrowedRef<> list);
  // The graphs that are not empty.
  std::vector<std::shared_ptr<const Graph>> graphs() const;
  bool hasEntries() const { return !entries_.empty(); }
  // Visits what the entries and the cache hold, for the garbage collector.
  int traverse(visitproc visit, void* arg) const;
  // What went wrong in the compilations that failed by an error of ours.
  const std::vector<std::string>& internalErrors() const { return internalErrors_; }

  // Drops all entries of all caches of the family, and what is known of failures. Any of them may
  // be running; what the entries held may run code when it dies, which may come back here.
  static void clear(Caches caches);
  // Breaks the cycle between the caches of a family, for the end of its functions. What still
  // runs compiles nothing more.
  static void dropFamily(Family& dropped);

 private:
  using Entries = std::vector<std::unique_ptr<CacheEntry>>;

  // While one stands, no entry of the cache dies: those that are dropped wait for its end.
  class Walk {
   public:
    explicit Walk(CodeCache& cache) : cache_(cache) { ++cache_.walks_; }
    ~Walk() {
      if (--cache_.walks_ == 0 && !cache_.dropped_.empty()) cache_.destroyDropped();
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

   private:
    CodeCache& cache_;
  };

  // Takes all entries out.
  Entries takeEntries();
  // Destroys entries that were taken out, as soon as nothing walks over them.
  void destroy(Entries entries);
  void destroyDropped();
  void destroyInvalid();

  std::unique_ptr<InstructionTranslator> newTrace(const FrameLocalsMapping& inputs,
                                                  const Profile& profile, bool answersAsPython,
                                                  bool leavesVarying,
                                                  const SkippedFunctions& skipped);
  struct TraceToFailure;
  // The call of which `first` is the translation is traced again, as far as to the operation that
  // failed.
  TraceToFailure traceToFailure(const FrameLocalsMapping& inputs, const GraphFailure& failure,
                                const CacheEntry& first);
  // Null if the call can't be gone on. Else the function to call, with the inputs and `captures`.
  // Null with frames in `left`: nobody can go on there, and the exception leaves these.
  Ref<> functionBehindFailure(const FrameLocalsMapping& inputs, const GraphFailure& failure,
                              std::vector<Ref<>>& captures, LeftFrames& left);
  // Of the calls in the entry's graph that may fail, the first behind a change of which
  // traceToFailure() would not do; empty if there is none. For inputs that the entry holds for.
  std::string whyNotGoneOn(const FrameLocalsMapping& inputs, const CacheEntry& entry);
  // True if there is a new entry. Else the call runs as it is, or a Python exception is set.
  bool compile(const FrameLocalsMapping& inputs);
  // Throws on failure; see runtime/failure.h.
  std::unique_ptr<CacheEntry> makeEntryInChangingWorld(const FrameLocalsMapping& inputs);
  std::unique_ptr<CacheEntry> makeEntry(const FrameLocalsMapping& inputs);
  // `again`: as that entry was made.
  std::unique_ptr<CacheEntry> makeEntry(const FrameLocalsMapping& inputs, SkippedFunctions& skipped,
                                        const CacheEntry* again = nullptr);
  // The entry was found for the inputs: reports where the guards have let a call through that is
  // translated otherwise by now (verification.cc).
  void verify(CacheEntry& entry, const FrameLocalsMapping& inputs);
  // Is what could not be traced to be raised? By compile()'s arguments, or by the program.
  bool breaksAreErrors(const Outcome& outcome) const;
  // The function runs as plain Python from here on, and the user hears of it. False.
  bool giveUp(const std::string& recompileReason);
  // Notes and reports an error of ours. Leaves a Python exception set only if the user is to see
  // it.
  void recordInternalError(const std::string& message);
  const Hooks& hooks() const;
  void announce(const CacheEntry& entry);
  void warn(const CacheEntry& entry);
  Ref<> describe(const CacheEntry& entry) const;
  std::string whyMissed(const FrameLocalsMapping& inputs);

  EntryPoint entry_;
  std::unique_ptr<bool[]> inputIsCell_;
  Ref<> globals_;
  Ref<> builtins_;
  std::shared_ptr<const Settings> settings_;
  std::shared_ptr<Family> family_;
  // Would a function that is made now have other builtins? Then nothing is compiled.
  bool hasOtherBuiltins() const;

  Entries entries_;
  Profile profile_;
  Entries dropped_;
  int walks_ = 0;
  // Counts the changes of entries_, its order included.
  uint64_t changes_ = 0;
  size_t captureCapacity_ = 0;
  Ref<> plainStatistics_;
  const CacheEntry* found_ = nullptr;
  // All of them count towards the limit: those whose entry has died, and those that failed.
  int32_t compilations_ = 0;
  bool givenUp_ = false;
  bool isFirstUse_ = false;
  bool leavesVarying_ = false;
  std::vector<std::string> internalErrors_;
};

}  // namespace armature
