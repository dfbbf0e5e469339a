#include "runtime/code_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/pending_python_exception.h"
#include "guards/array_library.h"
#include "runtime/compiled_function.h"
#include "runtime/input_guards.h"
#include "runtime/libraries.h"

namespace armature {

namespace {

thread_local bool compiling = false;
thread_local int plainDepth = 0;
// In any thread; changed under the GIL.
int translationsUnderWay = 0;

class CompilingScope {
 public:
  CompilingScope() : outer_(std::exchange(compiling, true)) { ++translationsUnderWay; }
  ~CompilingScope() {
    compiling = outer_;
    --translationsUnderWay;
  }

 private:
  PlainScope plain_;
  bool outer_;
};

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What codegen asks of us: the backend, and resume functions.
class Environment : public CodegenEnvironment {
 public:
  Environment(const std::shared_ptr<const Settings>& settings,
              std::shared_ptr<std::vector<std::shared_ptr<CodeCache>>> family)
      : settings_(settings), family_(std::move(family)) {}

  Ref<> compileGraph(const Graph& graph) override {
    Clock::time_point start = Clock::now();
    Ref<> result = settings_->backend && onlyTorch(graph) ? callBackend(graph) : toFunction(graph);
    seconds_ += secondsSince(start);
    return result;
  }

  Ref<> resumeFunction(const EntryPoint& entry, BorrowedRef<> globals) override {
    for (const std::shared_ptr<CodeCache>& cache : *family_) {
      if (cache->entry() == entry && cache->globals().get() == globals.get()) {
        return makeResumeFunction(cache);
      }
    }
    family_->push_back(
        std::make_shared<CodeCache>(entry, Ref<>::create(globals), settings_, family_));
    return makeResumeFunction(family_->back());
  }

  double seconds() const { return seconds_; }

 private:
  // Torch backends compile torch operations; NumPy's are executed by NumPy itself.
  static bool onlyTorch(const Graph& graph) {
    for (Node* input : graph.placeholders()) {
      if (input->metadata && input->metadata->library != ArrayLibraryKind::Torch) return false;
    }
    for (const auto& node : graph.nodes()) {
      if (node->library != ArrayLibraryKind::Torch) return false;
    }
    return true;
  }

  Ref<> callBackend(const Graph& graph) {
    Ref<> module = toTorchGraphModule(graph);
    if (!module) return module;
    Ref<> examples = Ref<>::steal(PyList_New(0));
    for (Node* input : graph.placeholders()) PyList_Append(examples.get(), input->example.get());
    Ref<> compiled = Ref<>::steal(PyObject_CallFunctionObjArgs(
        settings_->backend.get(), module.get(), examples.get(), nullptr));
    if (compiled && !PyCallable_Check(compiled.get())) {
      PyErr_Format(PyExc_TypeError,
                   "the backend must return a callable, but returned %.200s; a backend is called "
                   "with (GraphModule, list of example inputs) and returns a function of the same "
                   "inputs",
                   Py_TYPE(compiled.get())->tp_name);
      return nullptr;
    }
    return compiled;
  }

  const std::shared_ptr<const Settings>& settings_;
  std::shared_ptr<std::vector<std::shared_ptr<CodeCache>>> family_;
  double seconds_ = 0;
};

void raiseUnsupported(const BreakReason& reason) {
  Ref<> fields = describe(reason);
  Ref<> exception;
  if (hooks().unsupported) {
    exception = Ref<>::steal(PyObject_CallOneArg(hooks().unsupported.get(), fields.get()));
    if (!exception) return;
  }
  if (exception && PyExceptionInstance_Check(exception.get())) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  } else {
    PyErr_SetString(PyExc_RuntimeError, reason.explanation.c_str());
  }
}

}  // namespace

bool isCompiling() { return compiling; }
bool runsPlain() { return plainDepth > 0; }
PlainScope::PlainScope() { ++plainDepth; }
PlainScope::~PlainScope() { --plainDepth; }

CodeCache::CodeCache(EntryPoint entry, Ref<> globals, std::shared_ptr<const Settings> settings,
                     std::shared_ptr<std::vector<std::shared_ptr<CodeCache>>> family)
    : entry_(std::move(entry)),
      globals_(std::move(globals)),
      settings_(std::move(settings)),
      family_(std::move(family)) {}

void CodeCache::clear() {
  entries_.clear();
  profile_.clear();
  givenUp_ = false;
}

CodeCache::Action CodeCache::find(const FrameLocalsMapping& inputs, PyObject** captures,
                                  Ref<>& function, size_t& captureCount) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    CacheEntry& entry = *entries_[i];
    if (!entry.guards->check(inputs, captures)) continue;
    if (!entry.function) return Action::Plain;
    function = entry.function;
    captureCount = entry.guards->captureCount();
    // Most calls repeat the last one: it is asked first next time.
    if (i > 0) std::swap(entries_[i], entries_[0]);
    return Action::Run;
  }
  // One translation at a time: a trace, or a backend, may let another thread have the GIL, even in
  // the middle of initializing a static variable. That thread runs plainly and never waits.
  if (givenUp_ || runsPlain() || translationsUnderWay > 0) return Action::Plain;
  if (compile(inputs)) return Action::Compiled;
  return PyErr_Occurred() ? Action::Error : Action::Plain;
}

bool CodeCache::accepts(const FrameLocalsMapping& inputs) {
  std::vector<PyObject*> captures(captureCapacity_ + 1);
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->guards->check(inputs, captures.data());
  });
}

bool CodeCache::visitEntry(const FrameLocalsMapping& inputs,
                           llvm::function_ref<void(const CacheEntry&)> visit) {
  std::vector<PyObject*> captures(captureCapacity_ + 1);
  for (const std::unique_ptr<CacheEntry>& entry : entries_) {
    if (!entry->guards->check(inputs, captures.data())) continue;
    visit(*entry);
    return true;
  }
  return false;
}

Ref<> CodeCache::describe(const CacheEntry& entry) const {
  Ref<> dict = entry.describe();
  auto set = [&](const char* key, Ref<> value) {
    PyDict_SetItemString(dict.get(), key, value.get());
  };
  set("name", entry_.code->qualifiedName);
  set("filename", entry_.code->filename);
  int32_t line = entry_.start ? entry_.code->positions[entry_.start].line : entry_.code->firstLine;
  set("line", Ref<>::steal(PyLong_FromLong(line)));
  set("resumes_at", Ref<>::steal(PyLong_FromLong(entry_.start)));
  return dict;
}

std::string CodeCache::whyMissed(const FrameLocalsMapping& inputs) {
  std::string text;
  for (const std::unique_ptr<CacheEntry>& entry : entries_) {
    GuardFailure failure;
    if (entry->guards->checkVerbose(inputs, failure)) continue;
    if (!text.empty()) text += "\n";
    text += failure.text;
    if (!failure.actual.empty()) text += "  (found: " + failure.actual + ")";
  }
  return text;
}

bool CodeCache::compile(const FrameLocalsMapping& inputs) {
  // Entries whose objects have died can never match again.
  std::erase_if(entries_, [](const auto& entry) { return !entry->guards->valid(); });
  std::string recompileReason = whyMissed(inputs);
  if (entries_.size() >= static_cast<size_t>(settings_->recompileLimit)) {
    givenUp_ = true;
    if (hooks().recompileLimit) {
      Ref<> result = Ref<>::steal(PyObject_CallFunction(
          hooks().recompileLimit.get(), "OsOii", entry_.code->qualifiedName.get(),
          recompileReason.c_str(), entry_.code->filename.get(), entry_.code->firstLine,
          settings_->recompileLimit));
      if (!result) return false;
    }
    return false;
  }

  CompilingScope scope;
  Clock::time_point start = Clock::now();
  registerLibraries();
  try {
    for (const auto& entry : entries_) {
      for (const Source* source : entry->guards->variedNumbers(inputs)) profile_.markVaried(source);
    }
    InstructionTranslator translator(entry_, globals_, inputs);
    translator.useProfile(profile_);
    startGlobalState(translator);
    Outcome outcome = translator.translate();
    if (settings_->fullGraph && outcome.kind != Outcome::Kind::Return) {
      raiseUnsupported(*outcome.reason);
      return false;
    }
    if (settings_->backend) observeEverything(translator);

    Environment environment(settings_, family_);
    GeneratedCode generated = PyCodegen(translator, outcome, environment).generate();
    if (!generated.code && generated.unsupported.empty()) return false;
    if (!generated.unsupported.empty() && !outcome.reason) {
      BreakReason& reason = outcome.reason.emplace();
      reason.gbType = "Result that cannot be rebuilt";
      reason.context = generated.unsupported;
      reason.explanation = "No bytecode makes an object that the function returns or changes.";
      reason.filename = PyUnicode_AsUTF8(entry_.code->filename.get());
      reason.function = PyUnicode_AsUTF8(entry_.code->name.get());
      reason.line = entry_.code->firstLine;
    }
    if (!generated.unsupported.empty() && settings_->fullGraph) {
      raiseUnsupported(*outcome.reason);
      return false;
    }

    addFinalGuards(translator);
    auto entry = std::make_unique<CacheEntry>();
    entry->guards = std::make_unique<CheckFunctionManager>(
        translator.sources, translator.takeGuards(), generated.captures, inputs);
    if (generated.code) {
      entry->function = Ref<>::steal(
          PyFunction_New(reinterpret_cast<PyObject*>(generated.code.get()), globals_.get()));
      if (!entry->function) return false;
      captureCapacity_ = std::max(captureCapacity_, generated.captures.size());
    }
    entry->reason = std::move(outcome.reason);
    entry->recompileReason = std::move(recompileReason);
    entry->generated = std::move(generated.canonical);
    entry->instructionCount = translator.instructionCount();
    entry->backendSeconds = environment.seconds();
    for (Node* input : translator.graph->placeholders()) input->example = nullptr;
    entry->graph = std::move(translator.graph);
    entry->traceSeconds = secondsSince(start) - environment.seconds();
    entries_.insert(entries_.begin(), std::move(entry));
  } catch (const PendingPythonException&) {
    return false;
  } catch (const std::exception& error) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_RuntimeError, "armature: internal error while compiling %U: %s",
                   entry_.code->qualifiedName.get(), error.what());
    }
    return false;
  }
  if (hooks().compiled) {
    Ref<> description = describe(*entries_.front());
    Ref<> result = Ref<>::steal(PyObject_CallOneArg(hooks().compiled.get(), description.get()));
    if (!result) return false;
  }
  return true;
}

}  // namespace armature
