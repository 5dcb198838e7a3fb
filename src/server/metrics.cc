#include "server/metrics.h"

#include <algorithm>

#include "base/json.h"

namespace trine::server {
namespace {

std::string number(double value) { return json::dump(json::Value(value)); }

void head(const std::string& name, const std::string& help, const char* type, std::string* out) {
  *out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void line(const std::string& name, const std::string& labels, int64_t value, std::string* out) {
  *out += name + (labels.empty() ? "" : "{" + labels + "}") + " " + std::to_string(value) + "\n";
}

void one(const std::string& name, const std::string& help, const char* type, int64_t value,
         std::string* out) {
  head(name, help, type, out);
  line(name, "", value, out);
}

void write_gauges(const serving::Gauges& g, std::string* out) {
  const auto gauge = [&](const char* name, const char* help, int64_t value) {
    one(std::string("trine_") + name, help, "gauge", value, out);
  };
  gauge("requests_waiting", "Requests in the queue.", g.waiting);
  gauge("requests_running", "Requests that have a state slot and run.", g.running);
  gauge("queue_limit", "Places of the queue.", g.queue_limit);
  gauge("context_tokens", "Tokens of a request at most.", g.context);
  gauge("state_slots", "State slots.", g.slots);
  gauge("state_slots_used", "State slots that requests have.", g.slots_used);
  gauge("state_bytes", "Memory of all state slots.", g.state_bytes);
  gauge("latent_pages", "Pages of the latent cache.", g.latent_pages);
  gauge("latent_pages_used", "Latent pages that requests have.", g.latent_pages_used);
  gauge("latent_pages_cached", "Latent pages that only snapshots have.", g.latent_pages_cached);
  gauge("latent_bytes", "Memory of all latent pages.", g.latent_bytes);
  gauge("snapshots", "Snapshots in memory.", g.snapshots);
  gauge("snapshots_limit", "Snapshots that memory holds.", g.snapshots_limit);
  gauge("spilled_snapshots", "Snapshots in files.", g.spilled_snapshots);
  gauge("spilled_bytes", "Bytes of these files.", g.spilled_bytes);
  head("trine_step_seconds", "Time of a step, smoothed.", "gauge", out);
  *out += "trine_step_seconds " + number(g.step_ms / 1000) + "\n";
}

void write_counters(const serving::Counters& c, std::string* out) {
  const auto counter = [&](const char* name, const char* help, int64_t value) {
    one(std::string("trine_") + name, help, "counter", value, out);
  };
  counter("submitted_total", "Requests taken into the queue.", c.submitted);
  counter("refused_total", "Requests that the queue refused.", c.refused);
  counter("preempted_total", "Requests put back into the queue.", c.preempted);
  counter("steps_total", "Steps.", c.steps);
  counter("prompt_tokens_total", "Tokens of prompts.", c.prompt_tokens);
  counter("prefill_tokens_total", "Tokens of prompts that were computed.", c.prefill_tokens);
  counter("decode_tokens_total", "Tokens that were generated.", c.decode_tokens);
  counter("cached_tokens_total", "Tokens of prompts that came from snapshots.", c.cached_tokens);
  counter("snapshots_taken_total", "Snapshots taken.", c.snapshots_taken);
  counter("snapshots_evicted_total", "Snapshots evicted.", c.snapshots_evicted);
  counter("snapshots_spilled_total", "Snapshots written to files.", c.snapshots_spilled);
  counter("snapshots_restored_total", "Snapshots read from files.", c.snapshots_restored);

  head("trine_finished_total", "Requests that ended, by reason.", "counter", out);
  const std::pair<const char*, int64_t> ends[] = {{"stop", c.finished_stop},
                                                  {"length", c.finished_length},
                                                  {"cancelled", c.cancelled},
                                                  {"deadline", c.deadline},
                                                  {"error", c.failed}};
  for (const auto& [reason, value] : ends)
    line("trine_finished_total", "reason=\"" + std::string(reason) + "\"", value, out);

  head("trine_prefix_cache_total", "Requests by what the prefix cache had for them.", "counter",
       out);
  const std::pair<const char*, int64_t> results[] = {
      {"result=\"hit\",reason=\"whole\"", c.cache_hits},
      {"result=\"hit\",reason=\"partial\"", c.cache_hits_partial},
      {"result=\"miss\",reason=\"cold\"", c.cache_misses_cold},
      {"result=\"miss\",reason=\"evicted\"", c.cache_misses_evicted},
      {"result=\"miss\",reason=\"no_snapshot\"", c.cache_misses_no_snapshot},
      {"result=\"miss\",reason=\"bypassed\"", c.cache_bypassed}};
  for (const auto& [labels, value] : results) line("trine_prefix_cache_total", labels, value, out);
}

void write_http(const http::Stats& s, std::string* out) {
  one("trine_http_connections", "Open connections.", "gauge", s.connections_open, out);
  one("trine_http_connections_total", "Connections accepted.", "counter", s.connections_total, out);
  one("trine_http_requests_total", "Complete requests.", "counter", s.requests_total, out);
  one("trine_http_received_bytes_total", "Bytes received.", "counter", s.bytes_received, out);
  one("trine_http_sent_bytes_total", "Bytes sent.", "counter", s.bytes_sent, out);
  head("trine_http_refused_total", "Requests that the HTTP front refused.", "counter", out);
  for (size_t i = 0; i < http::kRefusalKinds; ++i)
    line("trine_http_refused_total",
         "kind=\"" + std::string(http::describe(static_cast<http::Refusal>(i)).name) + "\"",
         s.refused[i], out);
  head("trine_http_cut_total", "Answers that did not reach their end.", "counter", out);
  for (size_t i = 0; i < http::kCloseReasons; ++i)
    line("trine_http_cut_total",
         "reason=\"" + std::string(http::close_reason_name(static_cast<http::CloseReason>(i))) +
             "\"",
         s.cut[i], out);
}

const std::vector<double>& short_times() {
  static const std::vector<double> bounds = {0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15,
                                             0.2,   0.3,  0.5,  0.75, 1,    2,     5,   10};
  return bounds;
}

const std::vector<double>& long_times() {
  static const std::vector<double> bounds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,    2.5,  5,
                                             10,   25,    50,   100, 250,  500, 1000, 2500, 5000};
  return bounds;
}

}  // namespace

void Histogram::observe(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  const std::lock_guard<std::mutex> lock(mutex_);
  ++counts_[static_cast<size_t>(at)];
  sum_ += value;
}

void Histogram::write(const std::string& name, const std::string& help, std::string* out) const {
  head(name, help, "histogram", out);
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? number(bounds_[i]) : "+Inf";
    line(name + "_bucket", "le=\"" + bound + "\"", below, out);
  }
  *out += name + "_sum " + number(sum_) + "\n";
  line(name + "_count", "", below, out);
}

Metrics::Metrics()
    : ttft_(long_times()),
      inter_token_(short_times()),
      end_to_end_(long_times()),
      queue_(long_times()) {}

void Metrics::count_answer(const std::string& route, int status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++answers_[{route, status}];
}

std::string Metrics::text(const serving::Gauges& gauges, const serving::Counters& counters,
                          const http::Stats& http) const {
  std::string out;
  write_gauges(gauges, &out);
  write_counters(counters, &out);
  ttft_.write("trine_time_to_first_token_seconds", "Arrival to the first token.", &out);
  inter_token_.write("trine_inter_token_seconds", "From one token to the next.", &out);
  end_to_end_.write("trine_request_seconds", "Arrival to the end of the answer.", &out);
  queue_.write("trine_queue_seconds", "Time in the queue.", &out);
  head("trine_answers_total", "Answers by route and status.", "counter", &out);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, count] : answers_)
      line("trine_answers_total",
           "route=\"" + key.first + "\",code=\"" + std::to_string(key.second) + "\"", count, &out);
  }
  write_http(http, &out);
  return out;
}

}  // namespace trine::server
