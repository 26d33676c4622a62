#include "loadgen/http/pool.h"

#include <algorithm>
#include <utility>

namespace paretoken::http {

Pool::Pool(Drain& drain, const Address& address, const TlsContext* tls, std::string host, bool keep_alive)
    : drain_(drain), address_(address), tls_(tls), host_(std::move(host)), keep_alive_(keep_alive) {}

Pool::~Pool() = default;

Connection& Pool::lend(bool fresh) {
    if (!fresh && !idle_.empty() && server_keeps_open()) {
        Connection* connection = idle_.back();
        idle_.pop_back();
        ++lent_again_;
        connection->idle_ = false;
        return *connection;
    }
    // The oldest first: a server that serves only some of its connections at a time has begun with the
    // oldest.
    if (!fresh && !unused_.empty()) {
        Connection* connection = unused_.front();
        unused_.pop_front();
        connection->idle_ = false;
        if (!connection->opened_ahead_) --opening_ahead_;
        return *connection;
    }
    return opened_connection();
}

void Pool::closed_after_answer(bool lent) {
    if (lent) --lent_again_;
    ++closed_after_answer_;
}

Connection& Pool::opened_connection() {
    ++closed_.opened;
    all_.push_back(std::make_unique<Connection>(*this, drain_, address_, tls_, host_));
    all_.back()->position_ = all_.size() - 1;
    return *all_.back();
}

void Pool::open_ahead(std::size_t count) {
    while (unused_.size() < count) {
        Connection& connection = opened_connection();
        connection.idle_ = true;
        unused_.push_back(&connection);
        ++opening_ahead_;
        if (connection.has_failed_to_start()) return drop(connection);
    }
}

void Pool::opened(const ConnectTimes& times, bool ahead) {
    slowest_opening_ = std::max(slowest_opening_, times.tcp + times.tls);
    if (!ahead) return;
    --opening_ahead_;
    ++closed_.opened_ahead;
}

void Pool::take_back(Connection& connection) {
    if (!keep_alive_ || !server_keeps_open()) return drop(connection);
    connection.idle_ = true;
    idle_.push_back(&connection);
}

void Pool::drop(Connection& connection) {
    const std::size_t position = connection.position_;
    if (position >= all_.size() || all_[position].get() != &connection) return;  // was dropped before
    count(connection, closed_);
    if (connection.idle_ && std::erase(idle_, &connection) == 0 && std::erase(unused_, &connection) > 0 &&
        !connection.opened_ahead_)
        --opening_ahead_;
    std::swap(all_[position], all_.back());
    all_[position]->position_ = position;
    dead_.push_back(
        std::move(all_.back()));  // it may be on the call stack now: free_dropped() frees it later
    all_.pop_back();
}

void Pool::free_dropped() {
    dead_.clear();
}

void Pool::close_idle() {
    while (!idle_.empty()) drop(*idle_.back());
    while (!unused_.empty()) drop(*unused_.back());
    free_dropped();
}

void Pool::clear() {
    for (const auto& connection : all_) count(*connection, closed_);
    idle_.clear();
    unused_.clear();
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
