#include "loadgen/http/pool.h"

#include <utility>

namespace paretoken::http {

Pool::Pool(Drain& drain, const Address& address, const TlsContext* tls, std::string host, bool keep_alive)
    : drain_(drain), address_(address), tls_(tls), host_(std::move(host)), keep_alive_(keep_alive) {}

Pool::~Pool() = default;

Connection& Pool::lend(bool fresh) {
    if (!fresh && !idle_.empty()) {
        Connection* connection = idle_.back();
        idle_.pop_back();
        connection->idle_ = false;
        return *connection;
    }
    ++closed_.opened;
    all_.push_back(std::make_unique<Connection>(*this, drain_, address_, tls_, host_));
    all_.back()->position_ = all_.size() - 1;
    return *all_.back();
}

void Pool::take_back(Connection& connection) {
    if (!keep_alive_) return drop(connection);
    connection.idle_ = true;
    idle_.push_back(&connection);
}

void Pool::drop(Connection& connection) {
    const std::size_t position = connection.position_;
    if (position >= all_.size() || all_[position].get() != &connection) return;  // was dropped before
    count(connection, closed_);
    if (connection.idle_) std::erase(idle_, &connection);
    std::swap(all_[position], all_.back());
    all_[position]->position_ = position;
    dead_.push_back(
        std::move(all_.back()));  // it may be on the call stack now: free_dropped() frees it later
    all_.pop_back();
}

void Pool::free_dropped() {
    dead_.clear();
}

void Pool::clear() {
    for (const auto& connection : all_) count(*connection, closed_);
    idle_.clear();
    all_.clear();
}

void Pool::count(const Connection& connection, ConnectionCounts& counts) const {
    const auto tcp = connection.tcp_facts();
    counts.segments_sent += tcp.segments_sent;
    counts.retransmitted += tcp.retransmitted;
}

ConnectionCounts Pool::counts() const {
    ConnectionCounts counts = closed_;
    for (const auto& connection : all_) count(*connection, counts);
    return counts;
}

}  // namespace paretoken::http
