// Numbers and choices on the command line.
#include "number_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace trine::cli {
namespace {

constexpr size_t kQuoteMax = 40;
constexpr std::string_view kUnits = "KMGT";

std::string quoted(const std::string& text) {
  return text.size() <= kQuoteMax ? "'" + text + "'" : "'" + text.substr(0, kQuoteMax) + "...'";
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// The factor of "K", "kB" or "KiB"; 0 for what is no unit of the rule.
uint64_t unit_factor(std::string_view text, const std::string& units) {
  if (text.empty()) return 1;
  const size_t power = kUnits.find(upper(text.front()));
  if (power == std::string_view::npos || units.find(kUnits[power]) == std::string::npos) return 0;
  text.remove_prefix(1);
  if (!text.empty() && text != "B" && text != "b" && text != "iB") return 0;
  return uint64_t{1} << (10 * (power + 1));
}

std::optional<uint64_t> read_integer(const std::string& text, const IntegerRule& rule) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(next, static_cast<size_t>(end - next));
  const uint64_t factor = unit_factor(unit, rule.units);
  if (factor == 0 || value > std::numeric_limits<uint64_t>::max() / factor) return std::nullopt;
  value *= factor;
  const bool fits = value >= rule.min && value <= rule.max && value % rule.multiple == 0;
  return fits ? std::optional(value) : std::nullopt;
}

std::string expectation(const IntegerRule& rule) {
  const uint64_t unbounded = IntegerRule().max;
  std::string text =
      rule.multiple == 1 ? "a whole number" : "a multiple of " + std::to_string(rule.multiple);
  if (rule.max < unbounded) {
    text += " from " + std::to_string(rule.min) + " to " + std::to_string(rule.max);
  } else {
    text += ", " + std::to_string(rule.min) + " or more";
  }
  if (!rule.units.empty()) text += " (such as 8192 or 32" + rule.units.substr(0, 1) + ")";
  return text;
}

std::optional<double> read_real(const std::string& text, double min, double max) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || next != end || !std::isfinite(value)) return std::nullopt;
  return value >= min && value <= max ? std::optional(value) : std::nullopt;
}

std::string spelled(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string found_expected(const std::string& found, const std::string& expected) {
  return "found " + quoted(found) + ", expected " + expected;
}

}  // namespace

CLI::Option* add_integer_option(CLI::App* app, const std::string& name, const std::string& help,
                                const IntegerRule& rule, const std::string& fallback,
                                std::function<void(uint64_t)> set) {
  const auto check = [rule](const std::string& text) {
    return read_integer(text, rule) ? std::string() : found_expected(text, expectation(rule));
  };
  const auto take = [rule, set = std::move(set)](const std::string& text) {
    set(read_integer(text, rule).value_or(0));
  };
  return app->add_option_function<std::string>(name, take, help)
      ->check(check)
      ->default_str(fallback)
      ->type_name("N");
}

CLI::Option* add_integers(CLI::App* app, const std::string& name, std::vector<int64_t>* values,
                          const std::string& help, const IntegerRule& rule) {
  const auto check = [rule](const std::string& text) {
    return read_integer(text, rule) ? std::string() : found_expected(text, expectation(rule));
  };
  const auto take = [rule, values](const std::vector<std::string>& texts) {
    values->clear();
    for (const std::string& text : texts) {
      values->push_back(static_cast<int64_t>(read_integer(text, rule).value_or(0)));
    }
  };
  std::string fallback;
  for (const int64_t value : *values) {
    fallback += (fallback.empty() ? "" : ",") + std::to_string(value);
  }
  return app->add_option_function<std::vector<std::string>>(name, take, help)
      ->delimiter(',')
      ->allow_extra_args(false)  // the next word is the next argument
      ->check(check)
      ->default_str("[" + fallback + "]")
      ->type_name("N,N,...");
}

CLI::Option* add_real_option(CLI::App* app, const std::string& name, const std::string& help,
                             double min, double max, double fallback,
                             std::function<void(double)> set) {
  const auto check = [min, max](const std::string& text) {
    if (read_real(text, min, max)) return std::string();
    const bool bounded = max < std::numeric_limits<double>::max();
    const std::string range = bounded ? "a number from " + spelled(min) + " to " + spelled(max)
                                      : "a number, " + spelled(min) + " or more";
    return found_expected(text, range);
  };
  const auto take = [min, max, set = std::move(set)](const std::string& text) {
    set(read_real(text, min, max).value_or(min));
  };
  return app->add_option_function<std::string>(name, take, help)
      ->check(check)
      ->default_str(spelled(fallback))
      ->type_name("X");
}

CLI::Option* add_choice(CLI::App* app, const std::string& name, const std::string& help,
                        const std::vector<std::string>& words,
                        const std::function<void(const std::string&)>& set) {
  const auto check = [words](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    std::string list;
    for (size_t i = 0; i < words.size(); ++i) {
      if (i > 0) list += i + 1 < words.size() ? ", " : " or ";
      list += words[i];
    }
    return found_expected(text, list);
  };
  return app->add_option_function<std::string>(name, set, help)->check(check);
}

}  // namespace trine::cli
