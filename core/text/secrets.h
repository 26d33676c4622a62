#pragma once
// The secrets that a command was given (an API key, header values, credentials and keys in a URL), and how to
// keep them out of every text that is stored or printed. A server may quote what it was sent, so every text
// from a server passes through redacted() before it is kept. A value: pure, no I/O.
#include <string>
#include <string_view>
#include <vector>

namespace paretoken {

class Secrets {
  public:
    /// The text that replaces a secret.
    static constexpr std::string_view kHidden = "***";
    /// A shorter value ("1", "true") is no secret: hiding it would only garble ordinary words.
    static constexpr std::size_t kShortest = 4;

    /// One secret. Its forms in a JSON string and in a URL (percent-encoded or not) are known with it. Spaces
    /// and line ends around it do not count.
    void add(std::string_view secret);

    /// The value of a request header, and what follows its scheme: of "Bearer KEY" both are secret. Headers
    /// that only describe the request (Content-Type, Accept, …) hold none.
    void add_header(std::string_view name, std::string_view value);

    /// User name and password of "http://USER:PASSWORD@HOST", and the values of the query string, except
    /// those that are known to be harmless, such as api-version.
    void add_url(std::string_view url);

    bool empty() const { return known_.empty(); }

    /// `text` with every occurrence of a known secret replaced by kHidden. A beginning of a secret at the end
    /// of the text, as a length limit leaves it, is hidden as well.
    std::string redacted(std::string_view text) const;

    bool operator==(const Secrets&) const = default;

  private:
    void add_form(std::string form);

    std::vector<std::string> known_;
};

/// Whether an environment variable of this name probably holds a secret: "HF_TOKEN", "OPENAI_API_KEY".
bool names_a_secret(std::string_view variable);

/// `url` with its credentials and the values of its query string hidden, except the harmless ones. For URLs
/// that are stored or printed. A text that is no URL, and the simulated server's "sim:…", come back
/// unchanged.
std::string redacted_url(std::string_view url);

}  // namespace paretoken
