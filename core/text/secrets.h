#pragma once
// The secrets that a command was given (keys, header values, credentials in URLs). Servers quote requests, so
// that every text from a server passes through redacted() before it is stored or printed.
#include <string>
#include <string_view>
#include <vector>

namespace paretoken {

class Secrets {
  public:
    /// The text that replaces a secret.
    static constexpr std::string_view kHidden = "***";
    /// Shorter values ("1", "true") are not hidden, because that would garble ordinary words.
    static constexpr std::size_t kShortest = 4;

    /// Adds a secret as it is, in JSON, percent-encoded and -decoded, without white space around it.
    void add(std::string_view secret);

    /// Adds the value of a request header and the part after its scheme: for "Bearer KEY", the whole and KEY.
    /// Headers that only describe the request (Content-Type, Accept, …) have no secrets.
    void add_header(std::string_view name, std::string_view value);

    /// Adds user name and password of a URL, and its query's values, except harmless ones like api-version.
    void add_url(std::string_view url);

    bool empty() const { return known_.empty(); }
    const std::vector<std::string>& known() const { return known_; }  ///< all forms of all secrets

    /// Returns `text` with every known secret replaced by kHidden, also the first 6 or more bytes of one at
    /// its end, because a cut text may end within a secret.
    std::string redacted(std::string_view text) const;

    bool operator==(const Secrets&) const = default;

  private:
    void add_form(std::string form);

    std::vector<std::string> known_;
};

/// Returns whether a variable probably holds a secret: "HF_TOKEN", "OPENAI_API_KEY".
bool names_a_secret(std::string_view variable);

/// Returns `url` without credentials and its query's values, except harmless ones, for storing and printing.
std::string redacted_url(std::string_view url);

/// Returns whether a URL, which need not be a valid one, has a name or a password before its host.
bool has_credentials(std::string_view url);

}  // namespace paretoken
