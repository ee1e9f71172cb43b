#include "workspace/textdiff.h"
