// Writes, appends, reads, renames, lists and removes in the work directory.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

namespace fs = std::filesystem;

int main()
{
    fs::create_directory("notes");
    const fs::path one = fs::path("notes") / "one.txt", two = fs::path("notes") / "two.txt";
    std::ofstream(one) << "alpha\nbeta\n";
    std::ofstream(one, std::ios::app) << "gamma\n";
    std::ifstream in(one);
    std::vector<std::string> lines{std::istream_iterator<std::string>(in), {}};
    std::cout << lines.size() << ' ' << lines[0] << ',' << lines[1] << ',' << lines[2] << '\n';

    std::string bytes(256, '\0');
    std::iota(bytes.begin(), bytes.end(), '\0');
    std::ofstream("raw.bin", std::ios::binary) << bytes;
    std::ifstream raw("raw.bin", std::ios::binary);
    int sum = 0;
    for (char c; raw.get(c);)
        sum += static_cast<unsigned char>(c);
    std::cout << fs::file_size("raw.bin") << ' ' << sum << '\n';

    fs::rename(one, two);
    for (const auto &entry : fs::directory_iterator("notes"))
        std::cout << entry.path().filename().string() << '\n';
    fs::remove(two);
    std::cout << std::distance(fs::directory_iterator("notes"), {}) << '\n';

    const fs::path scratch = fs::temp_directory_path() / "scratch-file";
    std::ofstream(scratch) << "scratch";
    std::cout << std::ifstream(scratch).rdbuf() << '\n';
}
