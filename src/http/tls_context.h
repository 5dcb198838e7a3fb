// A TLS context of OpenSSL from a certificate and a key: 1.2 and newer, errors that say what is
// wrong.
#pragma once

#include <memory>
#include <string>

#include "trine/status.h"

struct ssl_ctx_st;

namespace trine::http {

struct TlsContextFree {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, TlsContextFree>;

/// Both are PEM files; the certificate's may hold the chain, the server's own first.
Result<TlsContext> load_tls_context(const std::string& certificate_file,
                                    const std::string& key_file);

}  // namespace trine::http
