/* Gives the target an object file; the header has all of its content. */
#include "CBothyZlib.h"
