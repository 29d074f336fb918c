// Step 2: Declarations.yaml and the spec -> the op tables, the wrappers, the declarations and the ledger.
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "codegen/bindings/emit/emit.h"
#include "codegen/bindings/input/load.h"
#include "codegen/bindings/plan/plan.h"
#include "codegen/bindings/spec/spec.h"
#include "codegen/bindings/spec/type_rules.h"
#include "codegen/common/diagnostics.h"
#include "codegen/common/output.h"

namespace {

const char* const kUsage =
    "usage: bindings --declarations FILE --spec DIR --out DIR --ledger DIR [--history DIR] [--check]\n"
    "  --declarations FILE  what `declarations` wrote\n"
    "  --spec DIR           the folder codegen/spec\n"
    "  --out DIR            gets native/generated, lib/generated and types/generated\n"
    "  --ledger DIR         gets libtorch-<major>.<minor>.tsv\n"
    "  --history DIR        ledgers of several releases: since which there is an op\n"
    "  --check              write nothing; exit 1 when the ledger differs from what would be written\n";

// Removes files of earlier versions from the folders named `generated` that were written to: they would be compiled.
void remove_others(const std::set<std::filesystem::path>& written) {
  std::set<std::filesystem::path> folders;
  for (const auto& path : written) folders.insert(path.parent_path());
  for (const auto& folder : folders) {
    if (folder.filename() != "generated") continue;
    std::vector<std::filesystem::path> others;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file() && written.count(entry.path().lexically_normal()) == 0)
        others.push_back(entry.path());
    }
    for (const auto& other : others) std::filesystem::remove(other);
  }
}

struct Options {
  std::filesystem::path declarations, spec, out, ledger, history;
  bool check = false;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--check") {
      options.check = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (name == "--declarations") {
      options.declarations = value;
    } else if (name == "--spec") {
      options.spec = value;
    } else if (name == "--out") {
      options.out = value;
    } else if (name == "--ledger") {
      options.ledger = value;
    } else if (name == "--history") {
      options.history = value;
    } else {
      return false;
    }
  }
  return !options.declarations.empty() && !options.spec.empty() && !options.out.empty() && !options.ledger.empty();
}

int run(const Options& options) {
  using namespace codegen;
  const Model model = load_declarations(options.declarations);
  const Spec spec = load_spec(options.spec);
  check_rules(spec, model);
  Plan plan = make_plan(model, spec);
  const History history = History::load(options.history);
  plan.history = &history;
  const std::string ledger = emit_ledger(plan);
  const auto ledger_path = options.ledger / ("libtorch-" + release_of(model.libtorch_version) + ".tsv");
  if (options.check) {
    const std::string committed = std::filesystem::exists(ledger_path) ? read_text(ledger_path) : "";
    if (committed == ledger) return 0;
    throw Error(ledger_path.string(), 0, "the committed ledger differs from the output of codegen",
                "the result of `npm run codegen`; review the difference and commit it");
  }
  std::set<std::filesystem::path> written;
  for (const Files& files : {emit_cpp(plan), emit_js(plan), emit_codes(), emit_dts(plan)}) {
    for (const auto& [path, text] : files) {
      write_if_changed(options.out / path, text);
      written.insert((options.out / path).lexically_normal());
    }
  }
  remove_others(written);
  write_if_changed(ledger_path, ledger);
  std::cerr << ledger.substr(2, ledger.find('.', ledger.find("skipped")) - 2) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::cerr << kUsage;
    return 2;
  }
  try {
    return run(options);
  } catch (const codegen::Error& error) {
    std::cerr << error.what() << '\n';
  } catch (const std::exception& error) {  // a bug in the generator
    std::cerr << "bindings: " << error.what() << '\n';
  }
  return 1;
}
