// torch.func in the graph, as TorchDynamo puts it there: its Python code is traced through, down to
// the functions that enter and leave the levels of the transforms and wrap tensors for them.
//
// What an array is inside of a level only torch knows: operations there are evaluated by entering
// the level and doing all that came before (evaluateOnMeta). A break inside of a transform is that
// of the call.
#pragma once

#include <vector>

#include "libraries/torch/regions.h"
#include "variables/library.h"

namespace armature {

// Null if it is no function of torch.func's machinery that needs one.
LibraryCallHandler findTransformHandler(std::string_view qualifiedName);
// Operations on arrays that belong to it; kind NotOurs for all others.
CallRule transformOperation(std::string_view qualifiedName);
// Is the node one of these? Whether they raise depends on no array's data.
bool isTransformOperation(const Node& node);

// Is a transform at work in this thread?
bool transformsAreActive();
// Breaks inside of transforms, which have torch run what `callable` is given in their own way.
void requireNoTransform(Translator& translator, const Value& callable);
// Is it one of vmap's own functions, of which TorchFunctionModes hear nothing? (That of
// torch.export's tracer does.)
bool isUnheardTransform(BorrowedRef<> callable);

// Does it enter or leave a level, or set what goes with it?
bool changesTransforms(const Node& node);
// Does it make an array of a level require gradients? That has to be allowed meanwhile.
bool setsRequiresGrad(const Node& node);
// Does the graph leave as many levels as it enters, and return no array of theirs?
bool closesTransforms(const Graph& graph);
// Is what the node makes, or does, known only inside of levels that have to be entered for it?
bool isOfTransform(const Node& node);
// Does it take an array out of the outermost level, so that it is one as all others?
bool leavesLevels(const Node& node);
// Is it an operation on arrays of a level that was entered before the trace? What its stand-ins
// tell of those is not true.
bool isOfOuterTransform(const Node& node);
// All nodes of transforms that an evaluation of that node has to do before it, in order.
std::vector<const Node*> transformNodesBefore(const Node& node);

// The thread's levels and what goes with them, for putting them back after a failure.
Library::ModeState transformState();

}  // namespace armature
