#include "workspace/copytree.h"
