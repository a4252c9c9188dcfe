#include "door/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "door/worker.h"

namespace plov::door {

namespace {

// What is received in one turn, of a value that goes to memory of its own.
constexpr size_t kWantedAtOnce = size_t{1} << 20;
// Input that is kept while requests wait.
constexpr size_t kKeptMax = size_t{64} << 10;

}  // namespace

Connection::Connection(Worker* worker, fabric::Fd fd, const ProtocolFactory& factory)
    : worker_(worker), fd_(std::move(fd)), protocol_(factory.Make(this)) {
  event_assign(
      &readable_, worker->base(), fd_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Connection*>(self)->OnReadable(); },
      this);
  event_assign(
      &writable_, worker->base(), fd_.get(), EV_WRITE,
      [](evutil_socket_t, short, void* self) { static_cast<Connection*>(self)->OnWritable(); },
      this);
  ArmReading();
}

Connection::~Connection() {
  event_del(&readable_);
  event_del(&writable_);
  while (first_ != nullptr) Pop();
  worker_->budget()->Release(charged_bytes_);
}

void Connection::Add(Request* request) {
  request->connection_ = this;
  request->next_ = nullptr;
  request->number_ = ++request_number_;
  request->has_ended_ = request->kind == Request::Kind::kReply;
  (first_ == nullptr ? first_ : last_->next_) = request;
  last_ = request;
  if (next_to_start_ == nullptr) next_to_start_ = request;
  ++request_count_;
  held_bytes_ += request->reply.size();
}

bool Connection::Reserve(size_t bytes) {
  if (!worker_->budget()->Charge(bytes)) return false;
  charged_bytes_ += bytes;
  return true;
}

void Connection::OnReadable() {
  worker_->Touch(this);
  if (!protocol_->wanted().empty()) return ReceiveWanted();
  Receive();
}

void Connection::OnWritable() {
  writes_ = false;
  Send();
  worker_->Touch(this);
}

// Into memory of the worker's, if nothing is kept.
void Connection::Receive() {
  if (kept_.empty()) {
    const std::span<char> memory = worker_->InputMemory();
    const ssize_t bytes = ::recv(fd_.get(), memory.data(), memory.size(), 0);
    if (bytes > 0) {
      input_ = {memory.data(), static_cast<size_t>(bytes)};
      is_kept_ = false;
      worker_->UseInputMemory(static_cast<size_t>(bytes));
    }
    return OnReceived(bytes);
  }
  const size_t before = kept_.size();
  ssize_t bytes = 0;
  kept_.resize_and_overwrite(before + Worker::kInputAtOnce, [&](char* to, size_t) {
    bytes = ::recv(fd_.get(), to + before, Worker::kInputAtOnce, 0);
    return before + static_cast<size_t>(std::max<ssize_t>(bytes, 0));
  });
  input_ = kept_;
  is_kept_ = true;
  OnReceived(bytes);
}

void Connection::ReceiveWanted() {
  const std::span<char> wanted = protocol_->wanted();
  const ssize_t bytes = ::recv(fd_.get(), wanted.data(), std::min(wanted.size(), kWantedAtOnce), 0);
  if (bytes > 0) protocol_->Filled(static_cast<size_t>(bytes));
  OnReceived(bytes);
}

void Connection::OnReceived(ssize_t bytes) {
  if (bytes > 0) {
    worker_->counters().Add(Count::kBytesRead, static_cast<uint64_t>(bytes));
  } else if (bytes == 0) {
    input_ended_ = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    is_broken_ = true;
  }
}

void Connection::TakeInput() {
  is_stalled_ = false;
  while (!input_.empty() && (!closes_ || protocol_->is_answering())) {
    is_stalled_ = !may_take();
    if (is_stalled_) return;
    const size_t taken = protocol_->Take(input_);
    is_stalled_ = taken == 0 && !may_take();
    if (taken == 0) return;
    input_.remove_prefix(taken);
  }
}

size_t Connection::PlaceOf(std::string_view key) {
  return std::hash<std::string_view>()(key) % kKeyPlaces;
}

bool Connection::MayRead(size_t resumed) const {
  if (is_full()) return false;
  const size_t left_bytes = kOutputMax - output_bytes() - held_bytes_;
  return running_count_ - postponed_.size() + resumed <= left_bytes / (read_bytes_ + 1);
}

void Connection::Postpone(Request* request) {
  const auto number = [](const Request* one) { return one->number_; };
  postponed_.insert(std::ranges::upper_bound(postponed_, request->number_, {}, number), request);
}

bool Connection::MayResume(size_t resumed) const {
  return !Defers(postponed_[resumed]) && (postponed_[resumed] == first_ || MayRead(resumed));
}

void Connection::ResumeReads() {
  if (postponed_.empty()) return;
  size_t resumed = 0;
  for (; resumed < postponed_.size() && MayResume(resumed); ++resumed) {
    worker_->AddRead(postponed_[resumed]);
  }
  postponed_.erase(postponed_.begin(), postponed_.begin() + static_cast<ptrdiff_t>(resumed));
}

bool Connection::MayStart(const Request& request) const {
  if (is_full()) return false;
  if (running_count_ == 0) return true;
  if (running_kind_ != request.kind || request.kind == Request::Kind::kAlone) return false;
  if (request.kind == Request::Kind::kRead) return postponed_.empty() && MayRead();
  if (running_steps_ == 0 && !request.has_steps()) return true;
  return running_keys_[PlaceOf(request.key())] == 0;
}

void Connection::CountRunning(const Request& request, int change) {
  running_count_ += static_cast<size_t>(change);
  if (request.kind != Request::Kind::kWrite) return;
  uint16_t& of_key = running_keys_[PlaceOf(request.key())];
  of_key = static_cast<uint16_t>(of_key + change);
  if (request.has_steps()) running_steps_ += static_cast<size_t>(change);
}

void Connection::StartRequests() {
  ResumeReads();
  while (next_to_start_ != nullptr) {
    Request* request = next_to_start_;
    if (request->kind == Request::Kind::kReply) {
      next_to_start_ = request->next_;
      continue;
    }
    if (!MayStart(*request)) return;
    next_to_start_ = request->next_;
    running_kind_ = request->kind;
    CountRunning(*request, 1);
    if (request->kind == Request::Kind::kRead) {
      worker_->AddRead(request);
    } else {
      request->Start(worker_);
    }
  }
}

void Connection::Work() {
  if (is_broken_) return;
  do {
    TakeInput();
    StartRequests();
    PopEnded();
  } while (is_stalled_ && may_take());
}

void Connection::AddReply(Request* request) {
  if (request->opens_group) group_has_failed_ = false;
  if (!group_has_failed_) output_ += request->reply;
  group_has_failed_ = group_has_failed_ || request->has_failed;
  if (request->closes_group && !group_has_failed_) output_ += request->closing();
  held_bytes_ -= request->reply.size();
}

void Connection::Pop() {
  Request* request = first_;
  first_ = request->next_;
  if (first_ == nullptr) last_ = nullptr;
  if (next_to_start_ == request) next_to_start_ = first_;
  --request_count_;
  request->Recycle();
}

void Connection::PopEnded() {
  while (first_ != nullptr && first_->has_ended_) {
    AddReply(first_);
    Pop();
  }
}

void Connection::End(Request* request) {
  request->has_ended_ = true;
  CountRunning(*request, -1);
  held_bytes_ += request->reply.size();
  worker_->Touch(this);
  worker_->Progress();
}

void Connection::TakeItem(Request* request, const Client::GetResult& result) {
  const bool is_first = request == first_;
  const size_t before = output_.size();
  if (is_first && output_.capacity() == 0) output_ = worker_->TakeBuffer();
  if (is_first && !(group_has_failed_ && !request->opens_group)) {
    request->has_failed = !request->TakeItem(result, &output_);
    if (request->opens_group) group_has_failed_ = false;
    request->reply.clear();
  } else {
    request->has_failed = !request->TakeItem(result, &request->reply);
  }
  read_bytes_ = request->reply.size() + output_.size() - before;
  End(request);
  if (is_first) PopEnded();
}

void Connection::Send() {
  while (output_bytes() > 0 && !writes_) {
    const ssize_t bytes =
        ::send(fd_.get(), output_.data() + sent_, output_bytes(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      if (errno != EAGAIN) is_broken_ = true;
      if (!is_broken_) {
        event_add(&writable_, nullptr);
        writes_ = true;
      }
      return;
    }
    worker_->counters().Add(Count::kBytesWritten, static_cast<uint64_t>(bytes));
    sent_ += static_cast<size_t>(bytes);
  }
  if (output_bytes() > 0) return;
  sent_ = 0;
  output_.clear();
  worker_->GiveBuffer(&output_);
}

void Connection::KeepRequests() {
  for (Request* request = first_; request != nullptr; request = request->next_) request->Keep();
}

void Connection::KeepInput() {
  if (is_kept_) {
    kept_.erase(0, kept_.size() - input_.size());
  } else if (!input_.empty()) {
    kept_.assign(input_);
  }
  if (kept_.empty()) kept_ = {};
  input_ = kept_;
  is_kept_ = true;
}

void Connection::ArmReading() {
  const bool wants = !input_ended_ && !closes_ && !is_broken_ && has_room() && !is_full() &&
                     kept_.size() < kKeptMax;
  if (wants == reads_) return;
  if (wants) {
    event_add(&readable_, nullptr);
  } else {
    event_del(&readable_);
  }
  reads_ = wants;
}

void Connection::ChargeBytes() {
  size_t bytes = kept_.capacity() + output_.capacity() + protocol_->bytes();
  for (const Request* request = first_; request != nullptr; request = request->next_) {
    bytes += request->bytes();
  }
  if (bytes > charged_bytes_) {
    worker_->budget()->Add(bytes - charged_bytes_);
  } else {
    worker_->budget()->Release(charged_bytes_ - bytes);
  }
  charged_bytes_ = bytes;
}

// What was started cannot be taken back, and its callback comes to this object.
bool Connection::is_over() const {
  if (running_count_ > postponed_.size()) return false;
  if (is_broken_) return true;
  if (protocol_->is_answering() || (is_stalled_ && !closes_)) return false;
  return (input_ended_ || closes_) && first_ == nullptr && output_bytes() == 0;
}

Connection::Next Connection::EndTurn() {
  if (!is_broken_) {
    Send();
    KeepRequests();
    KeepInput();
  } else if (running_count_ > postponed_.size()) {
    first_->Abandon();  // if there are others, they wait for nothing but the server
  }
  ChargeBytes();
  if (is_over()) return Next::kIsOver;
  ArmReading();
  return may_go_on() ? Next::kGoesOn : Next::kWaits;
}

}  // namespace plov::door
