#pragma once
// A text written by people, from which prompts are cut: its words in order, with one blank between them.
// Speculative decoding and routed experts behave on such prompts as in real use; on random words they do not.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paretoken::datasets {

class Prose {
  public:
    /// The least number of words. Prompts from a shorter text would be too much alike.
    static constexpr std::size_t kFewestWords = 1000;

    /// Reads a UTF-8 text. Throws UsageError when the file cannot be read, is not UTF-8, is larger than 1 GiB
    /// or has fewer than kFewestWords words.
    explicit Prose(const std::string& path);

    const std::string& path() const { return path_; }
    std::string name() const { return path_.substr(path_.rfind('/') + 1); }
    const std::string& content() const { return content_; }  ///< hash of the file
    std::size_t words() const { return begins_.size(); }

    /// Appends `count` words to `text`, with a blank before them unless `text` is empty. The first of them is
    /// word `first` modulo words(). After its last word the prose starts again.
    void append(std::string& text, std::size_t count, std::uint64_t first) const;

  private:
    std::string path_;
    std::string content_;
    std::string text_;                   ///< all words, with a blank behind each
    std::vector<std::uint32_t> begins_;  ///< position of each word in `text_`
};

}  // namespace paretoken::datasets
