/* A walk through the C library; every line of its output is known. */
#define _GNU_SOURCE
#include <assert.h>
#include <complex.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum level { LOW = 1, HIGH = 10 };

struct item {
    const char *name;
    union {
        int32_t whole;
        float part;
    } value;
    unsigned int flag : 3;
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define KIND(x)                                                                                    \
    _Generic((x), int : "int", double : "double", const char * : "text", default : "other")

static_assert(sizeof(int32_t) == 4, "four bytes");

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

static int sum(int n, ...)
{
    va_list list;
    va_start(list, n);
    int total = 0;
    while (n--)
        total += va_arg(list, int);
    va_end(list);
    return total;
}

static uint32_t fnv(const char *text)
{
    uint32_t hash = 2166136261u;
    while (*text)
        hash = (hash ^ (unsigned char)*text++) * 16777619u;
    return hash;
}

static atomic_int hits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *work(void *given)
{
    atomic_fetch_add(&hits, 1);
    pthread_mutex_lock(&lock);
    total += (intptr_t)given;
    pthread_mutex_unlock(&lock);
    return (void *)((intptr_t)given * (intptr_t)given);
}

static void threads(void)
{
    pthread_t all[8];
    intptr_t squares = 0;
    for (size_t i = 0; i < COUNT(all); i++)
        pthread_create(&all[i], NULL, work, (void *)(intptr_t)(i + 1));
    for (size_t i = 0; i < COUNT(all); i++) {
        void *back;
        pthread_join(all[i], &back);
        squares += (intptr_t)back;
    }
    printf("%d %ld %" PRIdPTR "\n", hits, total, squares);
}

static jmp_buf back;
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

static void control(void)
{
    if (setjmp(back) == 0)
        longjmp(back, 1);
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    int status = 0;
    fflush(stdout);
    if (fork() == 0)
        _exit(42);
    wait(&status);
    errno = 0;
    FILE *file = fopen("/nonexistent", "r");
    printf("%d %d %s %d\n", caught == SIGUSR1, WEXITSTATUS(status), strerror(errno), file == NULL);
}

static void text(void)
{
    char line[] = "the quick brown fox";
    int words = 0;
    char *save;
    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
        words += isalpha((unsigned char)*word) != 0;
    char buffer[40];
    int length = snprintf(buffer, sizeof(buffer), "%-6s|%06.2f|%#x|%+d", "left", M_E, 255, 7);
    regex_t regex;
    regmatch_t at[3];
    regcomp(&regex, "([a-z]+)@([a-z]+)", REG_EXTENDED);
    int found = regexec(&regex, "to user@host", 3, at, 0);
    regfree(&regex);
    printf("%d %s %d %d %d\n", words, buffer, length, found, (int)at[2].rm_so);
    printf("%ld %s %ls %zu\n", strtol("7fff", NULL, 16), strstr("haystack", "st"), L"wide",
           strlen("ü"));
}

int main(void)
{
    struct item items[] = { { "pear", { .whole = 3 }, 5 }, { "apple", { .part = 2.5f }, 9 & 7 } };
    qsort(items, COUNT(items), sizeof(*items), by_name);
    struct item key = { .name = "pear" };
    struct item *hit = bsearch(&key, items, COUNT(items), sizeof(*items), by_name);
    printf("%s %.1f %d %u %d\n", items[0].name, (double)items[0].value.part, hit->value.whole,
           hit->flag, HIGH - LOW);
    printf("%s %s %s %d\n", KIND(1), KIND(1.0), KIND((const char *)""), sum(4, 1, 2, 3, 4));
    printf("%" PRIu64 " %d %08" PRIx32 " %d\n", UINT64_MAX, INT_MIN, fnv("abc"),
           (int)alignof(max_align_t));
    double complex z = cexp(I * M_PI);
    printf("%.3f %.6f %.0f %d\n", creal(z), sqrt(2), cbrt(27), isnan(NAN) != 0);
    struct tm moment = { .tm_year = 124, .tm_mon = 1, .tm_mday = 28 + 2, .tm_hour = 12 };
    time_t seconds = timegm(&moment);
    char date[40];
    strftime(date, sizeof(date), "%Y-%m-%d %a %j", gmtime(&seconds));
    printf("%s %lld\n", date, (long long)seconds);
    text();
    threads();
    control();
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *made;
    int length = asprintf(&made, "%s-%d", "made", 5);
    printf("%d %d %s\n", page != MAP_FAILED, length, made);
    free(made);
    return 0;
}
