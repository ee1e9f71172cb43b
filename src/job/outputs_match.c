#include "job/outputs.h"
