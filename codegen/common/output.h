// Writing generated files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace codegen {

// Writes `text` to `path` unless the file already holds exactly that; true if it wrote. Folders are created, the file
// is replaced atomically (a reader sees the old or the new text), and an unchanged file keeps its mtime, so that a
// build after a generation without changes compiles nothing. Throws Error if writing fails.
bool write_if_changed(const std::filesystem::path& path, std::string_view text);

// The whole text of a file. Throws Error if it cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace codegen
