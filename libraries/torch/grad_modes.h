// torch.no_grad and its like, as context managers that the trace models.
#pragma once

#include "variables/library.h"

namespace armature {

class Translator;

// Registers how calls of these classes are traced. torch must be imported.
void registerGradModes();

// The mode that the graph has set, and how it sets one.
bool isGradientModeOn(Translator& translator);
void setGradientMode(Translator& translator, bool enabled);
Library::ModeCall callIntoGradientMode(bool enabled);

}  // namespace armature
