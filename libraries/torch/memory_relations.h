// Where the arrays of a graph have their memory, as far as its operations say.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SetVector.h>

#include "graph/graph.h"
#include "libraries/torch/meta_evaluation.h"
#include "variables/library.h"

namespace armature {

// The inputs, and the graph's own results, whose memory the array may have.
llvm::SmallSetVector<Node*, 4> memoryRoots(Node* array);

// Is the memory of the array the graph's own? That of an operation's result is new, or some of its
// inputs'.
bool ownsMemory(const Node& array);

// Do data say where in its memory the array, whose metadata is known, begins? A view that was taken
// at an index which is an array itself (x[i], torch.narrow) is there, and so are views of it.
bool placeDependsOnData(const Node& array);

// Does the operation change an array that may share memory with another one, or with itself? torch
// refuses some of that, which stand-ins do not show.
bool mayMeetInMemory(const Node& node, InputStructures inputs);

// What mayMeetInMemory() is afraid of does not happen in this call, and is guarded not to.
bool areApartInMemory(const Node& node, Observer& observer);

// The metadata of an array of the graph; null where nothing is known.
using MetadataOf = llvm::function_ref<const TensorMetadata*(Node*)>;

// Is it so of an array that the operation changes, or of one of which that is a view? The predicate
// is asked of those whose metadata is known.
bool isOfAnyChanged(const Node& node, MetadataOf metadata,
                    llvm::function_ref<bool(const Node&, const TensorMetadata&)> predicate);

// Does the operation write where it reads another element, or twice to one place? torch refuses
// much of that, and for the rest its result follows from the order in which the kernel goes through
// memory. Backends that think of arrays as values answer as if all had been read first.
bool readsWhatItWrites(const Node& node, MetadataOf metadata);

}  // namespace armature
