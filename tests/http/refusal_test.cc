// Requests that are refused: each with its status, its code, and the end of its connection. And
// what looks odd but is right.
#include "connection_fixture.h"

namespace trine::http {
namespace {

struct Case {
  std::string name;
  std::string request;
  int status;
  std::string code;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::string post(const std::string& fields, const std::string& body = "") {
  return "POST / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
}
std::string get(const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}
std::string line(const std::string& request_line) { return request_line + "\r\nHost: h\r\n\r\n"; }

std::string many_fields(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "X-" + std::to_string(i) + ": 1\r\n";
  return out;
}

constexpr const char* kBad = "bad_request";
const std::string kChunked = "Transfer-Encoding: chunked\r\n";

// Two servers could read these in two ways (request smuggling).
std::vector<Case> ambiguous() {
  return {
      {"LengthAndChunked", post("Content-Length: 3\r\n" + kChunked, "0\r\n\r\n"), 400, kBad},
      {"ChunkedAndLength", post(kChunked + "Content-Length: 3\r\n", "0\r\n\r\n"), 400, kBad},
      {"LengthTwiceTheSame", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400, kBad},
      {"LengthTwice", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"), 400, kBad},
      {"LengthList", post("Content-Length: 3, 3\r\n", "abc"), 400, kBad},
      {"LengthNegative", post("Content-Length: -3\r\n"), 400, kBad},
      {"LengthPlus", post("Content-Length: +3\r\n", "abc"), 400, kBad},
      {"LengthHex", post("Content-Length: 0x3\r\n", "abc"), 400, kBad},
      {"LengthEmpty", post("Content-Length: \r\n"), 400, kBad},
      {"LengthOverflow", post("Content-Length: 99999999999999999999999\r\n"), 400, kBad},
      {"LengthWithBlank", post("Content-Length: 1 0\r\n", "0123456789"), 400, kBad},
      {"ChunkedTwice", post(kChunked + kChunked, "0\r\n\r\n"), 400, kBad},
      {"ChunkedNotLast", post("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"), 400, kBad},
      {"GzipChunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400, kBad},
      {"Gzip", post("Transfer-Encoding: gzip\r\n"), 400, kBad},
      {"Identity", post("Transfer-Encoding: identity\r\n"), 400, kBad},
      {"ChunkedHidden", post("Transfer-Encoding: xchunked\r\n"), 400, kBad},
      {"ChunkedIn10", "POST / HTTP/1.0\r\n" + kChunked + "\r\n0\r\n\r\n", 400, kBad},
      {"FieldFolded", get("X: 1\r\n 2\r\n"), 400, kBad},
      {"FirstFieldFolded", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400, kBad},
      {"BlankBeforeColon", get("X : 1\r\n"), 400, kBad},
      {"BlankBeforeColonOfLength", post("Content-Length : 3\r\n", "abc"), 400, kBad},
      {"NoColon", get("X\r\n"), 400, kBad},
      {"EmptyName", get(": 1\r\n"), 400, kBad},
      {"BareLineFeed", "GET / HTTP/1.1\nHost: h\n\n", 400, kBad},
      {"BareLineFeedInField", get("X: 1\nY: 2\r\n"), 400, kBad},
      {"BareCarriageReturn", get("X: 1\rY: 2\r\n"), 400, kBad},
      {"ZeroByteInValue", get(std::string("X: a\0b\r\n", 8)), 400, kBad},
      {"ZeroByteFirst", std::string("\0GET / HTTP/1.1\r\n", 17), 400, kBad},
      {"NoHost", "GET / HTTP/1.1\r\n\r\n", 400, kBad},
      {"TwoHosts", get("Host: g\r\n"), 400, kBad},
  };
}

std::vector<Case> bad_chunks() {
  return {
      {"ChunkSizeNotHex", post(kChunked, "g\r\n"), 400, kBad},
      {"ChunkSizeEmpty", post(kChunked, "\r\n\r\n"), 400, kBad},
      {"ChunkSizeNegative", post(kChunked, "-1\r\n"), 400, kBad},
      {"ChunkSizeOverflow", post(kChunked, "fffffffffffffffff\r\n"), 400, kBad},
      {"ChunkTooLong", post(kChunked, "3\r\nabcd\r\n0\r\n\r\n"), 400, kBad},
      {"ChunkLineFeed", post(kChunked, "3\nabc\n0\n\n\r\n\r\n"), 400, kBad},
      {"ChunkLineEndless", post(kChunked, "1;" + std::string(20'000, 'x')), 400, kBad},
      {"TrailerEndless", post(kChunked, "0\r\nX: " + std::string(20'000, 'x')), 400, kBad},
      {"TrailerLength", post(kChunked, "0\r\nContent-Length: 3\r\n\r\n"), 400, kBad},
  };
}

std::vector<Case> bad_lines() {
  return {
      {"NoRequestLine", "\x7f\x01", 400, kBad},
      {"Words", line("this is not http"), 400, kBad},
      {"NoVersion", line("GET /"), 400, kBad},
      {"OtherProtocol", line("GET / FTP/1.1"), 400, kBad},
      {"LowerCaseVersion", line("GET / http/1.1"), 400, kBad},
      {"VersionWithJunk", line("GET / HTTP/1.1x"), 400, kBad},
      {"TwoBlanks", line("GET  / HTTP/1.1"), 400, kBad},
      {"TabBetween", line("GET\t/ HTTP/1.1"), 400, kBad},
      {"TargetWithoutSlash", line("GET x HTTP/1.1"), 400, kBad},
      {"TargetBrokenEscape", line("GET /%zz HTTP/1.1"), 400, kBad},
      {"TargetCutEscape", line("GET /% HTTP/1.1"), 400, kBad},
      {"TargetZeroByte", line("GET /%00 HTTP/1.1"), 400, kBad},
      {"TargetFragment", line("GET /#a HTTP/1.1"), 400, kBad},
      {"QueryBrokenEscape", line("GET /?a=%f HTTP/1.1"), 400, kBad},
      {"StarWithoutOptions", line("GET * HTTP/1.1"), 400, kBad},
      {"OtherScheme", line("GET ftp://h/ HTTP/1.1"), 400, kBad},
      {"TlsHello", std::string("\x16\x03\x01\x02\x00\x01", 6), 400, kBad},
      {"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "version_not_supported"},
      {"Http3", line("GET / HTTP/3.0"), 505, "version_not_supported"},
      {"Http09", line("GET / HTTP/0.9"), 505, "version_not_supported"},
      {"Connect", line("CONNECT h:443 HTTP/1.1"), 405, "method_not_allowed"},
      {"Trace", line("TRACE / HTTP/1.1"), 405, "method_not_allowed"},
      {"UnknownMethod", line("BREW / HTTP/1.1"), 405, "method_not_allowed"},
      {"LowerCaseMethod", line("get / HTTP/1.1"), 405, "method_not_allowed"},
  };
}

std::vector<Case> beyond_limits() {
  const std::string big(40'000, 'a');
  return {
      {"TargetLong", line("GET /" + std::string(9'000, 'a') + " HTTP/1.1"), 414, "target_too_long"},
      {"TargetEndless", "GET /" + big, 414, "target_too_long"},
      {"FieldLong", get("X: " + big + "\r\n"), 431, "headers_too_large"},
      {"FieldEndless", "GET / HTTP/1.1\r\nX: " + big, 431, "headers_too_large"},
      {"ManyFields", get(many_fields(100)), 431, "headers_too_large"},
      {"BodyLong", post("Content-Length: 1001\r\n"), 413, "body_too_large"},
      {"ChunkLong", post(kChunked, "3e9\r\n"), 413, "body_too_large"},
      {"ChunksLong", post(kChunked, "1f4\r\n" + std::string(500, 'x') + "\r\n1f5\r\n"), 413,
       "body_too_large"},
      {"Expectation", post("Expect: a miracle\r\nContent-Length: 3\r\n"), 417,
       "expectation_failed"},
  };
}

std::vector<Case> refused() {
  std::vector<Case> out;
  for (const auto& part : {ambiguous(), bad_chunks(), bad_lines(), beyond_limits()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

class RefusalTest : public ConnectionTest, public ::testing::WithParamInterface<Case> {
 protected:
  void open_small() {
    Options options;
    options.body_bytes_max = 1'000;
    open(options);
  }
  void expect_refused(const std::string& response) {
    EXPECT_EQ(status_of(response), GetParam().status) << response.substr(0, 500);
    EXPECT_NE(response.find("\"code\":\"" + GetParam().code + "\""), std::string::npos) << response;
    EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
    const size_t first = response.find("X-Request-Id");
    EXPECT_EQ(response.find("X-Request-Id", first + 1), std::string::npos) << "two: " << response;
    EXPECT_TRUE(requests_.empty());
    EXPECT_TRUE(peer_->write_ended);
  }
};

TEST_P(RefusalTest, SaysWhyAndCloses) {
  open_small();
  // What follows must not be taken for another request.
  send(GetParam().request + "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused(received());
}

TEST_P(RefusalTest, AlsoByteByByte) {
  open_small();
  for (const char c : GetParam().request) send(std::string(1, c));
  expect_refused(received());
  end();
  EXPECT_TRUE(is_closed());
}

INSTANTIATE_TEST_SUITE_P(All, RefusalTest, ::testing::ValuesIn(refused()),
                         [](const auto& test) { return test.param.name; });

TEST_F(ConnectionTest, AcceptsWhatIsOddButRight) {
  const std::vector<std::string> accepted = {
      "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET / HTTP/1.1\r\nHost:\r\n\r\n",
      "GET / HTTP/1.1\r\nhost:h\r\nX:\t 1 \t\r\nY: \xc3\xa4\r\n\r\n",
      "GET http://h:80/ HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET http://h HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET http://h?a=b HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET / HTTP/1.0\r\n\r\n",
      "GET /?&&a&=b&c== HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 003\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n003;a;b=c\r\nabc\r\n0;z\r\n"
      "A: b\r\nC: d\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
  };
  for (const std::string& request : accepted) {
    peer_ = std::make_shared<testing::MemoryPeer>();
    open({}, [](const Request& got, const std::shared_ptr<Exchange>& exchange) {
      EXPECT_EQ(got.path, "/");
      exchange->respond(200, {}, "");
    });
    send(request);
    const int status = status_of(received());
    EXPECT_TRUE(status == 200 || status == 204) << status << " for " << request;
    if (connection_ != nullptr) end();
  }
}

TEST_F(ConnectionTest, ARequestThatEndsEarlyIsA400) {
  for (const char* part : {"GET / HT", "GET / HTTP/1.1\r\nHost: h\r\n",
                           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nab"}) {
    peer_ = std::make_shared<testing::MemoryPeer>();
    open();
    send(part);
    end();
    EXPECT_EQ(status_of(received()), 400) << part;
    EXPECT_TRUE(is_closed());
    EXPECT_TRUE(requests_.empty());
  }
}

TEST_F(ConnectionTest, TheSumOfBodiesBeingReceivedIsBounded) {
  Options options;
  options.body_bytes_total_max = 1'000;
  open(options);
  send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n" + std::string(900, 'x'));
  EXPECT_EQ(received(), "");
  EXPECT_EQ(context_->stats().body_bytes, 900);
  send(std::string(200, 'x'));
  EXPECT_EQ(status_of(received()), 503);
  EXPECT_EQ(context_->stats().body_bytes, 0);
}

TEST_F(ConnectionTest, AllLimitsAreInclusive) {
  Options options;
  options.body_bytes_max = 1'000;
  options.header_fields_max = 3;
  options.header_bytes_max = 200;
  options.target_bytes_max = 10;
  open(options);
  const std::string head = "POST /23456789 HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\nX: ";
  send(head + std::string(200 - head.size() - 4, 'x') + "\r\n\r\n" + std::string(1'000, 'y'));
  ASSERT_EQ(requests_.size(), 1u) << received();
  EXPECT_EQ(requests_[0].body.size(), 1'000u);
  EXPECT_TRUE(exchanges_[0]->respond(200, {}, ""));
  loop_->run();
  send(head + std::string(200 - head.size() - 3, 'x') + "\r\n\r\n");
  EXPECT_NE(received().find("431"), std::string::npos);
}

}  // namespace
}  // namespace trine::http
