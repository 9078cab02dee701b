/* The system's zlib, for gzip bodies on the server. */
#include <zlib.h>
