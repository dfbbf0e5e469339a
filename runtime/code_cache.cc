#include "runtime/code_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "core/fault_injection.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/deferred_signals.h"
#include "cpython/function_layout.h"
#include "runtime/argument_binding.h"
#include "runtime/codegen_environment.h"
#include "runtime/failure.h"
#include "runtime/input_guards.h"
#include "runtime/libraries.h"
#include "runtime/python_calls.h"
#include "runtime/thread_state.h"
#include "variables/operation_modes.h"
#include "variables/trace_again.h"

namespace armature {

namespace {

// What codegen has no bytecode for.
const std::string kCannotRebuild = "cannot rebuild ";

// _PyEval_BuiltinsFromGlobals of ceval.c, borrowed.
PyObject* builtinsNamedBy(BorrowedRef<> globals) {
  static PyObject* const name = staticName("__builtins__");
  PyObject* builtins =
      PyDict_CheckExact(globals.get()) ? PyDict_GetItemWithError(globals, name) : nullptr;
  if (!builtins) clearException();
  if (builtins && PyModule_Check(builtins)) builtins = PyModule_GetDict(builtins);
  return builtins ? builtins : PyEval_GetBuiltins();
}

// The beginning of a long text, in whole characters of UTF-8.
std::string abridged(const std::string& text) {
  constexpr size_t kMost = 200;
  if (text.size() <= kMost) return text;
  size_t end = kMost;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

// A break that is known only after the trace, of the function as a whole.
BreakReason wholeFunction(const Code& code, GraphBreakKind kind, std::string context) {
  const GraphBreakEntry& entry = entryOf(kind);
  BreakReason reason;
  reason.kind = kind;
  reason.gbType = entry.gbType;
  reason.context = std::move(context);
  reason.explanation = entry.explanation;
  reason.hints = entry.hints();
  reason.filename = textOf(code.filename);
  reason.function = textOf(code.name);
  reason.line = code.firstLine;
  reason.stack.push_back({code.filename, code.name, code.firstLine});
  return reason;
}

}  // namespace

CodeCache::CodeCache(EntryPoint entry, Ref<> globals, Ref<> builtins,
                     std::shared_ptr<const Settings> settings, std::shared_ptr<Family> family)
    : entry_(std::move(entry)),
      globals_(std::move(globals)),
      builtins_(builtins ? std::move(builtins) : Ref<>::create(builtinsNamedBy(globals_))),
      settings_(std::move(settings)),
      family_(std::move(family)) {
  size_t count = entry_.inputCount();
  inputIsCell_ = std::make_unique<bool[]>(count + 1);
  std::copy(entry_.localIsCell.begin(), entry_.localIsCell.end(),
            inputIsCell_.get() + (count - entry_.locals.size()));
}

CodeCache::~CodeCache() = default;

bool CodeCache::hasOtherBuiltins() const { return builtinsNamedBy(globals_) != builtins_.get(); }

std::shared_ptr<CodeCache> CodeCache::ofFunction(BorrowedRef<> function, CodePtr code,
                                                 std::shared_ptr<const Settings> settings,
                                                 const std::shared_ptr<Family>& family,
                                                 bool movesInputs) {
  Ref<> globals = Ref<>::create(cpython::read(function, cpython::FunctionField::Globals));
  Ref<> builtins = Ref<>::create(cpython::read(function, cpython::FunctionField::Builtins));
  EntryPoint entry = functionEntry(std::move(code));
  entry.movesInputs = movesInputs;
  entry.builtins = builtins.get();
  auto cache = std::make_shared<CodeCache>(std::move(entry), std::move(globals),
                                           std::move(builtins), std::move(settings), family);
  family->caches.push_back(cache);
  return cache;
}

namespace {

// Thrown where the first use of an object has to be left to Python in code that must not break.
struct FirstUseIsPythons {};

}  // namespace

// --- Finding an entry.

CodeCache::Action CodeCache::find(const FrameLocalsMapping& inputs, PyObject** captures,
                                  Ref<>& function, size_t& captureCount, Pins& pins) {
  try {
    bool walkedInPeace = false;
    // What a check lets go of may run foreign code, which may call or reset this very function.
    // Then the walk starts again; code that does so each time is left to Python.
    for (int attempt = 0; attempt < 2 && !walkedInPeace; ++attempt) {
      Walk walk(*this);
      uint64_t changes = changes_;
      walkedInPeace = true;
      for (size_t i = 0; i < entries_.size(); ++i) {
        CacheEntry& entry = *entries_[i];
        bool holds = entry.holds(inputs, captures);
        if (settings_->engine->verifiesTranslations && holds && entry.function && mayTranslate()) {
          verify(entry, inputs);
          if (PyErr_Occurred()) return Action::Error;
          holds = entry.holds(inputs, captures);
        }
        if (holds && entry.function) {
          entry.guards->takePins(captures, pins);
        } else if (holds) {
          entry.guards->releaseCaptures();
        }
        if (changes_ != changes) {
          pins.clear();
          walkedInPeace = false;
          break;
        }
        if (!holds) continue;
        found_ = &entry;
        if (!entry.function) {
          plainStatistics_ = entry.breakStatistics;
          return Action::Plain;
        }
        function = entry.function;
        captureCount = entry.guards->captureCount();
        // Most calls repeat the last one: it is asked first next time.
        if (i > 0) {
          std::swap(entries_[i], entries_[0]);
          ++changes_;
        }
        return Action::Run;
      }
    }
    plainStatistics_ = nullptr;
    found_ = nullptr;
    isFirstUse_ = false;
    if (!walkedInPeace || givenUp_ || hasOtherBuiltins() || !mayTranslate()) return Action::Plain;
    if (compile(inputs)) return Action::Compiled;
  } catch (...) {
    std::string message;
    if (!isForUser(message)) recordInternalError(message);
  }
  return PyErr_Occurred() ? Action::Error : Action::Plain;
}

std::string CodeCache::whyNotCompiled() const {
  if (!internalErrors_.empty()) {
    bool isLimit = internalErrors_.back().starts_with(kCannotRebuild);
    return (isLimit ? "Known limit: " : "Internal error: ") + internalErrors_.back();
  }
  if (isFirstUse_) return "First use of an object";
  if (givenUp_) return "Recompile limit";
  if (hasOtherBuiltins()) return "The function has builtins of its own";
  if (isNearRecursionLimit()) return "Near the recursion limit";
  return "Called while something is being compiled";
}

bool CodeCache::visitEntry(const FrameLocalsMapping& inputs,
                           llvm::function_ref<void(const CacheEntry&)> visit) {
  Walk walk(*this);
  std::vector<PyObject*> captures(captureCapacity_ + 1);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const CacheEntry& entry = *entries_[i];
    if (!entry.holds(inputs, captures.data())) continue;
    visit(entry);
    entry.guards->releaseCaptures();
    return true;
  }
  return false;
}

bool CodeCache::accepts(const FrameLocalsMapping& inputs) {
  return visitEntry(inputs, [](const CacheEntry&) {});
}

std::string CodeCache::whyMissed(const FrameLocalsMapping& inputs) {
  Walk walk(*this);
  std::string text;
  auto add = [&](const std::string& reason) {
    if (!text.empty()) text += "\n";
    text += reason;
  };
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::optional<bool>& isError = entries_[i]->errorOnGraphBreak;
    if (isError && *isError != isErrorOnGraphBreak()) {
      add(std::string("error_on_graph_break is ") + (*isError ? "True" : "False"));
      continue;
    }
    if (!entries_[i]->hasItsCallsLeft()) {
      add("the recursion limit is nearer or farther");
      continue;
    }
    GuardFailure failure;
    if (entries_[i]->guards->checkVerbose(inputs, failure)) continue;
    add(failure.text);
    if (!failure.actual.empty()) text += "  (found: " + abridged(failure.actual) + ")";
  }
  return text;
}

// --- Dropping entries: taken out first, destroyed last.

CodeCache::Entries CodeCache::takeEntries() {
  ++changes_;
  compilations_ = 0;
  internalErrors_.clear();
  return std::exchange(entries_, {});
}

void CodeCache::destroy(Entries entries) {
  if (walks_ == 0) return;
  for (std::unique_ptr<CacheEntry>& entry : entries) dropped_.push_back(std::move(entry));
}

void CodeCache::destroyDropped() { destroy(std::exchange(dropped_, {})); }

void CodeCache::destroyInvalid() {
  auto firstInvalid = std::stable_partition(
      entries_.begin(), entries_.end(), [](const auto& entry) { return entry->guards->valid(); });
  if (firstInvalid == entries_.end()) return;
  Entries invalid(std::make_move_iterator(firstInvalid), std::make_move_iterator(entries_.end()));
  entries_.erase(firstInvalid, entries_.end());
  ++changes_;
  destroy(std::move(invalid));
}

void CodeCache::clear(Caches caches) {
  std::vector<Entries> taken;
  taken.reserve(caches.size());
  for (const std::shared_ptr<CodeCache>& cache : caches) {
    taken.push_back(cache->takeEntries());
    cache->profile_.clear();
    cache->givenUp_ = false;
  }
  for (const std::shared_ptr<CodeCache>& cache : caches) {
    forgetFunctions(Ref<>(cache->family_->pythonCalls));
  }
  for (size_t i = 0; i < caches.size(); ++i) caches[i]->destroy(std::move(taken[i]));
}

void CodeCache::dropFamily(Family& dropped) {
  Family family = std::exchange(dropped, {});
  forgetFunctions(family.pythonCalls);
  std::vector<Entries> taken;
  taken.reserve(family.caches.size());
  for (const std::shared_ptr<CodeCache>& cache : family.caches) {
    taken.push_back(cache->takeEntries());
    cache->givenUp_ = true;
  }
  for (size_t i = 0; i < taken.size(); ++i) family.caches[i]->destroy(std::move(taken[i]));
}

// --- Compiling.

bool CodeCache::compile(const FrameLocalsMapping& inputs) {
  // Entries whose objects have died can never match again.
  destroyInvalid();
  std::string recompileReason = whyMissed(inputs);
  if (compilations_ >= settings_->recompileLimit) return giveUp(recompileReason);
  ++compilations_;
  CompilingScope scope;
  try {
    std::unique_ptr<CacheEntry> entry;
    {
      cpython::DeferredSignals deferred;
      entry = makeEntryInChangingWorld(inputs);
    }
    if (raiseKept() || !cpython::handleSignals()) throw RaisedForUser();
    if (!entry) return false;
    entry->recompileReason = std::move(recompileReason);
    entries_.insert(entries_.begin(), std::move(entry));
    ++changes_;
  } catch (const FirstUseIsPythons&) {
    isFirstUse_ = true;
    raiseKept();
    return false;
  } catch (...) {
    std::string message;
    if (isForUser(message) || raiseKept()) {
      --compilations_;
    } else {
      recordInternalError(message);
    }
    return false;
  }
  Walk walk(*this);
  announce(*entries_.front());
  if (!PyErr_Occurred()) warn(*entries_.front());
  return !PyErr_Occurred();
}

// Other threads, callbacks of the collector, finalizers and backends may change, while a call is
// traced, what the trace has read. It is traced again then, as the world is now; not so where the
// same guard finds the same once more, which is an error of ours. Null: the world does not rest,
// and the call is left to Python.
std::unique_ptr<CacheEntry> CodeCache::makeEntryInChangingWorld(const FrameLocalsMapping& inputs) {
  constexpr int kAttempts = 3;
  std::string changed;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    try {
      return makeEntry(inputs);
    } catch (const FalseGuard& guard) {
      if (guard.what() == changed) throw;
      changed = guard.what();
    }
  }
  reportFailure(hooks(), *entry_.code, "what it reads changes while it is traced: " + changed,
                FailureKind::Limit);
  return nullptr;
}

std::unique_ptr<CacheEntry> CodeCache::makeEntry(const FrameLocalsMapping& inputs) {
  SkippedFunctions skipped;
  skipped.modules = &settings_->engine->skippedModules;
  std::unique_ptr<CacheEntry> entry;
  while (!entry) entry = makeEntry(inputs, skipped);
  entry->skipped = std::move(skipped);
  return entry;
}

std::unique_ptr<InstructionTranslator> CodeCache::newTrace(const FrameLocalsMapping& inputs,
                                                           const Profile& profile,
                                                           bool answersAsPython, bool leavesVarying,
                                                           const SkippedFunctions& skipped) {
  auto trace = std::make_unique<InstructionTranslator>(entry_, globals_, inputs);
  trace->useProfile(profile);
  if (settings_->backend) trace->useForeignBackend();
  if (answersAsPython) trace->answerAsPython();
  if (leavesVarying) trace->leaveVaryingToPython();
  trace->endGeneratorsBy(reconstructedParts());
  trace->skip(skipped);
  const LoggingFunctions& logging = settings_->engine->loggingFunctions;
  if (!logging.empty()) trace->loggingFunctions = &logging;
  return trace;
}

// Null: `skipped` has become more.
std::unique_ptr<CacheEntry> CodeCache::makeEntry(const FrameLocalsMapping& inputs,
                                                 SkippedFunctions& skipped,
                                                 const CacheEntry* again) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  faultSite();
  if (!registerLibraries()) throw RaisedForUser();
  for (size_t i = 0; !again && i < entries_.size(); ++i) {
    const auto& entry = entries_[i];
    for (const Source* source : entry->guards->variedValues(inputs)) profile_.markVaried(source);
  }
  std::unique_ptr<InstructionTranslator> trace;
  Outcome outcome;
  bool isAsPython = again ? again->answersAsPython : entry_.answersAsPython;
  bool isAgain = false, isEndHeard = false;
  int32_t failing = -1;
  // To be translated for yet another value would only bring the limit nearer, behind which nothing
  // is compiled. A second one is left for what varies first in code behind such a break.
  bool isNearLimit = compilations_ + 1 >= settings_->recompileLimit;
  bool leavesVarying = (isNearLimit || leavesVarying_) && !settings_->fullGraph;
  if (again) leavesVarying = again->leavesVarying;
  std::optional<OperationModesAway> modesAway(std::in_place);
  do {
    trace = newTrace(inputs, again ? again->profile : profile_, isAsPython, leavesVarying, skipped);
    if (isEndHeard) trace->looseValues.settleAtOnce();
    if (failing >= 0) trace->graph->breakAt(failing);
    startGlobalState(*trace);
    try {
      outcome = trace->translate();
      trace->settleInputs(outcome);
      settleEnds(*trace);
    } catch (const SignalRaised&) {
      throw RaisedForUser();
    } catch (const EndIsHeard&) {
      isEndHeard = isAgain = true;
      continue;
    } catch (const TraceAgain&) {
      isAgain = true;
      continue;
    } catch (const OperationFails& operation) {
      failing = operation.ordinal;
      isAgain = true;
      continue;
    }
    // A branch for compilers may be for others than this one.
    isAgain = !isAsPython && trace->asksWhetherCompiling() && outcome.raised;
    isAsPython |= isAgain;
    if (!isAgain && breaksAreErrors(outcome) && outcome.kind != Outcome::Kind::Return) {
      if (outcome.reason->kind == GraphBreakKind::FirstUse) throw FirstUseIsPythons();
      raiseUnsupported(hooks(), *outcome.reason);
    }
    if (outcome.skipped) {
      bool isAsked = outcome.reason->kind == GraphBreakKind::SkipFrameCall;
      skipped.codes.push_back(
          {outcome.skipped, isAsked ? std::nullopt : std::move(outcome.reason)});
    }
  } while (outcome.skipped || isAgain);
  InstructionTranslator& translator = *trace;
  std::optional<SeenState> seen;
  if (settings_->backend) {
    observeEverything(translator);
    seen.emplace(translator);
  }
  RuntimeEnvironment environment(settings_, family_, isAsPython);
  if (leavesVarying) environment.leaveVaryingToPython();
  GeneratedCode generated = PyCodegen(translator, outcome, environment).generate();
  if (!generated.code && generated.unsupported.empty()) {
    if (environment.backendRaised()) throw RaisedForUser();
    throw PendingPythonException();
  }
  if (!generated.unsupported.empty() && !outcome.reason) {
    outcome.reason = wholeFunction(*entry_.code, GraphBreakKind::NotRebuilt, generated.unsupported);
  }
  if (!generated.unsupported.empty() && breaksAreErrors(outcome)) {
    raiseUnsupported(hooks(), *outcome.reason);
  }
  // What Python runs from its beginning leaves nothing to be rebuilt amid it.
  if (generated.cannotRebuild && outcome.frames.size() > 1) {
    const CodePtr& broken = outcome.frames.back().code;
    if (!skipped.find(*broken)) {
      skipped.codes.push_back({broken, std::move(outcome.reason)});
      return nullptr;
    }
  }
  if (generated.cannotRebuild) {
    internalErrors_.push_back(kCannotRebuild + generated.unsupported);
    reportFailure(hooks(), *entry_.code, internalErrors_.back(), FailureKind::Limit);
    if (PyErr_Occurred()) throw RaisedForUser();
  }

  faultSite();
  if (seen) seen->requireSame();
  modesAway.reset();
  addFinalGuards(translator);
  auto entry = std::make_unique<CacheEntry>();
  entry->answersAsPython = isAsPython;
  entry->leavesVarying = leavesVarying;
  entry->profile = profile_;
  entry->guards = std::make_unique<CheckFunctionManager>(
      translator.sources, translator.takeGuards(), generated.captures, inputs);
  if (generated.code) {
    entry->function = cpython::makeFunction(reinterpret_cast<PyObject*>(generated.code.get()),
                                            globals_, builtins_);
    if (!entry->function) throw PendingPythonException();
    captureCapacity_ = std::max(captureCapacity_, generated.captures.size());
  }
  if (outcome.reason || translator.observedErrorOnGraphBreak()) {
    entry->errorOnGraphBreak = isErrorOnGraphBreak();
  }
  if (outcome.reachedRecursionLimit) {
    entry->mostCallsLeft = translator.callDepth.left();
  } else {
    entry->leastCallsLeft = translator.callDepth.most();
  }
  if (outcome.reason) entry->breakStatistics = environment.breakStatistics();
  entry->reason = std::move(outcome.reason);
  entry->generated = std::move(generated.canonical);
  entry->instructionCount = translator.instructionCount();
  entry->backendSeconds = environment.backendSeconds();
  for (Node* input : translator.graph->placeholders()) {
    input->example = nullptr;
    input->number = nullptr;
  }
  if (outcome.kind != Outcome::Kind::SkipFrame) entry->graph = std::move(translator.graph);
  double total = std::chrono::duration<double>(Clock::now() - start).count();
  entry->traceSeconds = total - entry->backendSeconds;
  entry->warnings.assign(translator.warnings.begin(), translator.warnings.end());
  return entry;
}

bool CodeCache::breaksAreErrors(const Outcome& outcome) const {
  return settings_->fullGraph || outcome.breakIsError;
}

bool CodeCache::giveUp(const std::string& recompileReason) {
  givenUp_ = true;
  Ref<> hook = hooks().recompileLimit;
  if (!hook) return false;
  // What it raises reaches the caller: a handler of the log is the program's.
  Ref<>::steal(PyObject_CallFunction(hook.get(), "OsOii", entry_.code->qualifiedName.get(),
                                     recompileReason.c_str(), entry_.code->filename.get(),
                                     entry_.code->firstLine, settings_->recompileLimit));
  return false;
}

// --- What the user hears.

void CodeCache::recordInternalError(const std::string& message) {
  internalErrors_.push_back(message);
  if (settings_->fullGraph) {
    try {
      raiseUnsupported(hooks(),
                       wholeFunction(*entry_.code, GraphBreakKind::InternalError, message));
    } catch (const RaisedForUser&) {
      return;
    }
  }
  reportFailure(hooks(), *entry_.code, message, FailureKind::Error);
}

const Hooks& CodeCache::hooks() const { return settings_->engine->hooks; }

void CodeCache::warn(const CacheEntry& entry) {
  for (const std::string& text : entry.warnings) {
    // Where warnings are errors, this one is none of the program's.
    bool isError = PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0;
    if (isError && !PyErr_ExceptionMatches(PyExc_Exception)) return;
    clearException();
  }
}

void CodeCache::announce(const CacheEntry& entry) {
  if (hooks().translated) hooks().translated(entry);
  Ref<> hook = hooks().compiled;
  if (!hook) return;
  Ref<> description = describe(entry);
  Ref<> result;
  if (description) result = Ref<>::steal(PyObject_CallOneArg(hook.get(), description.get()));
  // A log that fails is no reason for the program to fail.
  if (!result && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_WriteUnraisable(hook.get());
}

Ref<> CodeCache::describe(const CacheEntry& entry) const {
  Ref<> dict = entry.describe();
  auto set = [&](const char* key, Ref<> value) {
    if (dict && (!value || PyDict_SetItemString(dict.get(), key, value.get()) < 0)) dict = nullptr;
  };
  set("name", entry_.code->qualifiedName);
  set("filename", entry_.code->filename);
  int32_t line = entry_.start ? entry_.code->positions[entry_.start].line : entry_.code->firstLine;
  set("line", Ref<>::steal(PyLong_FromLong(line)));
  set("resumes_at", Ref<>::steal(PyLong_FromLong(entry_.start)));
  return dict;
}

void CodeCache::visitEntries(llvm::function_ref<void(const CacheEntry&)> visit) {
  Walk walk(*this);
  std::vector<const CacheEntry*> entries;
  for (const std::unique_ptr<CacheEntry>& entry : entries_) entries.push_back(entry.get());
  for (const CacheEntry* entry : entries) visit(*entry);
}

bool CodeCache::describeEntries(BorrowedRef<> list) {
  bool ok = true;
  visitEntries([&](const CacheEntry& entry) {
    if (!ok) return;
    Ref<> dict = describe(entry);
    ok = dict && PyList_Append(list.get(), dict.get()) == 0;
  });
  return ok;
}

int CodeCache::traverse(visitproc visit, void* arg) const {
  Py_VISIT(globals_.get());
  Py_VISIT(builtins_.get());
  for (const std::unique_ptr<CacheEntry>& entry : entries_) {
    if (int stop = entry->traverse(visit, arg)) return stop;
  }
  return 0;
}

std::vector<std::shared_ptr<const Graph>> CodeCache::graphs() const {
  std::vector<std::shared_ptr<const Graph>> graphs;
  for (const std::unique_ptr<CacheEntry>& entry : entries_) {
    if (entry->graph && !entry->graph->empty()) graphs.push_back(entry->graph);
  }
  return graphs;
}

}  // namespace armature
