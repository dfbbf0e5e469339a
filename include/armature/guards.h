// The conditions under which a translation holds.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace armature::api {

// As they were when the translation was made, in the order in which they are checked.
class Guards {
 public:
  Guards() = default;
  Guards(std::vector<std::string> guards, std::string program)
      : guards_(std::move(guards)), program_(std::move(program)) {}

  // Each as Python-like text: "L['n'] == 3".
  const std::vector<std::string>& texts() const { return guards_; }
  size_t size() const { return guards_.size(); }
  // The instructions that check them, one a line.
  const std::string& program() const { return program_; }

 private:
  std::vector<std::string> guards_;
  std::string program_;
};

}  // namespace armature::api
