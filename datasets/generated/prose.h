#pragma once
// A text of people's, which prompts are cut from: its words in order, with one blank between them. Prompts of
// such text are what speculation and routed experts see in use; random words are not.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paretoken::datasets {

class Prose {
  public:
    /// A text with fewer words would give prompts that are much alike.
    static constexpr std::size_t kFewestWords = 1000;

    /// Reads a UTF-8 text. Throws RuntimeError when the file cannot be read, and UsageError when it is no
    /// text or has fewer than kFewestWords words.
    explicit Prose(const std::string& path);

    const std::string& path() const { return path_; }
    std::string name() const { return path_.substr(path_.rfind('/') + 1); }
    const std::string& content() const { return content_; }  ///< core/text/content_hash.h of the file
    std::size_t words() const { return begins_.size(); }

    /// Appends `count` words from the `first`-th one on, modulo words(); behind its last word the text begins
    /// again.
    void append(std::string& text, std::size_t count, std::uint64_t first) const;

  private:
    std::string path_;
    std::string content_;
    std::string text_;                   ///< a blank behind every word
    std::vector<std::uint32_t> begins_;  ///< of each word in `text_`
};

}  // namespace paretoken::datasets
