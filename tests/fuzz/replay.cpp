// Runs the stored inputs of a fuzz target, as a test of a build without libFuzzer:
//   replay DIRECTORY
// The exit code is 1 where the directory holds no input, and that of the sanitizer, or of abort(), where an
// input breaks the target.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz.h"

namespace {

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    paretoken::fuzz::require(file.is_open(), "a stored input can be read");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
    paretoken::fuzz::require(argc == 2, "the only argument is the directory of the stored inputs");
    int inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);  // the last line names the input that ended the program
        const auto bytes = bytes_of(entry.path());
        paretoken::fuzz::fuzz(paretoken::fuzz::Input(bytes.data(), bytes.size()));
        ++inputs;
    }
    return inputs > 0 ? 0 : 1;
}
