// Commands inside a conversation: /system, /tools, ...
#include <fstream>
#include <iostream>

#include "chat_room.h"
#include "common.h"

namespace trine::cli {

const ChatRoom::Command ChatRoom::kCommands[] = {
    {"/system", "[TEXT]   show or set the system message ('off' removes it)",
     &ChatRoom::set_system},
    {"/tools", "[FILE]    show or read the tools, a JSON array ('off' removes them)",
     &ChatRoom::set_tools},
    {"/think", "LEVEL     none, on, low, medium, high or max", &ChatRoom::set_thinking},
    {"/save", "FILE       write the conversation as JSON", &ChatRoom::save},
    {"/load", "FILE       continue a saved conversation", &ChatRoom::load},
    {"/stats", "          speed, memory and context so far", &ChatRoom::show_stats},
    {"/reset", "          forget the conversation; system message and tools stay",
     &ChatRoom::reset},
    {"/help", "           this list", &ChatRoom::show_help},
    {"/exit", "           leave (Ctrl-D too)", &ChatRoom::leave},
};

void ChatRoom::handle_command(const std::string& line) {
  const size_t blank = line.find_first_of(" \t\n");
  const std::string name = line.substr(0, blank);
  std::string argument;
  if (blank != std::string::npos) {
    const size_t begin = line.find_first_not_of(" \t", blank);
    const size_t end = line.find_last_not_of(" \t\r");
    if (begin != std::string::npos && end >= begin) argument = line.substr(begin, end - begin + 1);
  }
  for (const Command& command : kCommands) {
    if (name == command.name || (name == "/quit" && command.act == &ChatRoom::leave)) {
      (this->*command.act)(argument);
      return;
    }
  }
  std::cerr << "trine chat: " << name << ": no such command; /help lists them\n";
  note_failure(kRefused);
}

void ChatRoom::set_system(const std::string& argument) {
  if (argument.empty()) {
    const std::string text = conversation_.system();
    say(text.empty() ? "no system message" : text);
    return;
  }
  conversation_.set_system(argument == "off" ? "" : argument);
  say("system message " + std::string(argument == "off" ? "removed" : "set"));
}

void ChatRoom::set_tools(const std::string& argument) {
  if (argument == "off") conversation_.clear_tools();
  if (!argument.empty() && argument != "off") {
    const Result<std::string> text = read_input(argument);
    Conversation changed = conversation_;
    const Status status = text.ok() ? changed.set_tools(*text, argument) : text.status();
    if (!status.ok()) {
      note_failure(fail(status));
      return;
    }
    if (!adopt(std::move(changed), argument)) return;
  }
  std::string names;
  for (const std::string& name : conversation_.tool_names()) names += " " + name;
  say(names.empty() ? "no tools" : "tools:" + names);
}

void ChatRoom::set_thinking(const std::string& argument) {
  for (const std::string& level : think_levels()) {
    if (argument != level) continue;
    conversation_.set_thinking(argument);
    say("thinking: " + argument);
    return;
  }
  std::cerr << "trine chat: /think: found '" << argument
            << "', expected none, on, low, medium, high or max\n";
  note_failure(kRefused);
}

void ChatRoom::save(const std::string& argument) {
  if (argument.empty()) {
    std::cerr << "trine chat: /save needs the name of a file\n";
    note_failure(kRefused);
    return;
  }
  std::ofstream file(argument, std::ios::binary | std::ios::trunc);
  file << conversation_.to_text();
  file.close();
  if (!file) {
    note_failure(fail(Status(Code::kIo, argument + ": cannot write")));
    return;
  }
  say("saved to " + argument);
}

void ChatRoom::load(const std::string& argument) {
  if (argument.empty()) {
    std::cerr << "trine chat: /load needs the name of a file\n";
    note_failure(kRefused);
    return;
  }
  Conversation loaded;
  std::vector<std::string> ignored;
  const Result<std::string> text = read_input(argument);
  const Status status = text.ok() ? loaded.read(*text, argument, &ignored) : text.status();
  if (!status.ok()) {
    note_failure(fail(status));
    return;
  }
  if (!adopt(std::move(loaded), argument)) return;
  session_.invalidate();
  last_ = Answer();
  say("loaded " + std::to_string(conversation_.turns()) +
      " messages; they are read with the next "
      "message");
}

void ChatRoom::show_stats(const std::string& /*argument*/) {
  std::string text = std::to_string(conversation_.turns()) + " messages | context " +
                     std::to_string(session_.position()) + " of " +
                     std::to_string(model_.context()) + " tokens";
  if (last_.generation.ids.empty()) {
    say(text);
    return;
  }
  text += " | kept from earlier turns " + std::to_string(session_.reused_tokens()) +
          "\nlast: " + statistics_text(model_, last_.generation, -1);
  std::cerr << text;
}

void ChatRoom::reset(const std::string& /*argument*/) {
  conversation_.clear_turns();
  session_.invalidate();
  last_ = Answer();
  say("new conversation");
}

void ChatRoom::show_help(const std::string& /*argument*/) {
  for (const Command& command : kCommands) std::cerr << command.name << " " << command.help << "\n";
  std::cerr << "A line that ends in \\ goes on in the next one. Ctrl-C ends an answer.\n";
}

void ChatRoom::leave(const std::string& /*argument*/) { done_ = true; }

}  // namespace trine::cli
