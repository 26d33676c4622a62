#pragma once
// Performs exchanges: a request goes out on a lent connection, its answer is read as it arrives, and one
// RequestRecord comes back. A failed request is data; nothing is thrown past here. One client, one thread.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record.h"
#include "core/record/request.h"
#include "core/text/secrets.h"
#include "loadgen/http/pool.h"
#include "loadgen/openai/answer.h"
#include "loadgen/openai/body.h"
#include "loadgen/openai/delta.h"

namespace paretoken::loadgen {

struct ClientOptions {
    http::RequestHead head;
    openai::BodyOptions body;
    bool ignore_eos_accepted = false;  ///< a short stream is then a failure
    bool traceparent = false;          ///< every request carries a W3C trace context made of its id
    Duration request_timeout = std::chrono::minutes(10);
    Duration connect_timeout = std::chrono::seconds(10);
};

/// A request with its body already written, so that a due dispatch only has to send.
struct PreparedRequest {
    Request request;
    std::string body;
    openai::AnswerLimits limits = {};
    bool keep_answer = false;                     ///< the record gets the answer's text
    std::optional<Duration> hangs_up_after = {};  ///< the request is given up so long after its start
};

/// The client's own part in the measured figures, over all exchanges.
struct ClientCounters {
    std::uint64_t chunks = 0;
    std::uint64_t stamped_chunks = 0;  ///< timed by a kernel stamp
    std::uint64_t grouped_chunks = 0;  ///< completed by the same read as the chunk before
    std::uint64_t late_grouped_chunks =
        0;  ///< of these, read later than the stream's mean time per event: the client's doing
};

class ClientSink {
  public:
    virtual ~ClientSink() = default;
    /// The answer has brought its first output. Called at most once for a request, before on_finished.
    virtual void on_first_token(const RequestRecord& record, TimePoint at) = 0;
    /// `over_at`: when the last bytes of the answer reached this host (kernel stamp), or when it failed.
    virtual void on_finished(RequestRecord record, TimePoint over_at) = 0;
};

class Client {
  public:
    Client(http::Pool& pool, const ClientOptions& options, ClientSink& sink);
    ~Client();

    PreparedRequest prepare(Request request) const;

    /// `record` comes with what is known beforehand (index, worker, warmup, scheduled, slot_wait) and goes on
    /// to the sink with the rest.
    void start(PreparedRequest prepared, RequestRecord record);

    /// Sends again what a closing connection swallowed. Never from inside a callback.
    void resend();

    void end_overdue(TimePoint now);

    /// Gives up the requests whose users have waited long enough, and says when the next one will have.
    void hang_up(TimePoint now);
    TimePoint next_hang_up() const;
    void cancel_all();

    std::size_t in_flight() const { return active_.size(); }
    const ClientCounters& counters() const { return counters_; }

  private:
    class Exchange;
    Exchange& free_exchange();
    void finish(Exchange& exchange, TimePoint over_at);
    bool leaves_answers_open() const { return left_open_in_a_row_ >= kLeftOpen; }

    /// After so many answers in a row whose HTTP message did not end with its [DONE], none is waited for.
    static constexpr int kLeftOpen = 3;

    http::Pool& pool_;
    ClientOptions options_;
    openai::BodyWriter body_;
    std::string head_text_;
    Secrets secrets_;  ///< of the request head: hidden in every text from the server
    ClientSink& sink_;
    openai::DeltaParser parser_;
    std::vector<std::unique_ptr<Exchange>> exchanges_;  ///< every one there is
    std::vector<Exchange*> free_;
    std::vector<Exchange*> active_;
    std::vector<Exchange*> to_resend_;
    std::multimap<TimePoint, RequestKey> hang_ups_;
    int left_open_in_a_row_ = 0;
    ClientCounters counters_;
};

}  // namespace paretoken::loadgen
