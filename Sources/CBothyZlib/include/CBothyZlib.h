/* The system's zlib, for gzip bodies and compressed tiles. */
#ifndef CBOTHY_ZLIB_H
#define CBOTHY_ZLIB_H
#include <zlib.h>
#endif
