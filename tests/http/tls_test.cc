// TLS with a certificate made here: round trips, old versions, and files that are not what they
// should.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>

#include "client.h"
#include "http/server.h"
#include "support/temp_dir.h"

namespace trine::http {
namespace {

struct KeyFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyFree>;

Key make_key() { return Key(EVP_EC_gen("P-256")); }

void write_key(const std::string& path, EVP_PKEY* key, const char* password = nullptr) {
  BIO* file = BIO_new_file(path.c_str(), "w");
  const EVP_CIPHER* cipher = password != nullptr ? EVP_aes_128_cbc() : nullptr;
  const int size = password != nullptr ? static_cast<int>(std::strlen(password)) : 0;
  EXPECT_EQ(
      PEM_write_bio_PrivateKey(file, key, cipher, reinterpret_cast<const unsigned char*>(password),
                               size, nullptr, nullptr),
      1);
  BIO_free(file);
}

void write_certificate(const std::string& path, EVP_PKEY* key) {
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  EXPECT_GT(X509_sign(certificate, key, EVP_sha256()), 0);
  BIO* file = BIO_new_file(path.c_str(), "w");
  EXPECT_EQ(PEM_write_bio_X509(file, certificate), 1);
  BIO_free(file);
  X509_free(certificate);
}

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    key_ = make_key();
    write_key(folder_ / "key.pem", key_.get());
    write_certificate(folder_ / "certificate.pem", key_.get());
    options_.tls_certificate_file = folder_ / "certificate.pem";
    options_.tls_key_file = folder_ / "key.pem";
  }
  void start() {
    auto server =
        Server::start(options_, [this](const Request& request, std::shared_ptr<Exchange> exchange) {
          EXPECT_TRUE(request.secure);
          if (request.path != "/keep") {
            exchange->respond(200, {}, request.body);
            return;
          }
          const std::lock_guard lock(mutex_);
          kept_ = std::move(exchange);
          changed_.notify_all();
        });
    ASSERT_TRUE(server.ok()) << server.status().to_string();
    server_ = std::move(server).value();
  }
  std::shared_ptr<Exchange> kept() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return kept_ != nullptr; }));
    return kept_;
  }
  Status start_status() {
    return Server::start(options_, [](const Request&, const std::shared_ptr<Exchange>&) {})
        .status();
  }

  testing::TempDir folder_;
  Key key_;
  Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Exchange> kept_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, RoundTripsInBothVersions) {
  start();
  EXPECT_TRUE(server_->secure());
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Client client(server_->port());
    ASSERT_TRUE(client.start_tls(options_.tls_certificate_file, version));
    const std::string body(300'000, 'b');
    const std::string head =
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    ASSERT_TRUE(client.send(head + "\r\n" + body));
    EXPECT_EQ(client.read_response().body, body);
    ASSERT_TRUE(client.send(head + "Connection: close\r\n\r\n" + body));
    EXPECT_EQ(client.read_response().body, body);
    EXPECT_EQ(client.read_to_end(), "") << "the end is announced";
  }
}

TEST_F(TlsTest, RefusesOldVersionsAndPlainText) {
  start();
  Client old(server_->port());
  EXPECT_FALSE(old.start_tls(options_.tls_certificate_file, TLS1_1_VERSION));
  Client plain(server_->port());
  ASSERT_TRUE(plain.send(get("/")));
  EXPECT_EQ(plain.read_to_end().find("HTTP"), std::string::npos);
  Client right(server_->port());
  EXPECT_TRUE(right.start_tls(options_.tls_certificate_file));
}

TEST_F(TlsTest, SeesAClientThatLeavesInTheMiddleOfAStream) {
  start();
  Client client(server_->port());
  ASSERT_TRUE(client.start_tls(options_.tls_certificate_file));
  ASSERT_TRUE(client.send(get("/keep")));
  const auto exchange = kept();
  ASSERT_NE(exchange, nullptr);
  std::promise<CloseReason> gone;
  exchange->on_close([&](CloseReason reason) { gone.set_value(reason); });
  EXPECT_TRUE(exchange->begin(200, {}));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(exchange->write("data: " + std::to_string(i) + "\n\n"));
  }
  client.read_until("data: 99\n\n");
  client.close();
  auto future = gone.get_future();
  ASSERT_EQ(future.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_EQ(future.get(), CloseReason::kPeerGone);
}

TEST_F(TlsTest, StopsInTheMiddleOfHandshakesAndStreams) {
  start();
  Client silent(server_->port());
  Client streaming(server_->port());
  ASSERT_TRUE(streaming.start_tls(options_.tls_certificate_file));
  ASSERT_TRUE(streaming.send(get("/keep")));
  ASSERT_NE(kept(), nullptr);
  EXPECT_TRUE(kept()->begin(200, {}));
  server_->stop();
  EXPECT_EQ(server_->stats().connections_open, 0);
  EXPECT_TRUE(kept()->closed());
}

TEST_F(TlsTest, SaysWhatIsWrongWithTheFiles) {
  const auto expect = [&](Code code, const char* part) {
    const Status status = start_status();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  const Options right = options_;
  options_.tls_key_file = "";
  expect(Code::kInvalidArgument, "both");
  options_ = right;
  options_.tls_certificate_file = folder_ / "absent.pem";
  expect(Code::kNotFound, "absent.pem");
  options_.tls_certificate_file = folder_.write("text.pem", "no certificate");
  expect(Code::kInvalidArgument, "text.pem");
  options_ = right;
  options_.tls_key_file = folder_.write("text.pem", "no key");
  expect(Code::kInvalidArgument, "text.pem");
  const Key other = make_key();
  write_key(folder_ / "other.pem", other.get());
  options_.tls_key_file = folder_ / "other.pem";
  expect(Code::kInvalidArgument, "key values mismatch");
  write_key(folder_ / "locked.pem", key_.get(), "secret");
  options_.tls_key_file = folder_ / "locked.pem";
  expect(Code::kInvalidArgument, "encrypted");
}

}  // namespace
}  // namespace trine::http
