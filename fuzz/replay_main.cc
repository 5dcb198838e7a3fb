// Runs a fuzz target once on each file of the folders and files named: the corpus as a test.
// Every file is run again cut at half its length and with one byte changed, which costs nothing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void run(const std::string& input) {
  // A heap copy of the exact size, so that a read past the end is seen by sanitizers.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void run_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  run(input);
  run(input.substr(0, input.size() / 2));
  if (input.empty()) return;
  input[input.size() / 3] = static_cast<char>(input[input.size() / 3] ^ 0x11);
  run(input);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) run_file(path);
  std::printf("replayed %zu files\n", files.size());
  return files.empty() ? 1 : 0;  // a corpus that is not found tests nothing
}
