// Runs the stored inputs of a fuzz target, as a test of a build without libFuzzer:
//   replay DIRECTORY [MUTATIONS]
// Each input is also changed MUTATIONS times, always in the same way. An input that ends the program is left
// in ./mutated. The exit code is 1 where the directory holds no input, and that of the sanitizer, or of
// abort(), where an input breaks the target.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/random.h"
#include "tests/fuzz/fuzz.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Changes one place: a bit, a byte, a part that is left out, doubled or moved, or a token of JSON.
void change(Bytes& bytes, paretoken::Random& random) {
    constexpr std::array<std::string_view, 14> kTokens{
        "null", "-1", "1e308", "NaN", "Infinity", "[]", "{}", "\"", "\\u0", "0", ",", "]", "}", "\n"};
    const std::size_t at = random.below(bytes.size() + 1);
    const std::size_t length = std::min(bytes.size() - at, std::size_t{1} << random.below(9));
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = place + static_cast<std::ptrdiff_t>(length);
    switch (random.below(5)) {
        case 0:
            if (at < bytes.size()) bytes[at] ^= static_cast<std::uint8_t>(1U << random.below(8));
            break;
        case 1:
            bytes.erase(place, end);
            break;
        case 2: {
            const Bytes part(place, end);
            const std::size_t to = random.below(bytes.size() + 1);
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(to), part.begin(), part.end());
            break;
        }
        case 3:
            for (auto byte = place; byte != end; ++byte)
                if (*byte >= '0' && *byte <= '9') *byte = static_cast<std::uint8_t>('0' + random.below(10));
            break;
        default: {
            const std::string_view token = kTokens[random.below(kTokens.size())];
            bytes.erase(place, end);
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), token.begin(), token.end());
        }
    }
}

Bytes mutated(Bytes bytes, std::uint64_t seed) {
    paretoken::Random random(seed);
    const std::uint64_t changes = 1 + random.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) change(bytes, random);
    return bytes;
}

void run(const Bytes& bytes) {
    paretoken::fuzz::fuzz(paretoken::fuzz::Input(bytes.data(), bytes.size()));
}

Bytes bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    paretoken::fuzz::require(file.is_open(), "a stored input can be read");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
    paretoken::fuzz::require(argc == 2 || argc == 3,
                             "the arguments are the directory of the stored inputs and a number of changes");
    const std::uint64_t mutations = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
    int inputs = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
        if (!entry.is_regular_file()) continue;
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);  // the last line names the input that ended the program
        const Bytes bytes = bytes_of(entry.path());
        run(bytes);
        for (std::uint64_t i = 0; i < mutations; ++i) {
            const Bytes changed = mutated(bytes, i);
            std::ofstream("mutated", std::ios::binary)
                .write(reinterpret_cast<const char*>(changed.data()),
                       static_cast<std::streamsize>(changed.size()));
            run(changed);
        }
        ++inputs;
    }
    return inputs > 0 ? 0 : 1;
}
