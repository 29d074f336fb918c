#include "codegen/bindings/plan/history.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "codegen/common/output.h"

namespace codegen {
namespace {

// "2.14" -> (2, 14)
std::pair<int, int> number_of(const std::string& release) {
  const size_t dot = release.find('.');
  return {std::stoi(release), std::stoi(release.substr(dot + 1))};
}

// "aten::add.Tensor(Tensor self, …" -> "add.Tensor"
std::set<std::string> overloads_in(const std::string& ledger) {
  std::set<std::string> overloads;
  std::istringstream lines(ledger);
  const std::string start = "aten::";
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(start, 0) == 0) overloads.insert(line.substr(start.size(), line.find('(') - start.size()));
  }
  return overloads;
}

}  // namespace

History History::load(const std::filesystem::path& folder) {
  History history;
  if (!std::filesystem::is_directory(folder)) return history;
  const std::string start = "libtorch-";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".tsv" || name.rfind(start, 0) != 0) continue;
    history.add(name.substr(start.size()), overloads_in(read_text(entry.path())));
  }
  return history;
}

void History::add(const std::string& release, std::set<std::string> overloads) {
  const auto after = std::find_if(releases_.begin(), releases_.end(),
                                  [&](const Release& other) { return number_of(release) < number_of(other.name); });
  releases_.insert(after, {release, std::move(overloads)});
}

std::string History::since(const Declaration& declaration, const std::string& at_hand) const {
  const auto has = [&](const Release& release) {
    return release.name == at_hand || release.overloads.count(declaration.full_name()) != 0;
  };
  const auto first = std::find_if(releases_.begin(), releases_.end(), has);
  if (releases_.size() < 2) return "";
  // Newer than all ledgers and missing from them.
  if (first == releases_.end()) return "libtorch " + at_hand + ", not in " + releases_.back().name;
  std::string text = "libtorch " + first->name;
  text += first == releases_.begin() ? " or before" : ", not in " + std::prev(first)->name;
  if (!has(releases_.back())) text += "; removed in " + std::find_if_not(first, releases_.end(), has)->name;
  return text;
}

}  // namespace codegen
