#include "http/request_parser.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>

namespace trine::http {
namespace {

namespace beast = boost::beast;
using BeastError = beast::http::error;

// A chunk's size line or the trailer that is longer than this is no honest one.
constexpr size_t kChunkLineBytesMax = 8 * 1024;
// "0\r\n\r\n". Beast asserts that so much is there when it comes back to a last chunk it began.
constexpr size_t kLastChunkBytes = 5;

constexpr std::array<std::string_view, 7> kMethods = {"GET",   "HEAD",   "POST",   "PUT",
                                                      "PATCH", "DELETE", "OPTIONS"};

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

// "HTTP/9.9" at the end of the request line: another version, not another protocol.
bool names_a_version(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\r'));
  if (line.size() < 9) return false;
  const std::string_view version = line.substr(line.size() - 9);
  const auto digit = [&](size_t i) { return version[i] >= '0' && version[i] <= '9'; };
  return version.starts_with(" HTTP/") && digit(6) && version[7] == '.' && digit(8);
}

const char* explain(BeastError error) {
  switch (error) {
    case BeastError::bad_method: return "the method is not a token";
    case BeastError::bad_target: return "the target has a character that is not allowed";
    case BeastError::bad_version: return "the request line does not end with HTTP/1.1";
    case BeastError::bad_field: return "a header field's name is not a token followed by a colon";
    case BeastError::bad_value: return "a header field's value is not allowed";
    case BeastError::bad_content_length: return "Content-Length is not one number";
    case BeastError::bad_transfer_encoding:
      return "Transfer-Encoding is not chunked alone, or Content-Length is there as well";
    case BeastError::bad_chunk: return "a chunk's size is wrong";
    case BeastError::bad_chunk_extension: return "a chunk's extension is wrong";
    default: return "this is not a well-formed HTTP/1.1 request";
  }
}

}  // namespace

class RequestParser::Impl final : public beast::http::basic_parser<true> {
 public:
  Impl(const Options& options, Request* request) : options_(options), request_(*request) {
    header_limit(std::numeric_limits<uint32_t>::max());  // the caller bounds the header
    // The body is bounded here: Beast counts a chunk again whenever its line comes in pieces.
    body_limit(std::numeric_limits<uint64_t>::max());
    eager(true);
  }

  // What went wrong in the last put(): our own finding, or Beast's.
  Fault fault(const beast::error_code& error) const {
    if (fault_) return *fault_;
    const bool is_ours = error.category() == make_error_code(BeastError::bad_chunk).category();
    return {Refusal::kBadRequest,
            explain(is_ours ? static_cast<BeastError>(error.value()) : BeastError::bad_value)};
  }

 private:
  void refuse(Refusal kind, std::string message, beast::error_code* error) {
    fault_ = Fault{kind, std::move(message)};
    *error = BeastError::bad_value;
  }

  void on_request_impl(beast::http::verb /*verb*/, beast::string_view method,
                       beast::string_view target, int version, beast::error_code& error) override {
    request_.method = text(method);
    request_.version_minor = version % 10;
    if (static_cast<int64_t>(target.size()) > options_.target_bytes_max) {
      refuse(Refusal::kTargetTooLong,
             "the target is longer than " + std::to_string(options_.target_bytes_max) + " bytes",
             &error);
    } else if (!split_target({target.data(), target.size()}, &request_)) {
      const bool is_tunnel = request_.method == "CONNECT";
      refuse(is_tunnel ? Refusal::kMethod : Refusal::kBadRequest,
             is_tunnel ? describe(Refusal::kMethod).message
                       : "the target is no path, or has a broken escape",
             &error);
    } else if (std::find(kMethods.begin(), kMethods.end(), request_.method) == kMethods.end()) {
      refuse(Refusal::kMethod, describe(Refusal::kMethod).message, &error);
    }
  }

  // What has come and what is announced.
  void check_body_size(uint64_t announced, beast::error_code* error) {
    const auto limit = static_cast<uint64_t>(options_.body_bytes_max);
    if (announced <= limit && request_.body.size() + announced <= limit) return;
    refuse(Refusal::kBodyTooLarge, "the body is larger than " + std::to_string(limit) + " bytes",
           error);
  }

  void on_response_impl(int /*code*/, beast::string_view /*reason*/, int /*version*/,
                        beast::error_code& error) override {
    error = BeastError::bad_version;
  }

  void on_field_impl(beast::http::field /*field*/, beast::string_view name,
                     beast::string_view value, beast::error_code& error) override {
    if (header_done_) return;  // trailers: well-formed, and of no meaning here
    if (static_cast<int64_t>(request_.headers.size()) >= options_.header_fields_max) {
      refuse(Refusal::kHeadersTooLarge,
             "more than " + std::to_string(options_.header_fields_max) + " header fields", &error);
      return;
    }
    request_.headers.add(text(name), text(value));
  }

  void on_header_impl(beast::error_code& error) override {
    header_done_ = true;
    const Headers& headers = request_.headers;
    const size_t hosts = headers.count("Host");
    const std::string_view length = headers.get("Content-Length");
    if (hosts > 1 || (hosts == 0 && request_.version_minor >= 1)) {
      refuse(Refusal::kBadRequest, "there must be one Host field", &error);
    } else if (headers.count("Content-Length") > 1 || length.find(',') != std::string_view::npos) {
      refuse(Refusal::kBadRequest, "Content-Length is there more than once", &error);
    } else if (headers.count("Transfer-Encoding") > 0 &&
               !same_name(headers.get("Transfer-Encoding"), "chunked")) {
      refuse(Refusal::kBadRequest, "the only Transfer-Encoding accepted is chunked", &error);
    } else if (headers.count("Transfer-Encoding") > 0 && request_.version_minor == 0) {
      refuse(Refusal::kBadRequest, "HTTP/1.0 has no Transfer-Encoding", &error);
    } else if (headers.count("Expect") > 0 && !same_name(headers.get("Expect"), "100-continue")) {
      refuse(Refusal::kExpectation, describe(Refusal::kExpectation).message, &error);
    } else {
      check_body_size(content_length().value_or(0), &error);
    }
  }

  void on_body_init_impl(const boost::optional<uint64_t>& /*length*/,
                         beast::error_code& /*error*/) override {}

  size_t on_body_impl(beast::string_view bytes, beast::error_code& /*error*/) override {
    request_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_chunk_header_impl(uint64_t size, beast::string_view /*extensions*/,
                            beast::error_code& error) override {
    check_body_size(size, &error);
  }

  size_t on_chunk_body_impl(uint64_t /*remaining*/, beast::string_view bytes,
                            beast::error_code& /*error*/) override {
    request_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_finish_impl(beast::error_code& /*error*/) override {}

  const Options& options_;
  Request& request_;
  bool header_done_ = false;
  std::optional<Fault> fault_;
};

RequestParser::RequestParser(const Options& options)
    : impl_(std::make_unique<Impl>(options, &request_)) {}
RequestParser::~RequestParser() = default;

std::optional<Fault> RequestParser::parse_head(std::string_view head) {
  beast::error_code error;
  const size_t used = impl_->put(boost::asio::const_buffer(head.data(), head.size()), error);
  if (error == BeastError::bad_version && names_a_version(head)) {
    return Fault{Refusal::kVersion, describe(Refusal::kVersion).message};
  }
  if (error) return impl_->fault(error);
  if (used != head.size() || !impl_->is_header_done()) {
    return Fault{Refusal::kBadRequest, describe(Refusal::kBadRequest).message};
  }
  return std::nullopt;
}

std::optional<Fault> RequestParser::parse_body(std::string_view input, size_t* used) {
  *used = 0;
  while (!impl_->is_done() && *used < input.size()) {
    const std::string_view rest = input.substr(*used);
    if (impl_->chunked() && rest[0] == '0' && rest.size() < kLastChunkBytes) break;
    beast::error_code error;
    const size_t taken = impl_->put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    *used += taken;
    if (error && error != BeastError::need_more) return impl_->fault(error);
    if (error == BeastError::need_more || taken == 0) {
      if (rest.size() - taken <= kChunkLineBytesMax) break;
      return Fault{Refusal::kBadRequest, "a chunk's size line or the trailer is too long"};
    }
  }
  return std::nullopt;
}

bool RequestParser::done() const { return impl_->is_done(); }
bool RequestParser::keep_alive() const { return impl_->is_header_done() && impl_->keep_alive(); }

}  // namespace trine::http
