// Which guards and paths belong into which section of a guard program: those that hold as long as
// what the section enters is what it was.
#pragma once

#include "guards/guard_tree.h"

namespace armature {

// Guards on what a dict holds: answered by its version.
bool isAboutDictContent(const Guard& guard, const GuardNode& node);

// Guards on what a class has, its metaclass aside: answered by the type's version.
bool isAboutTypeContent(const Guard& guard, const GuardNode& node);

// Guards whose outcome for one object never changes.
bool isAboutIdentity(const Guard& guard, const GuardNode& node);

// Paths that always lead from one object to the same other one.
bool leadsToTheSame(const Source& source);

// Paths that a type's version answers, and a dict's.
bool isFoundInType(const Source& source);
bool isDictEntry(const Source& source);

}  // namespace armature
