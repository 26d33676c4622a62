#pragma once
// Sends requests on connections that a pool lends, and gives one RequestRecord for each to a sink. A request
// that fails ends with a record, not an exception. A client belongs to one thread.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record.h"
#include "core/record/request.h"
#include "core/run/client_report.h"
#include "core/text/secrets.h"
#include "loadgen/client_options.h"
#include "loadgen/http/pool.h"
#include "loadgen/protocol/answer.h"
#include "loadgen/protocol/delta.h"

namespace paretoken::loadgen {

/// A request with its body already written, so that a due dispatch only has to send.
struct PreparedRequest {
    Request request;
    std::string body;
    std::string headers = {};              ///< further headers of this request, as lines of HTTP
    std::vector<std::string> tokens = {};  ///< session tokens among them, which are secret
    protocol::AnswerLimits limits = {};
    bool keep_answer = false;                     ///< whether the record gets the answer's text
    std::optional<Duration> hangs_up_after = {};  ///< time from the start to giving the request up
};

/// Returns the longest time that bytes may wait here before the client is blamed for events that share a
/// read: the stream's mean time per event, a quarter of that between reads, and more than a nap. If all
/// events came together, it is the time in which the fastest servers make so many tokens.
Duration longest_fair_delay(const std::vector<StreamEvent>& events);

class ClientSink {
  public:
    virtual ~ClientSink() = default;
    /// Reports the tokens in the head of a good answer, one for each of ClientOptions::session_tokens; empty
    /// means that the server set none.
    virtual void on_session_tokens(const RequestRecord& record, const std::vector<std::string>& tokens) = 0;
    /// Reports the first output of a streamed answer, at most once for a request and before on_finished.
    virtual void on_first_token(const RequestRecord& record, TimePoint at) = 0;
    /// Reports the end of a request. `over_at`: when the last bytes arrived, it failed, or the client stopped
    /// waiting for the end of the HTTP message of a complete answer.
    virtual void on_finished(RequestRecord record, TimePoint over_at) = 0;
};

class Client {
  public:
    /// `pool` and `sink` must outlive it. Throws UsageError if the extra body is no JSON object.
    Client(http::Pool& pool, const ClientOptions& options, ClientSink& sink);
    ~Client();

    /// Writes the body of a request and computes the limits of its answer. The caller sets the other members.
    /// Throws std::invalid_argument for a prompt that the protocol does not take.
    PreparedRequest prepare(Request request) const;

    /// Starts a request. `record` has index, turn, worker, warmup, scheduled, slot_wait and target; it goes
    /// to the sink when the request ends, possibly before start() returns. Throws RuntimeError.
    void start(PreparedRequest prepared, RequestRecord record);

    /// Repeats the requests whose kept-alive connection closed before any byte of the answer came, each at
    /// most once and on a new connection. Must not be called from a callback.
    void resend();

    /// Fails the requests without a connection within connect_timeout (except repeated ones) or an end within
    /// request_timeout, and ends without failure those whose complete answer lacks HTTP's end for 50 ms.
    void end_overdue(TimePoint now);

    /// Gives up requests without a complete answer whose users hang up by `now`.
    void hang_up(TimePoint now);
    TimePoint next_hang_up() const;  ///< earliest such time, TimePoint::max() if there is none
    void cancel_all();               ///< ends all requests in flight; those with complete answers succeed

    std::size_t in_flight() const { return active_.size(); }
    const ClientCounters& counters() const { return counters_; }

  private:
    class Exchange;
    Exchange& free_exchange();
    void finish(Exchange& exchange, TimePoint over_at);
    bool leaves_answers_open() const { return left_open_in_a_row_ >= kLeftOpen; }

    /// After this many answers in a row with an open HTTP message, its end is not awaited any more.
    static constexpr int kLeftOpen = 3;

    http::Pool& pool_;
    ClientOptions options_;
    protocol::BodyWriter body_;
    std::string head_text_;
    Secrets secrets_;  ///< secrets of the request head, hidden in errors and finish reasons
    ClientSink& sink_;
    protocol::DeltaParser parser_;
    std::vector<std::unique_ptr<Exchange>> exchanges_;  ///< all exchanges
    std::vector<Exchange*> free_;
    std::vector<Exchange*> active_;
    std::vector<Exchange*> to_resend_;
    std::multimap<TimePoint, RequestKey> hang_ups_;
    int left_open_in_a_row_ = 0;
    ClientCounters counters_;
};

}  // namespace paretoken::loadgen
