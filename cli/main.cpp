// The program: the table of commands, and the one place that turns errors into a line and an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "cli/options/unknown_words.h"
#include "cli/words/our_words.h"
#include "core/error.h"
#include "core/plan/shard.h"
#include "core/version.h"
#include "reports/document/table.h"

namespace {

using paretoken::ExitCode;

constexpr std::size_t kLongestMessage = 4000;

/// Prints one line, whatever a server or a file put into the message. Uses fputs, because fmt::print throws
/// when standard error cannot be written.
int report_failure(const std::string& what, ExitCode code) {
    std::fflush(stdout);
    std::fputs(fmt::format("paretoken: {}\n", paretoken::reports::printable(what, kLongestMessage)).c_str(),
               stderr);
    return static_cast<int>(code);
}

/// Throws RuntimeError when standard output could not be written, for example to a full disk. A reader that
/// wanted no more, such as head, is no failure.
void require_printed() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
    if (paretoken::cli::reader_has_gone(STDOUT_FILENO)) return;
    throw paretoken::RuntimeError("cannot write to standard output; is it a file on a full disk?");
}

/// Prints help and version as answers; everything else that the parser refuses is a usage error.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    return report_failure(fmt::format("{}; see --help", error.what()), ExitCode::usage);
}

/// Raises the limit on descriptors as far as the system allows, because every stream needs one.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/// Makes the kernel's table of descriptors large enough for many streams. The kernel doubles a full table,
/// and while a process has several threads, the thread that opened the descriptor then waits 10 to 20 ms for
/// a grace period of read-copy-update (synchronize_rcu in fs/file.c of Linux). During a load, this would
/// delay requests and the stamps of events.
void reserve_descriptor_table() {
    constexpr rlim_t kReserved = 65'536;  // 512 KiB of kernel memory
    rlimit limit{};
    const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (opened < 0) return;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        const int highest =
            fcntl(opened, F_DUPFD_CLOEXEC, static_cast<int>(std::min(kReserved, limit.rlim_cur)) - 1);
        if (highest >= 0) close(highest);
    }
    close(opened);
}

}  // namespace

int main(int argc, char** argv) {
    raise_descriptor_limit();
    reserve_descriptor_table();
    paretoken::cli::let_writes_fail();
    CLI::App app{
        "Measures what an LLM endpoint delivers, what the hardware could deliver, and what a million tokens "
        "costs.",
        "paretoken"};
    app.require_subcommand(1);
    app.set_version_flag(
        "--version", fmt::format("paretoken {} ({})\nbuild type: {}\nCPU kernels: {}", paretoken::version(),
                                 paretoken::commit(), paretoken::build_type(), paretoken::cpu_kernels()));
    app.footer(
        "paretoken COMMAND --help shows the options of a command, and paretoken help TOPIC explains metrics, "
        "figures, validity, exit-codes, loads, datasets or limits, and finds examples and options by any "
        "other word.");
    for (const auto add :
         {paretoken::cli::add_try,       paretoken::cli::add_run,     paretoken::cli::add_sweep,
          paretoken::cli::add_micro,     paretoken::cli::add_report,  paretoken::cli::add_cost,
          paretoken::cli::add_plan,      paretoken::cli::add_gate,    paretoken::cli::add_baseline,
          paretoken::cli::add_cache,     paretoken::cli::add_watch,   paretoken::cli::add_compare,
          paretoken::cli::add_export,    paretoken::cli::add_import,  paretoken::cli::add_serve,
          paretoken::cli::add_calibrate, paretoken::cli::add_dataset, paretoken::cli::add_show,
          paretoken::cli::add_merge,     paretoken::cli::add_help,    paretoken::cli::add_translate}) {
        add(app);
    }
    for (const char* const command : {"try", "gate", "cache", "watch"})
        app.get_subcommand(command)->preparse_callback([command](std::size_t) {
            paretoken::require_one_process(command, paretoken::cli::variable_of_environment);
        });
    try {
        paretoken::cli::refuse_empty_values(app);
        paretoken::cli::let_the_last_value_win(app);
        if (paretoken::cli::answer_help(app, {argv + 1, argv + argc})) {
            require_printed();
            return static_cast<int>(ExitCode::ok);
        }
        std::vector<std::string> words = paretoken::cli::our_words(app, {argv + 1, argv + argc});
        paretoken::cli::hide_keys(argc, argv);
        paretoken::cli::refuse_unknown_words(app, words);
        std::ranges::reverse(words);
        app.parse(words);
        require_printed();
        return static_cast<int>(ExitCode::ok);
    } catch (const CLI::ParseError& error) {
        return report_parse_error(app, error);
    } catch (const paretoken::Error& error) {
        return report_failure(error.what(), error.code());
    } catch (const std::bad_alloc&) {
        return report_failure(
            "there is not enough memory for this; take a shorter run, fewer requests or a smaller file",
            ExitCode::runtime);
    } catch (const std::filesystem::filesystem_error& error) {
        return report_failure(
            fmt::format("{}: it cannot be accessed: {}", error.path1().string(), error.code().message()),
            ExitCode::runtime);
    } catch (const std::exception& error) {
        return report_failure(error.what(), ExitCode::runtime);
    }
}
