// Which of the fast ways to look at a library may be used. Each is verified before, where the
// library is first seen; a test can have it fail, to see that the slower ways do.
#pragma once

#include <string_view>

namespace armature {

// Names: "torch.layout" and "torch.functions" (of a tensor), "torch.symbols" and
// "torch.thread_words" (of the global state), "numpy.layout" (of an array), "numpy.module" (that it
// is organized as we know it).
bool trusts(std::string_view way);
// For tests, and only before the library is seen.
void distrust(std::string_view way);

// Tells the user, as a warning, once: that Armature cannot look into a library and leaves calls
// with its arrays to Python. Sets no exception, unless warnings are errors: then it is that one.
void warnOfRefusal(const char* library, const char* why);

}  // namespace armature
