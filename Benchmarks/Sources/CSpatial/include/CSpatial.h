#ifndef CSPATIAL_H
#define CSPATIAL_H

#include <stdint.h>

// SpatiaLite, loaded into SQLite as its own tools load it. Every function returns a negative number on failure;
// `spatial_message` says why.
typedef struct spatial spatial;

// NULL when SQLite or SpatiaLite cannot be opened.
spatial *spatial_open(const char *path);
void spatial_close(spatial *store);
const char *spatial_message(const spatial *store);
const char *spatial_version(spatial *store);
// One transaction.
int64_t spatial_insert(
  spatial *store, int64_t first, const double *longitudes, const double *latitudes, int64_t count);
// Builds the R-tree, and gathers what the planner wants to know.
int64_t spatial_index(spatial *store);
// The ids of the nearest, by the virtual table for that. Returns how many.
int64_t spatial_nearest_knn(spatial *store, double longitude, double latitude, int64_t count, int64_t *ids);
// The ids of the nearest by great circle among what the R-tree has in a box of half the size, in degrees. Returns how
// many.
int64_t spatial_nearest_box(
  spatial *store, double longitude, double latitude, double half_width, double half_height, int64_t count,
  int64_t *ids);

#endif
