#include "reports/files/output_directory.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "core/error.h"
#include "reports/files/file_io.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text = "{}") {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

std::string refusal(const OutputRequest& request) {
    return message_of<UsageError>([&] { const OutputDirectory directory(request); });
}

TEST(OutputDirectory, a_name_that_is_taken_gets_a_number) {
    const TemporaryDirectory place;
    const OutputRequest request{.path = {}, .fresh = place.path() / "runs/20261121"};
    const OutputDirectory first(request);
    const OutputDirectory second(request);
    const OutputDirectory third(request);
    EXPECT_EQ(first.path(), place.path() / "runs/20261121");
    EXPECT_EQ(second.path(), place.path() / "runs/20261121-2");
    EXPECT_EQ(third.path(), place.path() / "runs/20261121-3");
}

TEST(OutputDirectory, is_refused_where_something_else_is) {
    const TemporaryDirectory place;
    put(place.path() / "file");
    EXPECT_THAT(refusal({.path = place.path() / "file", .fresh = {}}),
                AllOf(HasSubstr("--out"), HasSubstr("a result is a directory")));
    EXPECT_THAT(refusal({.path = place.path() / "file/below/it", .fresh = {}}),
                HasSubstr("file is there and is none"));
    EXPECT_THAT(refusal({.path = "/dev/stdout", .fresh = {}}), HasSubstr("--out /dev/stdout"));
    EXPECT_THAT(refusal({.path = "/dev/null", .fresh = {}}), HasSubstr("--out /dev/null"));
}

TEST(OutputDirectory, one_that_got_no_result_is_removed_again) {
    const TemporaryDirectory place;
    { const OutputDirectory directory({.path = place.path() / "d", .fresh = {}}); }
    EXPECT_FALSE(fs::exists(place.path() / "d"));
    {
        const OutputDirectory directory({.path = place.path() / "d", .fresh = {}});
        put(directory.path() / kRunFileName);
    }
    EXPECT_TRUE(fs::exists(place.path() / "d/run.json"));
    EXPECT_FALSE(fs::exists(place.path() / "d/.paretoken.lock"));
}

TEST(OutputDirectory, a_result_is_replaced_only_when_the_user_says_so) {
    const TemporaryDirectory place;
    put(place.path() / "d/run.json");
    EXPECT_THAT(refusal({.path = place.path() / "d", .fresh = {}}),
                AllOf(HasSubstr("holds the result of a run"), HasSubstr("--overwrite")));
    put(place.path() / "e/requests.jsonl");
    EXPECT_THAT(refusal({.path = place.path() / "e", .fresh = {}}), HasSubstr("--overwrite"));
    const OutputDirectory directory({.path = place.path() / "d", .fresh = {}, .overwrite = true});
    EXPECT_TRUE(fs::exists(place.path() / "d/run.json")) << "it stays until there is something better";
}

TEST(OutputDirectory, a_run_never_goes_into_a_sweep_nor_a_sweep_into_a_run) {
    const TemporaryDirectory place;
    put(place.path() / "s/sweep.json");
    for (const bool overwrite : {false, true}) {
        for (const fs::path& path : {place.path() / "s", place.path() / "s/c0004", place.path() / "s/c0004/"})
            EXPECT_THAT(refusal({.path = path, .fresh = {}, .overwrite = overwrite}),
                        AllOf(HasSubstr("holds "), HasSubstr("a sweep")))
                << path;
    }
    put(place.path() / "r/run.json");
    EXPECT_THAT(
        refusal({.path = place.path() / "r", .fresh = {}, .kind = OutputKind::sweep, .overwrite = true}),
        HasSubstr("holds the result of a run"));
    const OutputDirectory resumed({.path = place.path() / "s", .fresh = {}, .kind = OutputKind::sweep});
    EXPECT_EQ(resumed.path(), place.path() / "s");
}

TEST(OutputDirectory, a_result_never_goes_into_the_directory_of_another_kind) {
    const TemporaryDirectory place;
    const std::vector<std::pair<OutputKind, std::string>> kinds{{OutputKind::run, "run.json"},
                                                                {OutputKind::sweep, "sweep.json"},
                                                                {OutputKind::gate, "gate.json"},
                                                                {OutputKind::cache, "cache.json"},
                                                                {OutputKind::watch, "watch.jsonl"}};
    for (const auto& [held, file] : kinds) {
        put(place.path() / file / file);
        for (const auto& [wanted, unused] : kinds) {
            if (wanted == held) continue;
            EXPECT_THAT(
                refusal({.path = place.path() / file, .fresh = {}, .kind = wanted, .overwrite = true}),
                AllOf(HasSubstr("holds the result of a"), HasSubstr("needs a directory of its own")))
                << file << " for " << static_cast<int>(wanted);
        }
    }
}

TEST(OutputDirectory, a_second_process_is_told_who_holds_it) {
    const TemporaryDirectory place;
    const OutputDirectory held({.path = place.path() / "d", .fresh = {}});
    EXPECT_THAT(
        message_of<RuntimeError>([&] { const OutputDirectory second({.path = held.path(), .fresh = {}}); }),
        AllOf(HasSubstr("process " + std::to_string(::getpid()) + " on "), HasSubstr("d;")));
}

TEST(OutputDirectory, waits_for_a_moment_for_the_lock_of_a_process_that_is_ending) {
    const TemporaryDirectory place;
    OutputDirectory held({.path = place.path() / "d", .fresh = {}});
    put(held.path() / "note");
    std::jthread ending([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        held.release();
    });
    EXPECT_NO_THROW(OutputDirectory({.path = place.path() / "d", .fresh = {}}));
}

TEST(OutputDirectory, the_lock_of_a_process_that_died_is_taken_over) {
    const TemporaryDirectory place;
    const pid_t child = ::fork();
    if (child == 0) {
        const OutputDirectory held({.path = place.path() / "d", .fresh = {}});
        ::_exit(0);  // exits without destructors, as after kill -9
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(fs::exists(place.path() / "d/.paretoken.lock"));
    const OutputDirectory taken({.path = place.path() / "d", .fresh = {}});
    std::ifstream lock(place.path() / "d/.paretoken.lock");
    std::string line;
    std::getline(lock, line);
    EXPECT_THAT(line, HasSubstr("process " + std::to_string(::getpid()) + " on "));
}

}  // namespace
}  // namespace paretoken::reports
