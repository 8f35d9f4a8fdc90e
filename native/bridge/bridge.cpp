#include "bridge/bridge.h"

namespace acuity {

Bridge::Bridge(std::int64_t depth)
    : commands_(depth),
      replies_(depth),
      standing_(Standing{}),
      to_server_(std::make_shared<Wakeup>()),
      to_measuring_(std::make_shared<Wakeup>()),
      born_(forks()) {}

// ---- the server's thread --------------------------------------------------------------------

bool Bridge::send(std::uint64_t ticket, std::uint32_t kind, Payload payload) {
    check();
    assert(outstanding() <= depth());
    if (outstanding() == depth()) {
        ++refused_;
        return false;
    }
    [[maybe_unused]] const bool pushed = commands_.push(ticket, kind, payload);
    assert(pushed);  // the ring holds only outstanding commands, so it has room
    ++accepted_;
    to_measuring_->signal();
    return true;
}

const Envelope* Bridge::reply() {
    check();
    return replies_.front();
}

void Bridge::collect() {
    assert(collected_ < accepted_);
    replies_.pop();
    ++collected_;
}

void Bridge::clear() {
    check();
    to_server_->clear();
}

int Bridge::descriptor() const {
    check();
    return to_server_->descriptor();
}

// ---- the measuring thread -------------------------------------------------------------------

bool Bridge::publish(const Standing& standing) {
    check();
    standing_.write(standing);
    return commands_.front() != nullptr;
}

const Envelope* Bridge::command() {
    check();
    return commands_.front();
}

void Bridge::take() {
    assert(taken_ - answered_ < depth());
    commands_.pop();
    ++taken_;
}

void Bridge::answer(std::uint64_t ticket, std::uint32_t kind, Payload payload) {
    check();
    if (answered_ == taken_) throw std::runtime_error("every command that was taken is answered already");
    [[maybe_unused]] const bool pushed = replies_.push(ticket, kind, payload);
    assert(pushed);  // its place was reserved when the command was accepted
    ++answered_;
    to_server_->signal();
}

// ---- any thread -----------------------------------------------------------------------------

void Bridge::interrupt() {
    check();
    interrupted_.store(true, std::memory_order_release);
    to_measuring_->signal();
}

void Bridge::close() {
    if (closed()) return;
    if (born_ == forks()) {
        to_measuring_->signal();  // a wait() in progress keeps its descriptor until it returns
    } else {
        // The descriptors are shared with the parent: close ours without signalling.
        to_measuring_->close();
        to_server_->close();
    }
    to_measuring_.reset();
    to_server_.reset();
}

void Bridge::refuse() const {
    throw BridgeClosed(closed() ? "the bridge to the measurement was closed"
                                : "the bridge to the measurement belongs to the process that this one was forked from");
}

}  // namespace acuity
