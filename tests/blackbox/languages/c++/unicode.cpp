#include <iostream>
#include <string>
#include <vector>

struct Gruß {
    std::string wort;
    std::u32string zeichen;
    std::string sinn;
};

int main()
{
    const std::vector<Gruß> grüße{
        {"日本", U"日本", "Nihon"}, {"🦀", U"🦀", "Krebs"}, {"e\u0301", U"e\u0301", "combining"}};
    for (const auto &[wort, zeichen, sinn] : grüße)
        std::cout << wort << ' ' << zeichen.size() << ' ' << sinn << '\n';
    std::string zeile, zurück;
    std::getline(std::cin, zeile);
    for (std::size_t ende = zeile.size(), i = ende; i-- > 0;)
        if ((zeile[i] & 0xc0) != 0x80) {
            zurück += zeile.substr(i, ende - i);
            ende = i;
        }
    std::cout << zurück << " Ö\n";
}
