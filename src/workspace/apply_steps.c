#include "workspace/apply.h"
