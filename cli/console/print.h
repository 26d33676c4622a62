#pragma once
// Prints for people. A measurement must not be lost because nobody reads its output any more, so that an
// error of a stream is not thrown: main() looks at standard output when the command has ended.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace paretoken::cli {

/// Prints to `stream`. What a stream cannot take is lost.
template <class... Values>
void print(std::FILE* stream, fmt::format_string<Values...> format, Values&&... values) {
    const std::string text = fmt::format(format, std::forward<Values>(values)...);
    (void)std::fwrite(text.data(), 1, text.size(), stream);
}

template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
    cli::print(stdout, format, std::forward<Values>(values)...);
}

/// Lets a write fail, in place of ending the process by a signal, if it goes to a pipe whose reader has gone
/// (SIGPIPE) or beyond the limit on the size of a file (`ulimit -f`, SIGXFSZ).
void let_writes_fail();

/// Returns whether `file` is a pipe or a socket from which nothing will be read any more.
bool reader_has_gone(int file);

}  // namespace paretoken::cli
