// Step 1: writes Declarations.yaml from an installed libtorch, without Python.
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include "codegen/common/diagnostics.h"
#include "codegen/common/output.h"
#include "codegen/declarations/declaration.h"
#include "codegen/declarations/headers.h"
#include "codegen/declarations/modules.h"
#include "codegen/declarations/registrations.h"
#include "codegen/declarations/schema.h"

namespace {

namespace fs = std::filesystem;
using namespace codegen;

const char* const kUsage =
    "usage: declarations --include DIR --out FILE [--spec DIR]\n"
    "  --include  the folder that holds ATen/RegistrationDeclarations.h\n"
    "  --out      the Declarations.yaml to write\n"
    "  --spec     the folder that holds python_modules.yaml\n";

struct Options {
  fs::path include;
  fs::path out;
  fs::path spec = CODEGEN_SPEC_DIR;
};

// Returns false for invalid arguments.
bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i];
    if (i + 1 == argc) return false;
    if (key == "--include") {
      options.include = argv[i + 1];
    } else if (key == "--out") {
      options.out = argv[i + 1];
    } else if (key == "--spec") {
      options.spec = argv[i + 1];
    } else {
      return false;
    }
  }
  return !options.include.empty() && !options.out.empty();
}

std::string entry(const Registration& registration, const Headers& headers, const PythonModules& modules,
                  std::unordered_set<std::string>& seen) {
  const Schema schema = parse_schema(registration.schema);
  const std::string name = schema.name + (schema.overload.empty() ? "" : "_" + schema.overload);
  const auto ops = headers.structs.find(name);
  if (ops == headers.structs.end())
    throw std::invalid_argument("at::_ops::" + name + " is not declared in any ATen/ops/*_ops.h");
  if (!seen.insert(schema.name + "." + schema.overload).second) throw std::invalid_argument("declared twice");

  DeclarationFacts facts;
  facts.ops = ops->second;
  facts.is_method = headers.methods.count(name) != 0;
  facts.is_function = headers.functions.count(name) != 0;
  facts.dispatch = registration.dispatch;
  facts.python_module = modules.of(schema.name, schema.generated);
  return declaration_yaml(schema, facts, headers.spelling);
}

// The parser's errors continue with the schema and a stack trace; their first line is enough.
std::string first_line(const std::string& text) {
  const std::size_t start = text.find_first_not_of("\n ");
  if (start == std::string::npos) return "";
  const std::string line = text.substr(start, text.find('\n', start) - start);
  return line.substr(0, line.find_last_not_of(": ") + 1);
}

void write_declarations(const Options& options) {
  const fs::path header = options.include / "ATen/RegistrationDeclarations.h";
  const auto registrations = read_registrations(header);
  const Headers headers = scan_headers(options.include);
  const PythonModules modules(options.spec / "python_modules.yaml");

  std::string text = "# libtorch " + headers.version + "\n";
  std::unordered_set<std::string> seen;
  for (const Registration& registration : registrations) {
    try {
      text += entry(registration, headers, modules, seen);
    } catch (const std::exception& error) {
      throw Error(header.string(), registration.line, "`" + registration.schema + "`: " + first_line(error.what()),
                  "a schema that the linked libtorch accepts");
    }
  }
  const bool wrote = write_if_changed(options.out, text);
  std::cout << (wrote ? "wrote " : "unchanged ") << options.out.string() << ": " << registrations.size()
            << " declarations of libtorch " << headers.version << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) {
    std::cerr << kUsage;
    return 2;
  }
  try {
    write_declarations(options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
