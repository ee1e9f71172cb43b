#ifndef PART_H
#define PART_H

void print_joined(int n, char words[][20]);

#endif
