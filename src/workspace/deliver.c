#include "workspace/deliver.h"
