#include "workspace/keep.h"
