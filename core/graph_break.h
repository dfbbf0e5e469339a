// What the translator throws when it meets something that it cannot trace.
//
// A GraphBreak says nothing about the traced program being wrong: the interpreter catches it in one
// place, rewinds to where the program can be resumed, and lets Python run what was unsupported.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace armature {

class GraphBreak : public std::exception {
 public:
  // gbType: the kind of break, a short constant phrase by which breaks are counted and looked up.
  // context: the values at hand. explanation: why it cannot be traced. hints: what to do about it.
  GraphBreak(std::string gbType, std::string context, std::string explanation,
             std::vector<std::string> hints = {})
      : gbType_(std::move(gbType)),
        context_(std::move(context)),
        explanation_(std::move(explanation)),
        hints_(std::move(hints)) {}

  const std::string& gbType() const { return gbType_; }
  const std::string& context() const { return context_; }
  const std::string& explanation() const { return explanation_; }
  const std::vector<std::string>& hints() const { return hints_; }
  const char* what() const noexcept override { return explanation_.c_str(); }

 private:
  std::string gbType_;
  std::string context_;
  std::string explanation_;
  std::vector<std::string> hints_;
};

}  // namespace armature
