#ifndef CDISK_H
#define CDISK_H

#include <stdint.h>

// How often the calling thread has asked for memory since it began; -1 where that is not counted.
int64_t disk_allocations(void);
// Nanoseconds of a clock that only goes forward.
int64_t disk_now(void);

// What the machine needs for bare reads and writes: files of a tree {folder}/16/{x}/{y}, and rows of one table.
// Every function returns a negative number on failure.
typedef struct disk_floor disk_floor;

disk_floor *disk_open(const char *folder, int64_t page_size, int64_t size);
void disk_close(disk_floor *floor);
// Makes the folders for files up to the number.
int64_t disk_make_folders(disk_floor *floor, int64_t count);
// Each file under another name first, as whoever must not show half of one writes it.
int64_t disk_write_files(disk_floor *floor, int64_t first, int64_t count, const void *body);
// One transaction.
int64_t disk_write_rows(disk_floor *floor, int64_t first, int64_t count, const void *body);
int64_t disk_checkpoint(disk_floor *floor);
// open, read, close.
int64_t disk_read_file(disk_floor *floor, int64_t number);
// One row by number on a kept statement, its bytes copied.
int64_t disk_read_row(disk_floor *floor, int64_t number);

#endif
