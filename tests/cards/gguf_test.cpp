#include "cards/gguf.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "tests/cards/gguf_bytes.h"

namespace paretoken::cards {
namespace {

using testing::GgufBytes;
using testing::TemporaryFile;

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ4_1 = 3;

GgufBytes small_file() {
    GgufBytes file;
    file.header(2, 4)
        .entry("general.architecture", "llama")
        .entry("llama.block_count", 2u)
        .numbers("llama.attention.head_count_kv", {3, 1})
        .strings("tokenizer.ggml.tokens", {"a", "bc", ""})
        .tensor("token_embd.weight", {64, 3}, kQ4_1)
        .tensor("norm", {64}, kF32, 160);
    return file;
}

std::string complaint_about_gguf(const std::string& bytes, std::uint64_t data_bytes = 1024) {
    const TemporaryFile file("bad.gguf", bytes, data_bytes);
    try {
        read_gguf_header(file.path());
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find(file.path().string()), std::string::npos);
        return error.what();
    }
    return "accepted";
}

TEST(Gguf, ReadsMetadataAndTensorSizesOfBothVersions) {
    for (const std::uint32_t version : {2u, 3u}) {
        std::string bytes = small_file().bytes();
        bytes[4] = static_cast<char>(version);
        const TemporaryFile file("small.gguf", bytes, 1024);
        const GgufHeader header = read_gguf_header(file.path());
        EXPECT_EQ(header.version, version);
        EXPECT_EQ(header.string("general.architecture"), "llama");
        EXPECT_EQ(header.number("llama.block_count"), 2);
        ASSERT_NE(header.array("llama.attention.head_count_kv"), nullptr);
        EXPECT_EQ(header.array("llama.attention.head_count_kv")->numbers, (std::vector<double>{3, 1}));
        EXPECT_EQ(header.array("tokenizer.ggml.tokens")->length, 3u);
        ASSERT_EQ(header.tensors.size(), 2u);
        EXPECT_EQ(header.tensors[0].dtype, "q4_1");
        EXPECT_EQ(header.tensors[0].bytes, 64u * 3 / 32 * 20);
        EXPECT_EQ(header.tensors[1].bytes, 256u);
        EXPECT_FALSE(header.number("general.name"));
    }
}

TEST(Gguf, RecognisesItsMagicOnly) {
    const TemporaryFile good("good.gguf", small_file().bytes());
    const TemporaryFile other("other.json", "{}");
    EXPECT_TRUE(is_gguf(good.path()));
    EXPECT_FALSE(is_gguf(other.path()));
    EXPECT_FALSE(is_gguf("/nonexistent"));
}

TEST(Gguf, SaysWhatIsWrongWithAFile) {
    EXPECT_NE(complaint_about_gguf("hello, this is no model at all").find("not a GGUF file"),
              std::string::npos);
    EXPECT_NE(complaint_about_gguf(GgufBytes().header(0, 0, 1).bytes()).find("version is 1"),
              std::string::npos);
    EXPECT_NE(complaint_about_gguf(GgufBytes().header(~0ull, 0).bytes()).find("impossible counts"),
              std::string::npos);
    EXPECT_NE(complaint_about_gguf(small_file().bytes(), 300).find("cut off"), std::string::npos);
    EXPECT_NE(complaint_about_gguf(GgufBytes().header(1, 0).tensor("t", {32}, 4).bytes()).find("type 4"),
              std::string::npos);
    EXPECT_NE(complaint_about_gguf(GgufBytes().header(1, 0).tensor("t", {33}, kQ4_1).bytes()).find("blocks"),
              std::string::npos);
    const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
    EXPECT_NE(
        complaint_about_gguf(GgufBytes().header(1, 0).tensor("t", {huge, huge}, kF32).bytes()).find("shape"),
        std::string::npos);
    EXPECT_NE(complaint_about_gguf(GgufBytes().header(1, 0).tensor("t", {1, 1, 1, 1, 1}, kF32).bytes())
                  .find("dimensions"),
              std::string::npos);
    EXPECT_NE(complaint_about_gguf(GgufBytes().header(1, 0).tensor("t", {32}, kF32, huge - 8).bytes())
                  .find("cut off"),
              std::string::npos);
    GgufBytes longer;
    longer.header(0, 1).text("list").plain(GgufBytes::array).plain(GgufBytes::u64).plain(huge);
    EXPECT_NE(complaint_about_gguf(longer.bytes()).find("longer than the file"), std::string::npos);
    GgufBytes text;
    text.header(0, 1).text("name").plain(GgufBytes::string).plain(huge);
    EXPECT_NE(complaint_about_gguf(text.bytes()).find("damaged"), std::string::npos);
    EXPECT_NE(complaint_about_gguf(GgufBytes().header(0, 1).text("k").plain<std::uint32_t>(99).bytes())
                  .find("type 99"),
              std::string::npos);
}

TEST(Gguf, RefusesEveryFileCutOffInItsHeader) {
    const std::string bytes = small_file().bytes();
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_NE(complaint_about_gguf(bytes.substr(0, length), 0), "accepted") << length;
}

TEST(Gguf, SurvivesAnyByteBeingWrong) {
    const std::string bytes = small_file().bytes();
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
        std::string damaged = bytes;
        for (int hits = 0; hits < 3; ++hits)
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        const TemporaryFile file("damaged.gguf", damaged, 2048);
        try {
            read_gguf_header(file.path());
        } catch (const UsageError&) {  // the only allowed failure
        }
    }
}

}  // namespace
}  // namespace paretoken::cards
