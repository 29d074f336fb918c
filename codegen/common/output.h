// Writing generated files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace codegen {

// Writes `text` to `path` if the file does not hold exactly that already; true when it wrote. Folders are created, the
// file is replaced in one step (a reader sees the old or the new text), and an unchanged file keeps its mtime, so that
// a build after an idle generation compiles nothing. Throws Error when the disk refuses.
bool write_if_changed(const std::filesystem::path& path, std::string_view text);

// The whole text of a file. Throws Error when it cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace codegen
