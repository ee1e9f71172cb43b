/* Writes, appends, reads, renames, lists and removes in the work directory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *opened(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static int list(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        printf("%s\n", entry->d_name);
        n++;
    }
    closedir(folder);
    return n;
}

int main(void)
{
    mkdir("notes", 0755);
    FILE *file = opened("notes/one.txt", "w");
    fputs("alpha\nbeta\n", file);
    fclose(file);
    file = opened("notes/one.txt", "a");
    fputs("gamma\n", file);
    fclose(file);

    char line[100], joined[100] = "";
    int lines = 0;
    file = opened("notes/one.txt", "r");
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s",
                 lines++ ? "," : "", line);
    }
    fclose(file);
    printf("%d %s\n", lines, joined);

    file = opened("raw.bin", "wb+");
    for (int i = 0; i < 256; i++)
        fputc(i, file);
    rewind(file);
    int sum = 0;
    for (int c; (c = fgetc(file)) != EOF;)
        sum += c;
    printf("%ld %d\n", ftell(file), sum);
    fclose(file);

    rename("notes/one.txt", "notes/two.txt");
    list("notes");
    unlink("notes/two.txt");
    printf("%d\n", list("notes"));

    char name[] = "/tmp/x-XXXXXX";
    int fd = mkstemp(name);
    if (write(fd, "scratch\n", 8) != 8 || lseek(fd, 0, SEEK_SET) || read(fd, line, 8) != 8)
        return 1;
    printf("%.8s", line);
    return 0;
}
