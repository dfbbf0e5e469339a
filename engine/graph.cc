#include "armature/graph.h"

#include <nlohmann/json.hpp>

#include "engine/errors.h"
#include "graph/graph.h"
#include "graph/json.h"

namespace armature::api {

namespace {

Result<Object> objectOrError(Ref<> object) {
  if (!object) return takeError();
  return Object::steal(object.release());
}

Error noGraph() { return Error{"ValueError", "this outcome has no graph", Object()}; }

}  // namespace

size_t Graph::operationCount() const { return graph_ ? graph_->operationCount() : 0; }
size_t Graph::inputCount() const { return graph_ ? graph_->placeholders().size() : 0; }
std::string Graph::text() const { return empty() ? std::string() : toString(*graph_); }

std::string Graph::json() const {
  // What is no UTF-8 (a name with a surrogate) is replaced, not refused.
  if (!graph_) return std::string();
  return toJson(*graph_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Object> Graph::toFunction() const {
  if (!graph_) return noGraph();
  return attempt<Object>([&] { return objectOrError(armature::toFunction(*graph_)); });
}

Result<Object> Graph::toTorch() const {
  if (!graph_) return noGraph();
  return attempt<Object>([&] { return objectOrError(toTorchGraphModule(*graph_)); });
}

}  // namespace armature::api
