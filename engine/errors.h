// From what the engine does on failure to what its public interface returns.
#pragma once

#include <exception>

#include "armature/object.h"
#include "core/pending_python_exception.h"

namespace armature::api {

// The pending Python exception, taken; of type "RuntimeError" if there is none.
Error takeError();
Error internalError(const char* what);

// Runs `function`, which returns a Result, and lets nothing that it throws pass.
template <class T, class Function>
Result<T> attempt(Function&& function) {
  try {
    return function();
  } catch (const PendingPythonException&) {
    return takeError();
  } catch (const std::exception& error) {
    return PyErr_Occurred() ? takeError() : internalError(error.what());
  } catch (...) {
    return PyErr_Occurred() ? takeError() : internalError("unknown");
  }
}

}  // namespace armature::api
