#include "cli/present.h"

#include <ctype.h>
#include <string.h>

#define PLAIN "\033[0m"

enum color { COLOR_TEXT, COLOR_NUMBER, COLOR_COMMENT, COLOR_WORD, N_COLORS };

static const char *const sequences[N_COLORS] = { "\033[32m", "\033[36m", "\033[90m", "\033[35m" };

/* How a language writes comments and texts, and its words between blanks. */
struct syntax {
    const char *names; /* of the languages, between blanks */
    const char *comment;
    const char *quotes;
    const char *words;
};

#define C_WORDS                                                                                    \
    " break case class const continue default do else enum extends false finally for function "    \
    "if import in instanceof interface let new null of private public return static super switch " \
    "this throw throws true try typeof undefined var void while async await export from func go "  \
    "defer range select chan map package struct type nil int string bool fn impl match mod mut "   \
    "pub self Self trait use where loop crate final "

/* clang-format off */
static const struct syntax syntaxes[] = {
    { " python ", "#", "\"'",
      " False None True and as assert async await break class continue def del elif else except "
      "finally for from global if import in is lambda nonlocal not or pass raise return try while "
      "with yield match case " },
    { " ruby ", "#", "\"'",
      " BEGIN END alias and begin break case class def defined? do else elsif end ensure false for "
      "if in module next nil not or redo rescue retry return self super then true undef unless "
      "until when while yield " },
    { " perl r ", "#", "\"'",
      " and bless die else elsif eq for foreach function if in last local my ne next no not or our "
      "package print repeat return say sub unless until use while TRUE FALSE NULL NA undef " },
    { " bash sh zsh ", "#", "\"'",
      " case cd declare do done echo elif else esac exit export fi for function if in local read "
      "return select set shift source then trap unset until while " },
    { " lua ", "--", "\"'",
      " and break do else elseif end false for function goto if in local nil not or repeat return "
      "then true until while " },
    { " sql postgres ", "--", "'",
      " AND AS ASC BEGIN BY CASE COMMIT CREATE DELETE DESC DISTINCT DROP ELSE END FROM GROUP "
      "HAVING IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER PRIMARY "
      "ROLLBACK SELECT SET TABLE THEN UNION UPDATE VALUES WHEN WHERE WITH " },
    { " ", "//", "\"'`", C_WORDS }, /* all others */
};
/* clang-format on */

static bool has_word(const char *list, const char *word, size_t len, bool any_case)
{
    for (const char *at = list; *at; at++) {
        const char *end = *at == ' ' ? strchr(at + 1, ' ') : NULL;

        if (end && (size_t)(end - at - 1) == len &&
            !(any_case ? strncasecmp(at + 1, word, len) : strncmp(at + 1, word, len)))
            return true;
    }
    return false;
}

static const struct syntax *syntax_of(const char *language)
{
    const struct syntax *s = syntaxes;

    while (s < syntaxes + sizeof(syntaxes) / sizeof(*syntaxes) - 1 &&
           !has_word(s->names, language, strlen(language), false))
        s++;
    return s;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* Up to the closing quote, or the end of its line; three quotes go over lines. */
static size_t text_len(const char *text, size_t len)
{
    bool three = len >= 3 && text[1] == text[0] && text[2] == text[0] && text[0] != '`';
    size_t at = three ? 3 : 1;

    for (; at < len; at++) {
        if (text[at] == '\\') {
            at++;
        } else if (text[at] == '\n' && !three && text[0] != '`') {
            return at;
        } else if (text[at] == text[0] &&
                   (!three || (at + 2 < len && text[at + 1] == text[0] && text[at + 2] == text[0])))
            return at + (three ? 3 : 1);
    }
    return len;
}

static size_t number_len(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len && (is_name(text[at]) || text[at] == '.'))
        at++;
    return at;
}

static size_t name_len(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len && is_name(text[at]))
        at++;
    return at;
}

/* The next piece of one colour; N_COLORS: none. */
static size_t next_piece(const struct syntax *s, const char *text, size_t len, enum color *ret)
{
    size_t comment = strlen(s->comment), n;

    *ret = N_COLORS;
    if (len >= comment && !memcmp(text, s->comment, comment)) {
        *ret = COLOR_COMMENT;
        return (size_t)((const char *)memchr(text, '\n', len) ?: text + len) - (size_t)text;
    }
    if (strchr(s->quotes, *text)) {
        *ret = COLOR_TEXT;
        return text_len(text, len);
    }
    if (isdigit((unsigned char)*text)) {
        *ret = COLOR_NUMBER;
        return number_len(text, len);
    }
    if (!is_name(*text))
        return 1;
    n = name_len(text, len);
    if (has_word(s->words, text, n, strchr(s->names, 'q') != NULL))
        *ret = COLOR_WORD;
    return n;
}

static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t')
            return false;
    return true;
}

void highlight(const char *language, const char *text, size_t len, struct buf *out)
{
    const struct syntax *s = syntax_of(language);

    if (!is_plain(text, len)) {
        buf_add(out, text, len);
        return;
    }
    for (size_t at = 0; at < len;) {
        enum color color;
        size_t n = next_piece(s, text + at, len - at, &color);

        if (color < N_COLORS)
            buf_add_text(out, sequences[color]);
        buf_add(out, text + at, n);
        if (color < N_COLORS)
            buf_add_text(out, PLAIN);
        at += n;
    }
}
