// Armature for programs in C++ that embed CPython.
//
//   auto engine = armature::api::Engine::create();
//   auto compiled = engine->compile(function);
//   auto outcome = engine->capture(compiled->get(), arguments);
//   std::cout << outcome->graph.text();
//   PyObject* result = PyObject_Call(compiled->get(), arguments, nullptr);
//
// Everything needs an initialized interpreter, its main one, and the GIL.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "armature/object.h"
#include "armature/outcome.h"

namespace armature {
struct EngineState;
}

namespace armature::api {

struct Options {
  // Turns (torch.fx.GraphModule, list of example inputs) into a callable. None or nothing: graphs
  // run operation by operation.
  Object backend;
  // A graph break is an error of the call.
  bool fullGraph = false;
  // So many translations of one piece of code are made; then its calls run plainly.
  int recompileLimit = 8;
  // Capture although a debugger, profiler or coverage tool watches the thread, which sees nothing
  // of captured code.
  bool compileWhileTracing = false;
};

// Copies are the same engine. What it has compiled keeps what it needs of it alive.
class Engine {
 public:
  // ImportError if this interpreter is none that Armature can work in.
  static Result<Engine> create(Options options = {});

  // A callable that stands for the Python function and captures it when it is called. TypeError if
  // it is no function.
  Result<Object> compile(PyObject* function) const;
  // Captures the call of a compiled function with these arguments (a tuple, and a dict or null)
  // without running it. If there is a translation that holds for them, that is the outcome.
  // TypeError if it is not what compile() returned, or takes no such arguments.
  Result<Outcome> capture(PyObject* compiled, PyObject* arguments,
                          PyObject* keywords = nullptr) const;
  // All translations of a compiled function that exist: of its start, and of where it goes on after
  // graph breaks.
  Result<std::vector<Outcome>> translations(PyObject* compiled) const;
  // Calls the listener with each translation that is made from here on, in any thread, under the
  // GIL; it must not throw. Replaces the one before; an empty one ends it.
  void onTranslation(std::function<void(const Outcome&)> listener) const;
  // Drops all translations of a compiled function.
  Result<bool> reset(PyObject* compiled) const;

 private:
  Engine() = default;
  std::shared_ptr<const Options> options_;
  std::shared_ptr<EngineState> state_;
};

}  // namespace armature::api
