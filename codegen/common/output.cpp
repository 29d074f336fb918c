#include "codegen/common/output.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "codegen/common/diagnostics.h"

namespace codegen {
namespace fs = std::filesystem;
namespace {

bool holds(const fs::path& path, std::string_view text) {
  std::error_code error;
  if (fs::file_size(path, error) != text.size() || error) return false;
  return read_text(path) == text;
}

}  // namespace

std::string read_text(const fs::path& path) {
  std::error_code error;
  // A stream opens a directory without an error and reads nothing from it.
  if (fs::is_directory(path, error)) throw Error(path.string(), 0, "is a directory", "a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path.string(), 0, "cannot be opened", "a readable file");
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw Error(path.string(), 0, "cannot be read to its end", "a readable file");
  return text.str();
}

bool write_if_changed(const fs::path& path, std::string_view text) {
  if (holds(path, text)) return false;
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) throw Error(path.parent_path().string(), 0, "cannot create the folder: " + error.message());

  // The process id keeps two concurrent generators from writing into the same temporary file.
  const fs::path temporary = path.string() + ".tmp" + std::to_string(::getpid());
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    if (!out) {
      fs::remove(temporary, error);
      throw Error(path.string(), 0, "cannot be written", "a writable folder with free space");
    }
  }
  fs::rename(temporary, path, error);
  if (error) {
    const std::string reason = error.message();
    fs::remove(temporary, error);
    throw Error(path.string(), 0, "cannot be replaced: " + reason);
  }
  return true;
}

}  // namespace codegen
