/* Tries to read the files that it is given, then to connect to the port that comes last. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc - 1; i++) {
        FILE *file = fopen(argv[i], "r");
        puts(file && fgetc(file) != EOF ? "read" : "refused");
    }
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((unsigned short)strtoul(argv[argc - 1], NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int done = connect(fd, (struct sockaddr *)&address, sizeof(address));
    puts(fd >= 0 && done == 0 ? "connected" : "no connection");
    return 0;
}
