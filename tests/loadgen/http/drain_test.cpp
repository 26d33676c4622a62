#include "loadgen/http/drain.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace paretoken::http {
namespace {

/// One end of a pair of sockets, which is read to the end at every event, like in a transport.
class Reader final : public Listener {
  public:
    explicit Reader(Drain& drain) : drain_(drain) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
            throw std::runtime_error("socketpair");
        fd_ = ends[0];
        peer_ = ends[1];
        drain_.add(fd_, *this, EPOLLIN | EPOLLRDHUP | EPOLLET);
    }
    ~Reader() override {
        leave();
        close_peer();
        close(fd_);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void on_ready(std::uint32_t events) override {
        ++told;
        const bool over = (events & (EPOLLRDHUP | EPOLLHUP)) != 0;
        while (true) {
            Read read;
            const long n = drain_.receive(fd_, read);
            if (n < 0) {
                EXPECT_EQ(errno, EAGAIN);
                break;
            }
            if (n == 0) {
                ended = true;
                break;
            }
            heard.append(read.bytes.data(), read.bytes.size());
            if (!read.filled && !over) break;
        }
        if (on_heard) on_heard();
    }

    void leave() {
        if (listening_) drain_.remove(fd_, *this);
        listening_ = false;
    }
    void close_peer() {
        if (peer_ >= 0) close(peer_);
        peer_ = -1;
    }

    /// Sends as much of `bytes` as the socket accepts; returns how much.
    std::size_t send(std::string_view bytes) {
        const ssize_t n = write(peer_, bytes.data(), bytes.size());
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }

    std::string heard;
    int told = 0;
    bool ended = false;
    std::function<void()> on_heard;

  private:
    Drain& drain_;
    int fd_ = -1;
    int peer_ = -1;
    bool listening_ = true;
};

/// Serves rounds until one finds nothing.
void serve_all(Drain& drain) {
    while (drain.serve(Clock::now()).served > 0) {
    }
}

TEST(Read, SaysByHowMuchTheFirstOfItsEventsMayHaveComeEarlier) {
    Read read{};
    read.kernel_stamp = true;
    read.delay = std::chrono::microseconds(30);
    read.lay = std::chrono::milliseconds(10);
    EXPECT_EQ(read.early(false), Duration{}) << "the stamp of its only event is exact";
    EXPECT_EQ(read.early(true), std::chrono::microseconds(9970))
        << "they share the stamp of the last segment";
    read.kernel_stamp = false;
    EXPECT_EQ(read.early(false), read.lay);
}

/// A call that began 1 ms and ended 11 ms after the call before had ended.
Wait long_wait() {
    const TimePoint before{};
    return {before, before + std::chrono::milliseconds(1), before + std::chrono::milliseconds(11)};
}

TEST(Wait, ThatBlockedReportsSocketsThatBecameReadyAtItsEnd) {
    Wait wait = long_wait();
    const TimePoint end = TimePoint{} + std::chrono::milliseconds(11);
    wait.note_arrival(end - std::chrono::microseconds(30));
    EXPECT_EQ(wait.ready_since(), end);
    EXPECT_EQ(wait.wake_delay(end - std::chrono::microseconds(30)), std::chrono::microseconds(30));
}

TEST(Wait, ThatEndedLateMayHaveHadReadySocketsSinceItsBegin) {
    Wait wait = long_wait();
    wait.note_arrival(TimePoint{} + std::chrono::milliseconds(7));
    wait.note_arrival(TimePoint{} + std::chrono::milliseconds(11));
    EXPECT_EQ(wait.ready_since(), TimePoint{} + std::chrono::milliseconds(1))
        << "a prompt arrival on another socket does not outweigh the late one";
    EXPECT_EQ(wait.wake_delay(TimePoint{} + std::chrono::milliseconds(7)), std::chrono::milliseconds(4));
}

TEST(Wait, ThatFoundASocketReadyDidNotBlockHoweverLongItTook) {
    Wait wait = long_wait();
    wait.note_arrival(TimePoint{} + std::chrono::microseconds(900));
    EXPECT_FALSE(wait.blocked());
    EXPECT_EQ(wait.ready_since(), TimePoint{})
        << "the socket may have become ready just after the look before";
    EXPECT_EQ(wait.wake_delay(TimePoint{} + std::chrono::milliseconds(7)), Duration{});
}

TEST(Wait, ThatIsShortReportsWhatBecameReadySinceTheLookBefore) {
    const TimePoint before{};
    const Wait wait(before, before + std::chrono::milliseconds(5), before + std::chrono::microseconds(5002));
    EXPECT_FALSE(wait.blocked());
    EXPECT_EQ(wait.ready_since(), before);
}

TEST(Drain, TellsEverySocketAllItsBytesInOrder) {
    std::mt19937 random(4);
    Drain drain;
    std::vector<std::unique_ptr<Reader>> readers;
    std::vector<std::string> sent(100);
    for (std::size_t i = 0; i < sent.size(); ++i) readers.push_back(std::make_unique<Reader>(drain));
    for (int round = 0; round < 50; ++round) {
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (random() % 3 == 0) continue;
            std::string bytes(random() % 8 == 0 ? random() % 150'000 : 1 + random() % 400, ' ');
            for (char& byte : bytes) byte = static_cast<char>('a' + random() % 26);
            sent[i] += bytes.substr(0, readers[i]->send(bytes));
        }
        if (random() % 2 == 0) serve_all(drain);
    }
    serve_all(drain);
    for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_TRUE(readers[i]->heard == sent[i]) << i;
}

TEST(Drain, TellsTheEndBehindTheLastBytes) {
    Drain drain;
    Reader before(drain), reader(drain), after(drain);
    for (Reader* one : {&before, &reader, &after}) one->send("bytes");
    reader.close_peer();
    serve_all(drain);
    EXPECT_EQ(reader.heard, "bytes");
    EXPECT_TRUE(reader.ended);
    EXPECT_FALSE(before.ended || after.ended);
}

TEST(Drain, TellsNothingToWhoWasRemovedInTheSameRound) {
    Drain drain;
    Reader a(drain), b(drain);
    a.on_heard = [&] { b.leave(); };
    b.on_heard = [&] { a.leave(); };
    a.send("a");
    b.send("b");
    EXPECT_EQ(drain.serve(Clock::now()).served, 2);
    EXPECT_EQ(a.told + b.told, 1);
    EXPECT_EQ(a.heard + b.heard, a.told == 1 ? "a" : "b");
}

TEST(Drain, ReadsAllSocketsOfARoundBeforeAnyIsTold) {
    Drain drain;
    Reader a(drain), b(drain);
    a.on_heard = [&] { b.send("later"); };
    b.on_heard = [&] { a.send("later"); };
    a.send("a");
    b.send("b");
    EXPECT_EQ(drain.serve(Clock::now()).served, 2);
    EXPECT_EQ(a.heard + b.heard, "ab");
    a.on_heard = b.on_heard = nullptr;
    serve_all(drain);
    EXPECT_EQ(a.heard + b.heard, "alaterblater");
}

TEST(Drain, TellsNobodyWhatWasReadOfSomebodyAtTheSameAddressBefore) {
    Drain drain;
    Reader first(drain);
    std::optional<Reader> reused(std::in_place, drain);
    first.on_heard = [&] {
        reused.reset();
        reused.emplace(drain);
    };
    first.send("a");
    reused->send("of the one before");
    drain.serve(Clock::now());
    first.on_heard = nullptr;
    EXPECT_EQ(reused->heard, "");
    reused->send("b");
    serve_all(drain);
    EXPECT_EQ(reused->heard, "b");
}

TEST(Drain, ServesFewAtATimeAndSaysThatThereAreMore) {
    Drain drain;
    std::vector<std::unique_ptr<Reader>> readers;
    for (int i = 0; i < Drain::kMostPerRound + 5; ++i) {
        readers.push_back(std::make_unique<Reader>(drain));
        readers.back()->send("x");
    }
    const auto first = drain.serve(Clock::now());
    EXPECT_EQ(first.served, Drain::kMostPerRound);
    EXPECT_TRUE(first.more);
    const auto second = drain.serve(Clock::now(), 4);
    EXPECT_EQ(second.served, 4);
    EXPECT_TRUE(second.more);
    const auto third = drain.serve(Clock::now(), 4);
    EXPECT_EQ(third.served, 1);
    EXPECT_FALSE(third.more);
}

TEST(Drain, CountsReadsThatBroughtBytes) {
    Drain drain;
    Reader reader(drain);
    for (int i = 0; i < 3; ++i) {
        reader.send("x");
        serve_all(drain);
    }
    reader.close_peer();
    serve_all(drain);
    EXPECT_EQ(drain.reads(), 3u);
}

TEST(Drain, AWakeUpEndsAWait) {
    Drain drain;
    std::thread waker([&] { drain.wake(); });
    const TimePoint began = Clock::now();
    drain.serve(began + std::chrono::seconds(60));
    waker.join();
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(30));
}

}  // namespace
}  // namespace paretoken::http
