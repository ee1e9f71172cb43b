#include "sandbox/mounts.h"
