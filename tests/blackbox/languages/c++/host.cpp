// Tries to read the files that it is given, then to connect to the port that comes last.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc - 1; i++)
        std::cout << (std::ifstream(argv[i]).get() != EOF ? "read" : "refused") << '\n';
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::stoi(argv[argc - 1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int done = connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address));
    std::cout << (fd >= 0 && done == 0 ? "connected" : "no connection") << '\n';
}
