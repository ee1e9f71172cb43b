#include "job/changes.h"
