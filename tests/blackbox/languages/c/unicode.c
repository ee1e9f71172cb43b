#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include <wctype.h>

int main(void)
{
    setlocale(LC_ALL, "");
    const char *grüße[][2] = { { "日本", "Nihon" },
                               { "🦀", "Krebs" },
                               { "e\u0301", "combining" } };
    for (int i = 0; i < 3; i++)
        printf("%s %d %s\n", grüße[i][0], (int)mbstowcs(NULL, grüße[i][0], 0), grüße[i][1]);
    wchar_t zeile[20];
    if (scanf("%19ls", zeile) != 1)
        return 1;
    for (size_t i = wcslen(zeile); i-- > 0;)
        printf("%lc", (wint_t)zeile[i]);
    printf(" %lc\n", towupper(L'ö'));
    return 0;
}
