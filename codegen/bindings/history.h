// Since which libtorch there is an overload: what the committed ledgers tell, one for each release that was generated.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "codegen/bindings/schema.h"

namespace codegen {

class History {
 public:
  // Reads libtorch-<major>.<minor>.tsv of the folder, which need not be there. Throws Error when a file cannot be read.
  static History load(const std::filesystem::path& folder);

  // One release and the full names of its overloads.
  void add(const std::string& release, std::set<std::string> overloads);

  // "libtorch 2.6, not in 1.13", for an overload that the libtorch at hand (its release) has. "" when no other release
  // is known, which tells nothing.
  std::string since(const Declaration& declaration, const std::string& at_hand) const;

 private:
  struct Release {
    std::string name;
    std::set<std::string> overloads;
  };
  std::vector<Release> releases_;  // oldest first
};

}  // namespace codegen
