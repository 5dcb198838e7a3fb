#include "grammar/formats.h"

#include <utility>

#include "base/try.h"
#include "grammar/regex.h"

namespace trine::grammar {
namespace {

std::string date() {
  return "(\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)"
         "|02-(0[1-9]|1\\d|2[0-8]))"
         "|(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)";
}

// Second 60 is valid in one minute of some years only, so it is not written.
std::string time() {
  return "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)";
}

std::string label() { return "[A-Za-z0-9]([A-Za-z0-9-]{0,60}[A-Za-z0-9])?"; }

// The common form of RFC 5321: no quoted local parts, no address literals. The host has at most
// three labels of at most 62 characters, so that the whole stays below 254.
std::string email() {
  return "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@" + label() +
         "(\\." + label() + "){1,2}";
}

std::string ipv4() {
  const std::string octet = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  return octet + "(\\." + octet + "){3}";
}

std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  std::string pattern = "(" + group + ":){7}" + group + "|::(" + group + "(:" + group + "){0,6})?";
  for (int before = 1; before <= 6; ++before)
    pattern += "|" + group + "(:" + group + "){" + std::to_string(before - 1) + "}::(" + group +
               "(:" + group + "){0," + std::to_string(6 - before) + "})?";
  return pattern + "|" + group + "(:" + group + "){6}::";
}

std::string uri() {
  const std::string piece = "([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*";
  return "[a-z][a-z0-9+.-]{0,30}://" + label() + "(\\." + label() + "){0,2}(:\\d{1,4})?(/" + piece +
         ")?(\\?" + piece + ")?(#" + piece + ")?";
}

std::string duration() {
  const std::string n = "\\d{1,9}";
  const std::string time =
      "T(" + n + "H(" + n + "M(" + n + "S)?)?|" + n + "M(" + n + "S)?|" + n + "S)";
  const std::string date =
      "(" + n + "Y(" + n + "M(" + n + "D)?)?|" + n + "M(" + n + "D)?|" + n + "D)";
  return "P(" + date + "(" + time + ")?|" + time + "|" + n + "W)";
}

}  // namespace

Result<CharDfa> format_dfa(std::string_view format) {
  std::string pattern;
  if (format == "date") pattern = date();
  if (format == "time") pattern = time();
  if (format == "date-time") pattern = date() + "T" + time();
  if (format == "uuid") pattern = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
  if (format == "email") pattern = email();
  if (format == "hostname") pattern = label() + "(\\." + label() + "){0,2}";
  if (format == "ipv4") pattern = ipv4();
  if (format == "ipv6") pattern = ipv6();
  if (format == "uri") pattern = uri();
  if (format == "duration") pattern = duration();
  if (pattern.empty())
    return Status(Code::kInvalidArgument,
                  "'" + std::string(format) +
                      "' is not supported (date, time, date-time, duration, uuid, email, hostname, "
                      "ipv4, ipv6 and uri are)");
  TRINE_ASSIGN_OR_RETURN(CharDfa dfa, regex_dfa(pattern, Anchoring::kWhole));
  if (format != "email") return dfa;
  TRINE_ASSIGN_OR_RETURN(const CharDfa lengths, regex_dfa("[^@]{1,64}@.*", Anchoring::kWhole));
  return intersect(dfa, lengths);
}

}  // namespace trine::grammar
