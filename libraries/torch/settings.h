// Settings of the process that a graph changes: the default dtype, which kernels attention may
// choose, deterministic algorithms, the precision of products of float32 matrices. What comes
// behind such a call stands in a region (regions.h) that says what is set.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ref.h"
#include "variables/library.h"

namespace armature {

class ModeScope;
class Node;
struct Region;

// How a call of a C function of torch's that sets one is traced; null for other functions.
LibraryCallHandler findSettingHandler(std::string_view qualifiedName);

// Does the operation set one?
bool changesSetting(const Node& node);

// The settings (settingBit) that what comes before has changed in that mode.
uint64_t settingsOfMode(uint32_t mode);

// Sets what that mode has set, until the scope ends. False with a Python exception set on failure.
bool enterSettings(ModeScope& scope, uint32_t mode);

// The call that enters the region; none if it is of another kind.
std::optional<Library::ModeCall> callIntoSetting(const Region& region);

// All of them as they are now, for setSettings(); null with an exception set.
Ref<> currentSettings();
bool setSettings(BorrowedRef<> settings);

}  // namespace armature
