// A walk through the standard library; every line of its output is known.
#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <ratio>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Square final : Shape {
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
    double side;
};

template <typename T, int N>
struct Ring {
    std::array<T, N> items{};
    void put(T value) { items[next++ % N] = value; }
    int next = 0;
};

template <typename... Ts>
auto sum(Ts... values)
{
    return (values + ...);
}

template <typename... Ts>
struct overloaded : Ts... {
    using Ts::operator()...;
};
template <typename... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

constexpr unsigned long long fibonacci(int n)
{
    unsigned long long a = 0, b = 1;
    for (int i = 0; i < n; i++) {
        auto next = a + b;
        a = b;
        b = next;
    }
    return a;
}
static_assert(fibonacci(10) == 55);

struct Loud {
    explicit Loud(const char *name) : name(name) {}
    ~Loud() { std::cout << "gone " << name << '\n'; }
    const char *name;
};

int main()
{
    std::istringstream text("the quick brown fox jumps over the lazy dog the end");
    std::map<std::string, int> counts;
    for (std::string word; text >> word;)
        counts[word]++;
    auto most = std::max_element(counts.begin(), counts.end(), [](auto &a, auto &b) { return a.second < b.second; });
    std::cout << most->first << ' ' << most->second << ' ' << counts.size() << '\n';

    std::vector<int> numbers{5, 3, 9, 1, 7};
    std::sort(numbers.begin(), numbers.end(), std::greater<>{});
    std::cout << numbers.front() << ' ' << std::accumulate(numbers.begin(), numbers.end(), 0) << ' '
              << std::count_if(numbers.begin(), numbers.end(), [](int n) { return n > 4; }) << ' '
              << std::inner_product(numbers.begin(), numbers.end(), numbers.begin(), 0) << '\n';
    std::priority_queue<int, std::vector<int>, std::greater<int>> queue(numbers.begin(), numbers.end());
    std::set<char> letters{'c', 'a', 'b', 'a'};
    std::deque<int> deque{1, 2};
    deque.push_front(0);
    std::cout << queue.top() << ' ' << std::string(letters.begin(), letters.end()) << ' ' << deque.size() << '\n';

    std::unique_ptr<Shape> shape = std::make_unique<Square>(3);
    auto shared = std::make_shared<int>(7);
    std::weak_ptr<int> weak = shared;
    shared.reset();
    std::cout << shape->area() << ' ' << weak.expired() << ' ' << sum(1, 2.5, 3) << ' ' << fibonacci(90) << '\n';
    Ring<char, 3> ring;
    for (char c : std::string_view("hello"))
        ring.put(c);
    std::cout << std::string(ring.items.begin(), ring.items.end()) << ' ' << std::bitset<8>(42) << '\n';

    std::variant<int, std::string> value = "text";
    auto describe = overloaded{[](int) { return "a number"; }, [](const std::string &) { return "a text"; }};
    std::optional<int> none;
    std::any anything = 4.5;
    auto [left, right] = std::tuple{1, "two"};
    std::cout << std::visit(describe, value) << ' ' << none.value_or(-1) << ' ' << std::any_cast<double>(anything) << ' '
              << left << right << '\n';
    std::cout << std::regex_replace("user@host", std::regex(R"((\w+)@(\w+))"), "$2 at $1") << ' ' << std::fixed
              << std::setprecision(3) << 3.14159 << ' ' << std::hex << std::setw(6) << std::setfill('0') << 255 << std::dec
              << '\n';
    std::cout << std::chrono::duration_cast<std::chrono::minutes>(std::chrono::hours(25)).count() << ' '
              << std::mt19937(5489)() << ' ' << std::gcd(12, 18) << '\n';

    std::mutex mutex;
    std::atomic<int> hits{0};
    long total = 0;
    std::vector<std::thread> threads;
    for (int i = 1; i <= 8; i++)
        threads.emplace_back([&, i] {
            hits++;
            std::lock_guard guard(mutex);
            total += i;
        });
    for (auto &thread : threads)
        thread.join();
    auto later = std::async(std::launch::async, [] { return 6 * 7; });
    std::cout << hits << ' ' << total << ' ' << later.get() << '\n';

    std::unordered_map<std::string, std::function<int(int, int)>> table{{"add", std::plus<>{}}, {"mul", std::multiplies<>{}}};
    std::cout << table["add"](2, 3) << table.at("mul")(2, 3) << '\n';
    try {
        Loud loud("first");
        std::vector<int>().at(3);
    } catch (const std::out_of_range &error) {
        std::cout << "caught\n";
    }
    std::string moved = "moved", target = std::move(moved);
    Loud last("last");
    std::cout << target << ' ' << std::stoi("0x1f", nullptr, 16) << ' ' << std::to_string(1.5) << std::endl;
}
