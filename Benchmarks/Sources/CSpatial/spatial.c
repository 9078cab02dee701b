// The same places in SpatiaLite, asked in its own two ways.
#include "CSpatial.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct spatial {
  sqlite3 *database;
  sqlite3_stmt *insert, *knn, *box;
  char message[256];
  char version[64];
};

static int fail(spatial *store) {
  strncpy(store->message, sqlite3_errmsg(store->database), sizeof store->message - 1);
  return -1;
}

static int run(spatial *store, const char *sql) {
  return sqlite3_exec(store->database, sql, NULL, NULL, NULL) ? fail(store) : 0;
}

const char *spatial_message(const spatial *store) { return store->message; }

spatial *spatial_open(const char *path) {
  spatial *store = calloc(1, sizeof *store);
  if (!store || sqlite3_open(path, &store->database)) return NULL;
  sqlite3_enable_load_extension(store->database, 1);
  if (sqlite3_load_extension(store->database, "mod_spatialite", NULL, NULL)) return NULL;
  int code = run(
    store,
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; SELECT InitSpatialMetaData(1);"
    "CREATE TABLE places (id INTEGER PRIMARY KEY, name TEXT);"
    "SELECT AddGeometryColumn('places', 'geom', 4326, 'POINT', 'XY')");
  if (code) return NULL;
  return store;
}

void spatial_close(spatial *store) {
  sqlite3_finalize(store->insert);
  sqlite3_finalize(store->knn);
  sqlite3_finalize(store->box);
  sqlite3_close(store->database);
  free(store);
}

const char *spatial_version(spatial *store) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(store->database, "SELECT spatialite_version()", -1, &statement, NULL)) return "?";
  if (sqlite3_step(statement) == SQLITE_ROW) {
    strncpy(store->version, (const char *)sqlite3_column_text(statement, 0), sizeof store->version - 1);
  }
  sqlite3_finalize(statement);
  return store->version;
}

static int prepare(spatial *store, const char *sql, sqlite3_stmt **statement) {
  if (*statement) return 0;
  return sqlite3_prepare_v2(store->database, sql, -1, statement, NULL) ? fail(store) : 0;
}

int64_t spatial_insert(
  spatial *store, int64_t first, const double *longitudes, const double *latitudes, int64_t count) {
  if (prepare(store, "INSERT INTO places VALUES (?1, ?2, MakePoint(?3, ?4, 4326))", &store->insert)) return -1;
  if (run(store, "BEGIN")) return -1;
  for (int64_t place = 0; place < count; place++) {
    sqlite3_bind_int64(store->insert, 1, first + place);
    sqlite3_bind_text(store->insert, 2, "Place", -1, SQLITE_STATIC);
    sqlite3_bind_double(store->insert, 3, longitudes[place]);
    sqlite3_bind_double(store->insert, 4, latitudes[place]);
    int code = sqlite3_step(store->insert);
    sqlite3_reset(store->insert);
    if (code != SQLITE_DONE) return fail(store);
  }
  return run(store, "COMMIT") ? -1 : count;
}

int64_t spatial_index(spatial *store) {
  return run(store, "SELECT CreateSpatialIndex('places', 'geom'); ANALYZE");
}

static int64_t take(spatial *store, sqlite3_stmt *statement, int64_t count, int64_t *ids) {
  int64_t found = 0;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW && found < count) {
    ids[found++] = sqlite3_column_int64(statement, 0);
  }
  sqlite3_reset(statement);
  return code == SQLITE_ROW || code == SQLITE_DONE ? found : fail(store);
}

int64_t spatial_nearest_knn(spatial *store, double longitude, double latitude, int64_t count, int64_t *ids) {
  if (prepare(
        store,
        "SELECT fid FROM knn WHERE f_table_name = 'places' AND f_geometry_column = 'geom'"
        " AND ref_geometry = MakePoint(?1, ?2, 4326) AND max_items = ?3",
        &store->knn)) {
    return -1;
  }
  sqlite3_bind_double(store->knn, 1, longitude);
  sqlite3_bind_double(store->knn, 2, latitude);
  sqlite3_bind_int64(store->knn, 3, count);
  return take(store, store->knn, count, ids);
}

int64_t spatial_nearest_box(
  spatial *store, double longitude, double latitude, double half_width, double half_height, int64_t count,
  int64_t *ids) {
  if (prepare(
        store,
        "SELECT p.id, p.name, ST_Distance(p.geom, MakePoint(?1, ?2, 4326), 0) AS distance"
        " FROM idx_places_geom AS i CROSS JOIN places AS p ON p.id = i.pkid"
        " WHERE i.xmin <= ?1 + ?3 AND i.xmax >= ?1 - ?3 AND i.ymin <= ?2 + ?4 AND i.ymax >= ?2 - ?4"
        " ORDER BY distance LIMIT ?5",
        &store->box)) {
    return -1;
  }
  sqlite3_bind_double(store->box, 1, longitude);
  sqlite3_bind_double(store->box, 2, latitude);
  sqlite3_bind_double(store->box, 3, half_width);
  sqlite3_bind_double(store->box, 4, half_height);
  sqlite3_bind_int64(store->box, 5, count);
  return take(store, store->box, count, ids);
}
