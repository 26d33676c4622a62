// The function that libFuzzer calls.
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    paretoken::fuzz::fuzz(paretoken::fuzz::Input(data, size));
    return 0;
}
