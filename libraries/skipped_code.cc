#include "libraries/skipped_code.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/text.h"
#include "cpython/imported_modules.h"

namespace armature {

namespace {

// The folder of a module's file, with a slash at the end; "" if the module is not imported.
std::string folderOf(const char* module) {
  BorrowedRef<> file = cpython::importedAttribute(module, "__file__");
  if (!file || !PyUnicode_Check(file.get())) return "";
  std::string path = printable(file);
  return path.substr(0, path.rfind('/') + 1);
}

bool startsWith(std::string_view text, std::string_view beginning) {
  return !beginning.empty() && text.substr(0, beginning.size()) == beginning;
}

// Folders of a library in which there are models' own computations.
constexpr std::string_view kCapturedOfTorch[] = {"nn/modules/", "optim/", "distributions/"};

// Its functions call the program's.
constexpr std::string_view kCapturedOfOwn = "_error_on_graph_break.py";

}  // namespace

SkippedCode skippedCode(BorrowedRef<PyCodeObject> code) {
  const std::string text = printable(code->co_filename);
  std::string_view file = text;
  if (startsWith(file, "<frozen ")) return SkippedCode::Frozen;
  static const std::string standardLibrary = folderOf("os");
  static const std::string own = folderOf("armature");
  if (startsWith(file, own)) {
    return file.substr(own.size()) == kCapturedOfOwn ? SkippedCode::No : SkippedCode::Own;
  }
  bool isInstalled =
      file.find("/site-packages/") != file.npos || file.find("/dist-packages/") != file.npos;
  if (startsWith(file, standardLibrary) && !isInstalled) return SkippedCode::StandardLibrary;
  for (const char* library : {"torch", "numpy", "functorch", "_pytest", "pluggy"}) {
    std::string folder = folderOf(library);
    if (!startsWith(file, folder)) continue;
    std::string_view inside = file.substr(folder.size());
    bool isCaptured =
        std::any_of(std::begin(kCapturedOfTorch), std::end(kCapturedOfTorch),
                    [&](std::string_view captured) { return startsWith(inside, captured); });
    return isCaptured ? SkippedCode::No : SkippedCode::Library;
  }
  return SkippedCode::No;
}

}  // namespace armature
