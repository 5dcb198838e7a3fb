// /openapi.json: from the routes and the tables that requests are checked with.
#include <string>

#include "server/fields.h"
#include "server/routes.h"

namespace trine::server {
namespace {

using json::Value;

Value content_of(const char* type, Value schema) {
  Value media;
  media.set("schema", std::move(schema));
  Value content;
  content.set(type, std::move(media));
  return content;
}

Value object_schema() {
  Value out;
  out.set("type", "object");
  return out;
}

Value response(const char* description, Value content) {
  Value out;
  out.set("description", description);
  if (!content.is_null()) out.set("content", std::move(content));
  return out;
}

Value error_schema() {
  Value error = object_schema();
  Value required = Value::array();
  required.push("type");
  required.push("message");
  error.set("required", std::move(required));
  Value properties;
  properties.set("error", std::move(error));
  Value out = object_schema();
  out.set("properties", std::move(properties));
  required = Value::array();
  required.push("error");
  out.set("required", std::move(required));
  return out;
}

Value responses_of(const Route& route) {
  Value out;
  if (route.path == "/metrics") {
    Value text;
    text.set("type", "string");
    out.set("200", response("The figures.", content_of("text/plain", std::move(text))));
  } else {
    Value content = content_of("application/json", object_schema());
    if (route.generates) {
      content.set("text/event-stream", Value::object());  // its events have many forms
    }
    out.set("200", response("The answer.", std::move(content)));
  }
  const auto error = [&](const char* status, const char* description) {
    out.set(status, response(description, content_of("application/json", error_schema())));
  };
  if (route.body != nullptr) {
    error("400", "The request is wrong; the field is named.");
    error("404", "This model is not served.");
    error("413", "The body is too large.");
  }
  if (route.path.ends_with("{id}")) error("404", "This model is not served.");
  if (!route.open) error("401", "No key, or an unknown one.");
  if (route.generates) error("429", "The queue is full; Retry-After says when to come again.");
  if (route.path == "/ready")
    out.set("503", response("Not now.", content_of("application/json", object_schema())));
  else
    error("503", "The server is shutting down or has no connection left.");
  return out;
}

std::string operation_id(const Route& route) {
  std::string out;
  for (const char c : std::string(route.method) + std::string(route.path))
    out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  return out;
}

Value operation(const Route& route) {
  Value out;
  out.set("summary", route.summary);
  out.set("operationId", operation_id(route));
  if (route.path.ends_with("{id}")) {
    Value text;
    text.set("type", "string");
    Value id;
    id.set("name", "id");
    id.set("in", "path");
    id.set("required", true);
    id.set("schema", std::move(text));
    Value parameters = Value::array();
    parameters.push(std::move(id));
    out.set("parameters", std::move(parameters));
  }
  if (route.body != nullptr) {
    Value body;
    body.set("required", true);
    body.set("content", content_of("application/json", schema_of(*route.body)));
    out.set("requestBody", std::move(body));
  }
  out.set("responses", responses_of(route));
  if (route.open) out.set("security", Value::array());
  return out;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

Value openapi(const ApiOptions& options) {
  Value info;
  info.set("title", "trine");
  info.set("version", options.version);
  Value paths;
  for (const Route& route : routes()) {
    const std::string path(route.path);
    Value item = paths.find(path) == nullptr ? Value::object() : *paths.find(path);
    item.set(lower(route.method), operation(route));
    paths.set(path, std::move(item));
  }
  Value scheme;
  scheme.set("type", "http");
  scheme.set("scheme", "bearer");
  Value schemes;
  schemes.set("key", std::move(scheme));
  Value components;
  components.set("securitySchemes", std::move(schemes));
  Value out;
  out.set("openapi", "3.1.0");
  out.set("info", std::move(info));
  out.set("paths", std::move(paths));
  out.set("components", std::move(components));
  if (!options.keys.empty()) {
    Value need;
    need.set("key", Value::array());
    Value security = Value::array();
    security.push(std::move(need));
    out.set("security", std::move(security));
  }
  return out;
}

}  // namespace trine::server
