#include "http/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/try.h"

namespace trine::http {
namespace {

// The first error of OpenSSL's queue, which is emptied.
std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "unknown error";
}

// An encrypted key would make OpenSSL ask on the terminal.
int refuse_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// Chooses http/1.1 where the client offers it; otherwise the connection goes on without.
int choose_protocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned offered_size, void* /*unused*/) {
  static constexpr unsigned char kProtocol[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kProtocol, sizeof(kProtocol) - 1,
                                          offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

Status check_file(const char* what, const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return {};
  return {Code::kNotFound, std::string("TLS ") + what + " '" + path + "': no such file"};
}

}  // namespace

void TlsContextFree::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<TlsContext> load_tls_context(const std::string& certificate_file,
                                    const std::string& key_file) {
  TRINE_RETURN_IF_ERROR(check_file("certificate", certificate_file));
  TRINE_RETURN_IF_ERROR(check_file("key", key_file));
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return Status(Code::kInternal, "TLS: " + openssl_error());
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(
      raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);  // hundreds of connections wait most of the time
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(raw, certificate_file.c_str()) != 1) {
    return Status(Code::kInvalidArgument, "TLS certificate '" + certificate_file +
                                              "': " + openssl_error() +
                                              "; expected a PEM file with the server's first");
  }
  bool asked = false;
  SSL_CTX_set_default_passwd_cb(raw, refuse_password);
  SSL_CTX_set_default_passwd_cb_userdata(raw, &asked);
  const bool has_key = SSL_CTX_use_PrivateKey_file(raw, key_file.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(raw, nullptr);
  if (asked) {
    return Status(Code::kInvalidArgument,
                  "TLS key '" + key_file + "' is encrypted; decrypt it (openssl pkey -in FILE)");
  }
  if (!has_key) {
    const std::string why = openssl_error();
    return Status(Code::kInvalidArgument,
                  "TLS key '" + key_file + "': " + why +
                      "; expected the PEM private key of the certificate '" + certificate_file +
                      "'");
  }
  return context;
}

}  // namespace trine::http
