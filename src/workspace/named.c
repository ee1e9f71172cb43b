#include "workspace/named.h"
