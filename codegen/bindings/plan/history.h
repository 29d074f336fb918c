// The first libtorch release with an overload, from the committed ledgers (one for each generated release).
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "codegen/model/schema.h"

namespace codegen {

class History {
 public:
  // Reads the files libtorch-<major>.<minor>.tsv of the folder, which may be missing. Throws Error for unreadable ones.
  static History load(const std::filesystem::path& folder);

  // One release and the full names of its overloads.
  void add(const std::string& release, std::set<std::string> overloads);

  // "libtorch 2.6, not in 1.13", for an overload that the given release of libtorch has. "" if no other release is
  // known.
  std::string since(const Declaration& declaration, const std::string& at_hand) const;

 private:
  struct Release {
    std::string name;
    std::set<std::string> overloads;
  };
  std::vector<Release> releases_;  // oldest first
};

}  // namespace codegen
