#include "libraries/torch/metadata_rules/table.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>

#include <algorithm>
#include <string>

#include "graph/attribute_read.h"
#include "libraries/torch/callable_names.h"

namespace armature {

namespace {

struct NamedPlace {
  Place place;
  std::string_view prefix;
};

constexpr NamedPlace kPlaces[] = {
    {InTorch, "torch."},           {AsMethod, "torch.Tensor."},
    {InOperator, "operator."},     {InFunctional, "torch.nn.functional."},
    {InBindings, "torch._C._nn."}, {InLinearAlgebra, "torch._C._linalg."},
    {AsAttribute, "getattr "}};

class RuleTable {
 public:
  RuleTable() {
    for (llvm::ArrayRef<Row> rows :
         {pointwiseRows(), viewRows(), indexingRows(), joiningRows(), conversionRows(),
          creationRows(), reductionRows(), linearAlgebraRows(), neuralRows()}) {
      for (const Row& row : rows) add(row);
    }
  }

  const RuleEntry* find(std::string_view name) const {
    auto found = entries_.find(llvm::StringRef(name.data(), name.size()));
    return found == entries_.end() ? nullptr : &found->second;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : entries_) result.push_back(entry.second.name);
    std::ranges::sort(result);
    return result;
  }

 private:
  void add(const Row& row) {
    std::string_view names = row.names;
    while (!names.empty()) {
      size_t end = std::min(names.find(' '), names.size());
      std::string name(names.substr(0, end));
      names.remove_prefix(std::min(end + 1, names.size()));
      for (const NamedPlace& place : kPlaces) {
        if (!(row.places & place.place)) continue;
        std::string prefix(place.prefix);
        bool needsSelf =
            place.place != InOperator && std::string_view(row.parameters).starts_with("self");
        add(prefix + name, row, false, needsSelf);
        if (!(row.places & InPlaceToo)) continue;
        if (place.place == AsMethod || place.place == InTorch)
          add(prefix + name + "_", row, true, true);
        if (place.place == InOperator) {
          std::string stem = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
          add(prefix + "i" + stem, row, true, true);
        }
      }
    }
  }

  void add(const std::string& name, const Row& row, bool isInPlace, bool needsSelf) {
    bool isElementwise = row.places & InPlaceToo;
    entries_.try_emplace(name, RuleEntry{name, Parameters(row.parameters), row.rule, isInPlace,
                                         isElementwise, needsSelf});
  }

  llvm::StringMap<RuleEntry> entries_;
};

const RuleTable& table() {
  static const auto* rules = new RuleTable;
  return *rules;
}

const RuleEntry* findByMethod(std::string_view name) {
  return table().find("torch.Tensor." + std::string(name));
}

const RuleEntry* findFunction(BorrowedRef<> target) {
  std::string name = callableNames().of(target).qualified();
  // C functions whose module says where they are defined, not where programs find them.
  if (const RuleEntry* entry = table().find(name)) return entry;
  constexpr std::string_view kFunctional = "torch.functional.";
  if (name.starts_with(kFunctional))
    return table().find("torch." + name.substr(kFunctional.size()));
  return nullptr;
}

}  // namespace

const RuleEntry* findRule(const Node& node) {
  if (node.operation == NodeOperation::CallMethod) return findByMethod(stringView(node.target));
  if (node.target.get() == getattrFunction()) {
    BorrowedRef<> name = attributeReadBy(node);
    return name ? table().find("getattr " + std::string(stringView(name))) : nullptr;
  }
  // Graphs keep their targets alive, but not for ever: an entry is right only for the object that
  // it was made for, which it therefore owns.
  static auto* known = new llvm::DenseMap<PyObject*, const RuleEntry*>;
  auto [entry, isNew] = known->try_emplace(node.target.get(), nullptr);
  if (isNew) {
    Ref<>(node.target).release();
    entry->second = findFunction(node.target);
  }
  return entry->second;
}

std::vector<std::string> ruleNames() { return table().names(); }

}  // namespace armature
