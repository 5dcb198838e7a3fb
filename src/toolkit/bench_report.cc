// Rows as JSON and as text.
#include "toolkit/bench_report.h"

#include <cmath>

#include "toolkit/bench_peaks.h"
#include "toolkit/text_table.h"

namespace trine {
namespace {

constexpr double kNoise = 0.10;

std::string decimal(double value, int places) {
  int64_t scale = 1;
  for (int i = 0; i < places; ++i) scale *= 10;
  const int64_t units = std::llround(value * static_cast<double>(scale));
  std::string text = std::to_string(units / scale);
  if (places == 0) return text;
  std::string rest = std::to_string(units % scale);
  rest.insert(0, static_cast<size_t>(places) - rest.size(), '0');
  return text + "." + rest;
}

json::Value positive(double value) { return value > 0 ? json::Value(value) : json::Value(); }

const BenchRow* find_row(const std::vector<BenchRow>& rows, int64_t depth, int64_t batch,
                         bool busy) {
  for (const BenchRow& row : rows)
    if (row.kind == "decode" && row.depth == depth && row.batch == batch && row.busy == busy)
      return &row;
  return nullptr;
}

std::string name_of(const BenchRow& row) {
  std::string name = row.kind;
  if (row.kind == "prefill") name += " of " + std::to_string(row.tokens);
  if (row.kind == "decode" && row.depth > 0) name += " at depth " + std::to_string(row.depth);
  if (row.batch > 1) name += " of " + std::to_string(row.batch) + " sequences";
  return name;
}

}  // namespace

double BenchRow::seconds() const { return median(samples); }

double BenchRow::tokens_per_s() const {
  const double time = seconds();
  const bool counts = kind == "prefill" || kind == "decode";
  return counts && time > 0 ? static_cast<double>(tokens) / time : 0;
}

double BenchRow::bytes_per_token() const {
  return tokens > 0 ? bytes / static_cast<double>(tokens) : 0;
}

double BenchRow::roof_fraction() const {
  const double time = seconds();
  return time > 0 ? roof_seconds / time : 0;
}

json::Value BenchRow::to_json() const {
  json::Value value = json::Value::object();
  value.set("kind", kind);
  value.set("tokens", tokens);
  value.set("depth", depth);
  value.set("batch", batch);
  value.set("busy", busy);
  value.set("tokens_per_s", positive(tokens_per_s()));
  value.set("bytes_per_token", positive(bytes_per_token()));
  value.set("roof_fraction", positive(roof_fraction()));
  value.set("seconds", seconds());
  return value;
}

json::Value to_json(const std::vector<LeftOut>& left_out) {
  json::Value list = json::Value::array();
  for (const LeftOut& item : left_out) {
    json::Value value = json::Value::object();
    value.set("kind", item.row.kind);
    value.set("tokens", item.row.tokens);
    value.set("depth", item.row.depth);
    value.set("batch", item.row.batch);
    value.set("reason", item.reason);
    list.push(std::move(value));
  }
  return list;
}

std::string bench_left_out(const std::vector<LeftOut>& left_out) {
  std::string text;
  for (const LeftOut& item : left_out)
    text += "left out: " + name_of(item.row) + ": " + item.reason + "\n";
  return text;
}

std::string bench_above_roof(const std::vector<BenchRow>& rows) {
  for (const BenchRow& row : rows)
    if (std::llround(1000 * row.roof_fraction()) > 1000)  // as the table rounds
      return "above 100 % of roof: the bandwidth or the clock of this machine moved between the "
             "measurements\n";
  return "";
}

std::string bench_table(const std::vector<BenchRow>& rows) {
  TextTable table({"", "tokens", "depth", "batch", "tok/s", "MB/token", "of roof", "seconds"});
  for (const BenchRow& row : rows) {
    const auto or_dash = [](bool applies, const std::string& text) { return applies ? text : "-"; };
    table.add({row.kind + (row.busy ? ", busy" : ""), std::to_string(row.tokens),
               std::to_string(row.depth), std::to_string(row.batch),
               or_dash(row.tokens_per_s() > 0, decimal(row.tokens_per_s(), 2)),
               or_dash(row.bytes > 0, decimal(row.bytes_per_token() / 1e6, 1)),
               or_dash(row.roof_seconds > 0, decimal(100 * row.roof_fraction(), 1) + " %"),
               decimal(row.seconds(), 3)});
  }
  return table.text();
}

std::string bench_ratios(const std::vector<BenchRow>& rows) {
  std::string text;
  const auto add = [&text](const std::string& what, double ratio, const std::string& of) {
    text += what + ": " + decimal(ratio, 2) + " x " + of + "\n";
  };
  const BenchRow* single = find_row(rows, 0, 1, false);
  for (const BenchRow& row : rows) {
    if (row.kind == "decode" && !row.busy && single != nullptr && &row != single)
      add(name_of(row), row.tokens_per_s() / single->tokens_per_s(), "the rate of one at depth 0");
    if (!row.busy || row.seconds() <= 0) continue;
    for (const BenchRow& quiet : rows)
      if (!quiet.busy && quiet.kind == row.kind && quiet.tokens == row.tokens &&
          quiet.depth == row.depth && quiet.batch == row.batch)
        add(name_of(row) + " beside a busy neighbour", quiet.seconds() / row.seconds(),
            "the quiet rate");
  }
  return text;
}

std::string bench_noise(const std::vector<BenchRow>& rows) {
  std::string text;
  for (const BenchRow& row : rows)
    if (!row.busy && spread(row.samples) > kNoise)
      text += "noisy: repeats of " + name_of(row) + " differ by " +
              decimal(100 * spread(row.samples), 0) + " %; is something else running?\n";
  return text;
}

}  // namespace trine
