// Files and rows with nothing around them.
#include "CDisk.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct disk_floor {
  char folder[1024];
  sqlite3 *database;
  sqlite3_stmt *insert, *select;
  int64_t size;
  char *memory;
};

// Spreads the rows over the table, as keys do that are hashes.
static int64_t place(int64_t number) { return (int64_t)((uint64_t)number * 0x9E3779B97F4A7C15u); }

disk_floor *disk_open(const char *folder, int64_t page_size, int64_t size) {
  disk_floor *floor = calloc(1, sizeof *floor);
  if (!floor) return NULL;
  floor->size = size;
  floor->memory = malloc((size_t)size);
  snprintf(floor->folder, sizeof floor->folder, "%s", folder);
  char text[1200];
  snprintf(text, sizeof text, "%s/bare.sqlite", folder);
  mkdir(folder, 0700);
  if (!floor->memory || sqlite3_open(text, &floor->database)) return NULL;
  snprintf(
    text, sizeof text,
    "PRAGMA page_size = %lld; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "PRAGMA secure_delete = OFF; PRAGMA mmap_size = 1099511627776; PRAGMA wal_autocheckpoint = %lld;"
    "CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    (long long)page_size, (4ll << 20) / (long long)page_size);
  if (sqlite3_exec(floor->database, text, NULL, NULL, NULL)) return NULL;
  if (sqlite3_prepare_v2(floor->database, "INSERT OR REPLACE INTO t VALUES (?1, ?2)", -1, &floor->insert, NULL)) return NULL;
  if (sqlite3_prepare_v2(floor->database, "SELECT data FROM t WHERE id = ?1", -1, &floor->select, NULL)) return NULL;
  return floor;
}

void disk_close(disk_floor *floor) {
  sqlite3_finalize(floor->insert);
  sqlite3_finalize(floor->select);
  sqlite3_close(floor->database);
  free(floor->memory);
  free(floor);
}

static void path(const disk_floor *floor, int64_t number, char *text, size_t size) {
  snprintf(text, size, "%s/16/%lld/%lld", floor->folder, (long long)(number / 256), (long long)(number % 256));
}

int64_t disk_make_folders(disk_floor *floor, int64_t count) {
  char text[1200];
  snprintf(text, sizeof text, "%s/16", floor->folder);
  mkdir(text, 0700);
  for (int64_t x = 0; x <= count / 256; x++) {
    snprintf(text, sizeof text, "%s/16/%lld", floor->folder, (long long)x);
    mkdir(text, 0700);
  }
  return 0;
}

int64_t disk_write_files(disk_floor *floor, int64_t first, int64_t count, const void *body) {
  char name[1200], temporary[1200];
  snprintf(temporary, sizeof temporary, "%s/incoming", floor->folder);
  for (int64_t number = first; number < first + count; number++) {
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    if (write(file, body, (size_t)floor->size) != floor->size) return -1;
    close(file);
    path(floor, number, name, sizeof name);
    if (rename(temporary, name)) return -1;
  }
  return count;
}

int64_t disk_write_rows(disk_floor *floor, int64_t first, int64_t count, const void *body) {
  if (sqlite3_exec(floor->database, "BEGIN IMMEDIATE", NULL, NULL, NULL)) return -1;
  for (int64_t number = first; number < first + count; number++) {
    sqlite3_bind_int64(floor->insert, 1, place(number));
    sqlite3_bind_blob(floor->insert, 2, body, (int)floor->size, SQLITE_STATIC);
    int code = sqlite3_step(floor->insert);
    sqlite3_reset(floor->insert);
    if (code != SQLITE_DONE) return -1;
  }
  return sqlite3_exec(floor->database, "COMMIT", NULL, NULL, NULL) ? -1 : count;
}

int64_t disk_checkpoint(disk_floor *floor) {
  return sqlite3_exec(floor->database, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) ? -1 : 0;
}

int64_t disk_read_file(disk_floor *floor, int64_t number) {
  char name[1200];
  path(floor, number, name, sizeof name);
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  int64_t length = read(file, floor->memory, (size_t)floor->size);
  close(file);
  return length;
}

int64_t disk_read_row(disk_floor *floor, int64_t number) {
  sqlite3_bind_int64(floor->select, 1, place(number));
  int64_t length = -1;
  if (sqlite3_step(floor->select) == SQLITE_ROW) {
    const void *bytes = sqlite3_column_blob(floor->select, 0);
    length = sqlite3_column_bytes(floor->select, 0);
    memcpy(floor->memory, bytes, (size_t)length);
  }
  sqlite3_reset(floor->select);
  return length;
}
