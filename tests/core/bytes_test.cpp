#include "core/bytes.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken {
namespace {

TEST(Bytes, AreReadInBinaryAndDecimalUnits) {
    EXPECT_EQ(parse_bytes("24GiB"), 24.0 * 1024 * 1024 * 1024);
    EXPECT_EQ(parse_bytes("16.5 GiB"), 16.5 * 1024 * 1024 * 1024);
    EXPECT_EQ(parse_bytes("80GB"), 80e9);
    EXPECT_EQ(parse_bytes("0"), 0);
    EXPECT_EQ(parse_bytes("0GiB"), 0);
}

TEST(Bytes, WithoutAUnitOrBelowZeroAreRefused) {
    for (const char* const wrong : {"", "24", "24G", "GiB", "-1GiB", "24gb", "nanGiB"})
        EXPECT_THROW(parse_bytes(wrong), UsageError) << wrong;
}

}  // namespace
}  // namespace paretoken
