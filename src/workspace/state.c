#include "workspace/state.h"
