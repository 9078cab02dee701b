#ifndef CFLOOR_H
#define CFLOOR_H

#include <stdint.h>

// Hand-written C on SQLite with kept statements: the floor that everything else is measured against.
// Every function returns a negative number on failure.

typedef struct {
  const char *id;
  const char *name;
  const char *note;  // NULL: none
  int64_t count;
  double price;
  int64_t created;  // milliseconds since 1970
  int active;
} floor_item;

typedef struct floor_store floor_store;

floor_store *floor_open(const char *path);
void floor_close(floor_store *store);

// One transaction; `table` is 0 for the plain table, 1 for the one with an index on `count`.
int64_t floor_insert(floor_store *store, int table, const floor_item *items, int64_t count);
// One transaction each.
int64_t floor_insert_each(floor_store *store, const floor_item *items, int64_t count);
// One snapshot; the number of rows found.
int64_t floor_read(floor_store *store, const floor_item *items, int64_t count);
// One row by id on a kept statement, outside any transaction; 1 when found.
int64_t floor_read_one(floor_store *store, const char *id);
int64_t floor_scan(floor_store *store);
// Rows with `count` in [low, high), by name.
int64_t floor_query(floor_store *store, int table, int64_t low, int64_t high);
int64_t floor_update(floor_store *store, const floor_item *items, int64_t count);
int64_t floor_delete(floor_store *store, const floor_item *items, int64_t count);

#endif
