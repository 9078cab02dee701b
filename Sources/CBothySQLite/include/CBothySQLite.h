/* Calls of SQLite that Swift cannot make, because they take variable arguments. */
#ifndef CBOTHY_SQLITE_H
#define CBOTHY_SQLITE_H

/* Switches SQLite's memory statistics off, for the whole process. Returns SQLITE_OK, or SQLITE_MISUSE if SQLite has
   been initialized before. */
int bothy_sqlite_disable_memory_statistics(void);

#endif
