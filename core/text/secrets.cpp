#include "core/text/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/text/letter_case.h"
#include "core/text/percent_encoding.h"

namespace paretoken {
namespace {

/// The number of first bytes from which on a cut secret is recognised.
constexpr std::size_t kShortestBeginning = 6;

constexpr std::array<std::string_view, 10> kPlainHeaders = {
    "accept",     "accept-encoding", "accept-language", "cache-control",
    "connection", "content-length",  "content-type",    "host",
    "user-agent", "x-request-id"};

constexpr std::array<std::string_view, 7> kPlainParameters = {"api-version", "api_version", "version", "v",
                                                              "alt",         "deployment",  "region"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
    return std::ranges::find(names, lower_case(name)) != names.end();
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    const auto begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string percent_encoded(std::string_view text, const char* digits) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
            out += c;
        } else {
            out += {'%', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return out;
}

/// Returns the text with JSON's escapes. Headers and URLs have no control characters.
std::string json_escaped(std::string_view text, bool slashes) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\' || (slashes && c == '/')) out += '\\';
        out += c;
    }
    return out;
}

/// The two parts of a URL that may hold secrets, unchanged.
struct UrlParts {
    std::string_view credentials;  ///< between "://" and "@"
    std::string_view query;        ///< after "?", up to "#"
};

/// Returns the position behind the scheme and its slashes, also if these are too few or the scheme is
/// missing.
std::size_t begin_of_authority(std::string_view url) {
    std::size_t begin = 0;
    if (const auto scheme = url.find("://"); scheme != std::string_view::npos)
        begin = scheme + 1;
    else if (const auto colon = url.find(':'); url.starts_with("http:") || url.starts_with("https:"))
        begin = colon + 1;
    return std::min(url.find_first_not_of('/', begin), url.size());
}

UrlParts parts_of(std::string_view url) {
    UrlParts parts;
    if (url.starts_with("sim:")) return parts;  // a profile of the simulated server and its settings
    const std::size_t begin = begin_of_authority(url);
    std::string_view authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
    const auto colon = std::min(authority.find(':'), authority.size());
    // What follows a name is a port or a password, and a password may hold '/' and '#'.
    const bool is_ipv6 = authority.starts_with('[');
    if (!is_ipv6 && authority.find_first_not_of("0123456789", colon + 1) != std::string_view::npos)
        authority = url.substr(begin, url.find('?', begin) - begin);
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
        parts.credentials = authority.substr(0, at);
    }
    if (const auto mark = url.find('?', begin); mark != std::string_view::npos) {
        parts.query = url.substr(mark + 1, url.find('#', mark) - mark - 1);
    }
    return parts;
}

/// Calls `visit(value)` for every value of the query string that may be a secret. A parameter without '=' is
/// itself a value.
template <class Visit>
void for_each_secret_value(std::string_view query, Visit visit) {
    while (!query.empty()) {
        const auto end = std::min(query.find('&'), query.size());
        const std::string_view parameter = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        const auto equals = parameter.find('=');
        if (equals == std::string_view::npos) {
            if (!parameter.empty()) visit(parameter);
        } else if (!is_one_of(kPlainParameters, parameter.substr(0, equals)) &&
                   equals + 1 < parameter.size()) {
            visit(parameter.substr(equals + 1));
        }
    }
}

}  // namespace

void Secrets::add_form(std::string form) {
    if (form.size() < kShortest) return;
    if (std::ranges::find(known_, form) == known_.end()) known_.push_back(std::move(form));
}

void Secrets::add(std::string_view secret) {
    const std::string plain(trimmed(secret));
    add_form(plain);
    add_form(json_escaped(plain, false));
    add_form(json_escaped(plain, true));
    add_form(percent_encoded(plain, "0123456789ABCDEF"));
    add_form(percent_encoded(plain, "0123456789abcdef"));
    add_form(percent_decoded(plain));
}

void Secrets::add_header(std::string_view name, std::string_view value) {
    if (is_one_of(kPlainHeaders, trimmed(name))) return;
    value = trimmed(value);
    add(value);
    if (const auto space = value.find(' '); space != std::string_view::npos) add(value.substr(space + 1));
}

void Secrets::add_url(std::string_view url) {
    const UrlParts parts = parts_of(url);
    if (!parts.credentials.empty()) {
        add(parts.credentials);
        const auto colon = parts.credentials.find(':');
        add(parts.credentials.substr(0, colon));
        if (colon != std::string_view::npos) add(parts.credentials.substr(colon + 1));
    }
    for_each_secret_value(parts.query, [this](std::string_view value) { add(value); });
}

std::string Secrets::redacted(std::string_view text) const {
    std::vector<std::pair<std::size_t, std::size_t>> hidden;  // begin, end
    for (const std::string& secret : known_) {
        for (auto at = text.find(secret); at != std::string_view::npos; at = text.find(secret, at + 1)) {
            hidden.emplace_back(at, at + secret.size());
        }
        for (std::size_t length = std::min(secret.size() - 1, text.size()); length >= kShortestBeginning;
             --length) {
            if (!text.ends_with(std::string_view(secret).substr(0, length))) continue;
            hidden.emplace_back(text.size() - length, text.size());
            break;
        }
    }
    if (hidden.empty()) return std::string(text);
    std::ranges::sort(hidden);
    std::string out;
    std::size_t done = 0;
    for (std::size_t i = 0; i < hidden.size();) {
        const std::size_t begin = hidden[i].first;
        std::size_t end = hidden[i].second;
        for (++i; i < hidden.size() && hidden[i].first <= end; ++i) end = std::max(end, hidden[i].second);
        out.append(text.substr(done, begin - done)).append(kHidden);
        done = end;
    }
    return out.append(text.substr(done));
}

bool names_a_secret(std::string_view variable) {
    constexpr std::string_view kWords[] = {"KEY",    "TOKEN",      "SECRET",     "PASSWORD",
                                           "PASSWD", "CREDENTIAL", "PASSPHRASE", "COOKIE"};
    std::string name(variable);
    for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return std::ranges::any_of(kWords,
                               [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

bool has_credentials(std::string_view url) {
    return !parts_of(url).credentials.empty();
}

std::string redacted_url(std::string_view url) {
    const UrlParts parts = parts_of(url);
    std::string out;
    std::size_t done = 0;
    const auto hide = [&](std::string_view secret) {
        const auto begin = static_cast<std::size_t>(secret.data() - url.data());
        out.append(url.substr(done, begin - done)).append(Secrets::kHidden);
        done = begin + secret.size();
    };
    if (!parts.credentials.empty()) hide(parts.credentials);
    for_each_secret_value(parts.query, hide);
    return out.append(url.substr(done));
}

}  // namespace paretoken
