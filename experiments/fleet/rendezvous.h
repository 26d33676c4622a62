#pragma once
// How the processes of one load find each other: where shard 0 listens, and how the others learn it.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paretoken::experiments {

/// Where shard 0 can be reached, and the word by which it knows the processes of its load.
struct MeetingPlace {
    std::vector<std::string> hosts;  ///< names and addresses, to be tried in this order
    std::uint16_t port = 0;
    std::string token = {};  ///< empty for an address that the user gave
};

/// Reads and writes a place as JSON. Throws UsageError.
std::string text_of(const MeetingPlace& place);
MeetingPlace parse_place(const std::string& text);

/// A value of --rendezvous: a host and its port, or a directory, or neither, if MPI shares the place.
struct Rendezvous {
    std::string host = {};
    std::uint16_t port = 0;
    std::filesystem::path directory = {};

    bool by_mpi() const { return host.empty() && directory.empty(); }
};

/// Reads "HOST:PORT", "[ADDRESS]:PORT", "mpi" or a directory. Throws UsageError for a wrong port.
Rendezvous parse_rendezvous(const std::string& text);

/// Returns the names and the addresses of this host, those on networks before the loopback's.
std::vector<std::string> hosts_of_this_machine();

/// The file in a directory in which shard 0 tells where it listens. It is removed with this object.
class PublishedPlace {
  public:
    /// Writes the file. Throws RuntimeError.
    PublishedPlace(const std::filesystem::path& directory, const MeetingPlace& place);
    ~PublishedPlace();
    PublishedPlace(const PublishedPlace&) = delete;
    PublishedPlace& operator=(const PublishedPlace&) = delete;

  private:
    std::filesystem::path path_;
};

/// Returns the place in the file of a directory; nothing while there is none.
std::optional<MeetingPlace> published_place(const std::filesystem::path& directory);

}  // namespace paretoken::experiments
