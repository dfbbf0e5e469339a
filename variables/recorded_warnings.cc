#include "variables/recorded_warnings.h"

#include "core/graph_break.h"
#include "graph/graph.h"
#include "heap/recorded_warnings.h"
#include "variables/containers/dict.h"
#include "variables/objects/user_defined.h"
#include "variables/side_effects.h"
#include "variables/translator.h"

namespace armature {

void checkListOfWarnings(Translator& translator, BorrowedRef<> list) {
  if (!translator.usedLibraries() || list.get() != listOfWarnings().get()) return;
  throw GraphBreak(GraphBreakKind::RecordedWarnings, "a look into the list of warnings");
}

void checkWarningsOfOperation(Translator& translator, BorrowedRef<> target) {
  BorrowedRef<> list = listOfWarnings();
  bool isKnown = list && translator.known(list);
  Value names = translator.known(namesOfWarnings());
  bool isShownOtherwise = names && translator.effects.isWritten(partOf<DictVariable>(names));
  if (!isKnown && !isShownOtherwise) return;
  throw GraphBreak(GraphBreakKind::RecordedWarnings, targetName(target));
}

}  // namespace armature
