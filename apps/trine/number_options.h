// Options that take a number or one of several words. Read strictly: no NaN, no infinity, no
// overflow, nothing after the number; what is refused is quoted beside what is expected.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace trine::cli {

struct IntegerRule {
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<int64_t>::max();
  uint64_t multiple = 1;
  std::string units = {};  ///< letters of "KMGT" that may follow: times 1024, 1024^2, ...
};

/// `set` is called with each number that keeps the rule; `fallback` is shown in the help.
CLI::Option* add_integer_option(CLI::App* app, const std::string& name, const std::string& help,
                                const IntegerRule& rule, const std::string& fallback,
                                std::function<void(uint64_t)> set);

template <typename T>
CLI::Option* add_integer(CLI::App* app, const std::string& name, T* value, const std::string& help,
                         const IntegerRule& rule) {
  return add_integer_option(app, name, help, rule, std::to_string(*value),
                            [value](uint64_t n) { *value = static_cast<T>(n); });
}

/// "N,N,...", and the option may be given again.
CLI::Option* add_integers(CLI::App* app, const std::string& name, std::vector<int64_t>* values,
                          const std::string& help, const IntegerRule& rule);

CLI::Option* add_real_option(CLI::App* app, const std::string& name, const std::string& help,
                             double min, double max, double fallback,
                             std::function<void(double)> set);

template <typename T>
CLI::Option* add_real(CLI::App* app, const std::string& name, T* value, const std::string& help,
                      double min, double max) {
  return add_real_option(app, name, help, min, max, static_cast<double>(*value),
                         [value](double x) { *value = static_cast<T>(x); });
}

/// One of the words, spelled exactly.
CLI::Option* add_choice(CLI::App* app, const std::string& name, const std::string& help,
                        const std::vector<std::string>& words,
                        const std::function<void(const std::string&)>& set);

}  // namespace trine::cli
