#include "CFloor.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// What a row becomes: text is copied, as a program that keeps the row would.
typedef struct {
  char id[40];
  char name[64];
  char note[96];
  int64_t count;
  double price;
  int64_t created;
  int active, has_note;
} row;

enum { BEGIN, COMMIT, INSERT, INSERT_INDEXED, SELECT, SCAN, QUERY, QUERY_INDEXED, UPDATE, DELETE, STATEMENTS };

struct floor_store {
  sqlite3 *database;
  sqlite3_stmt *statements[STATEMENTS];
};

#define COLUMNS "id, name, count, price, active, created, note"

static const char *const schema =
  "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;"
  "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,"
  "  price REAL NOT NULL, active INTEGER NOT NULL, created INTEGER NOT NULL, note TEXT) STRICT;"
  "CREATE TABLE indexed (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,"
  "  price REAL NOT NULL, active INTEGER NOT NULL, created INTEGER NOT NULL, note TEXT) STRICT;"
  "CREATE INDEX indexed_count ON indexed (count);";

static const char *const texts[STATEMENTS] = {
  "BEGIN IMMEDIATE",
  "COMMIT",
  "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?)",
  "INSERT INTO indexed VALUES (?, ?, ?, ?, ?, ?, ?)",
  "SELECT " COLUMNS " FROM item WHERE id = ?",
  "SELECT " COLUMNS " FROM item",
  "SELECT " COLUMNS " FROM item WHERE count >= ? AND count < ? ORDER BY name, id",
  "SELECT " COLUMNS " FROM indexed WHERE count >= ? AND count < ? ORDER BY name, id",
  "UPDATE item SET name = ?2, count = ?3, price = ?4, active = ?5, created = ?6, note = ?7 WHERE id = ?1",
  "DELETE FROM item WHERE id = ?",
};

floor_store *floor_open(const char *path) {
  floor_store *store = calloc(1, sizeof *store);
  if (!store || sqlite3_open_v2(
    path, &store->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) return NULL;
  if (sqlite3_exec(store->database, schema, NULL, NULL, NULL) != SQLITE_OK) return NULL;
  for (int i = 0; i < STATEMENTS; i++) {
    if (sqlite3_prepare_v3(
          store->database, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &store->statements[i], NULL) != SQLITE_OK)
      return NULL;
  }
  return store;
}

void floor_close(floor_store *store) {
  for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(store->statements[i]);
  sqlite3_close(store->database);
  free(store);
}

static int run(floor_store *store, int which) {
  int code = sqlite3_step(store->statements[which]);
  sqlite3_reset(store->statements[which]);
  return code == SQLITE_DONE ? 0 : -1;
}

static void bind(sqlite3_stmt *statement, const floor_item *item) {
  sqlite3_bind_text(statement, 1, item->id, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(statement, 2, item->name, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 3, item->count);
  sqlite3_bind_double(statement, 4, item->price);
  sqlite3_bind_int64(statement, 5, item->active);
  sqlite3_bind_int64(statement, 6, item->created);
  if (item->note) sqlite3_bind_text(statement, 7, item->note, -1, SQLITE_TRANSIENT);
  else sqlite3_bind_null(statement, 7);
}

static void copy(char *to, size_t size, sqlite3_stmt *statement, int column) {
  const unsigned char *text = sqlite3_column_text(statement, column);
  size_t bytes = (size_t)sqlite3_column_bytes(statement, column);
  if (bytes > size - 1) bytes = size - 1;
  memcpy(to, text, bytes);
  to[bytes] = 0;
}

static void read_row(sqlite3_stmt *statement, row *to) {
  copy(to->id, sizeof to->id, statement, 0);
  copy(to->name, sizeof to->name, statement, 1);
  to->count = sqlite3_column_int64(statement, 2);
  to->price = sqlite3_column_double(statement, 3);
  to->active = sqlite3_column_int(statement, 4);
  to->created = sqlite3_column_int64(statement, 5);
  to->has_note = sqlite3_column_type(statement, 6) != SQLITE_NULL;
  if (to->has_note) copy(to->note, sizeof to->note, statement, 6);
}

static int64_t write_all(floor_store *store, int which, const floor_item *items, int64_t count) {
  if (run(store, BEGIN)) return -1;
  for (int64_t i = 0; i < count; i++) {
    bind(store->statements[which], &items[i]);
    if (run(store, which)) return -1;
  }
  return run(store, COMMIT) ? -1 : count;
}

int64_t floor_insert(floor_store *store, int table, const floor_item *items, int64_t count) {
  return write_all(store, table ? INSERT_INDEXED : INSERT, items, count);
}

int64_t floor_insert_each(floor_store *store, const floor_item *items, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (write_all(store, INSERT, &items[i], 1) < 0) return -1;
  }
  return count;
}

static int64_t read_by_id(floor_store *store, const char *id, row *to) {
  sqlite3_stmt *statement = store->statements[SELECT];
  sqlite3_bind_text(statement, 1, id, -1, SQLITE_TRANSIENT);
  int64_t found = 0;
  if (sqlite3_step(statement) == SQLITE_ROW) {
    read_row(statement, to);
    found = to->id[0] != 0;
  }
  sqlite3_reset(statement);
  return found;
}

int64_t floor_read(floor_store *store, const floor_item *items, int64_t count) {
  row kept;
  int64_t found = 0;
  if (sqlite3_exec(store->database, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) return -1;
  for (int64_t i = 0; i < count; i++) found += read_by_id(store, items[i].id, &kept);
  return run(store, COMMIT) ? -1 : found;
}

int64_t floor_read_one(floor_store *store, const char *id) {
  row kept;
  return read_by_id(store, id, &kept);
}

static int64_t collect(sqlite3_stmt *statement) {
  int64_t count = 0, capacity = 1024;
  row *rows = malloc((size_t)capacity * sizeof *rows);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (count == capacity) {
      capacity *= 2;
      rows = realloc(rows, (size_t)capacity * sizeof *rows);
    }
    read_row(statement, &rows[count++]);
  }
  sqlite3_reset(statement);
  free(rows);
  return count;
}

int64_t floor_scan(floor_store *store) { return collect(store->statements[SCAN]); }

int64_t floor_query(floor_store *store, int table, int64_t low, int64_t high) {
  sqlite3_stmt *statement = store->statements[table ? QUERY_INDEXED : QUERY];
  sqlite3_bind_int64(statement, 1, low);
  sqlite3_bind_int64(statement, 2, high);
  return collect(statement);
}

int64_t floor_update(floor_store *store, const floor_item *items, int64_t count) {
  return write_all(store, UPDATE, items, count);
}

int64_t floor_delete(floor_store *store, const floor_item *items, int64_t count) {
  if (run(store, BEGIN)) return -1;
  for (int64_t i = 0; i < count; i++) {
    sqlite3_bind_text(store->statements[DELETE], 1, items[i].id, -1, SQLITE_TRANSIENT);
    if (run(store, DELETE)) return -1;
  }
  return run(store, COMMIT) ? -1 : count;
}
