#include "cli/console/print.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

namespace paretoken::cli {
namespace {

TEST(Print, goes_on_when_the_reader_of_a_pipe_has_gone) {
    let_writes_fail();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::FILE* const stream = ::fdopen(ends[1], "w");
    ASSERT_NE(stream, nullptr);
    print(stream, "{}\n", 1);
    EXPECT_EQ(std::fflush(stream), 0);
    EXPECT_FALSE(reader_has_gone(ends[1]));
    ::close(ends[0]);
    EXPECT_TRUE(reader_has_gone(ends[1]));
    EXPECT_NO_THROW(print(stream, "{}\n", std::string(100'000, 'x')));
    EXPECT_NE(std::ferror(stream), 0);
    EXPECT_NO_THROW(print(stream, "{}\n", 2));
    std::fclose(stream);
}

TEST(Print, does_not_take_a_full_disk_for_a_reader_that_has_gone) {
    std::FILE* const full = std::fopen("/dev/full", "w");
    ASSERT_NE(full, nullptr);
    EXPECT_NO_THROW(print(full, "{}\n", 1));
    EXPECT_NE(std::fflush(full), 0);
    EXPECT_FALSE(reader_has_gone(::fileno(full)));
    std::fclose(full);
}

TEST(Print, goes_on_when_a_file_reaches_the_limit_on_its_size) {
    let_writes_fail();
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_NO_THROW(print(file, "{}\n", std::string(100'000, 'x')));
    EXPECT_NE(std::ferror(file), 0);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::fclose(file);
}

}  // namespace
}  // namespace paretoken::cli
