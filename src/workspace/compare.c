#include "workspace/compare.h"
