#pragma once
#include "SouffleFunctor.h"
