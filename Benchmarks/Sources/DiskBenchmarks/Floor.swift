import Bars
import CDisk
import Foundation

/// Bare files and rows.
final class Floor {
  private let floor: OpaquePointer
  let size: Int

  init(_ folder: String, pageSize: Int = 8192, size: Int) throws {
    guard let floor = disk_open(folder, Int64(pageSize), Int64(size)) else {
      throw BenchmarkError("nothing can be made in \(folder)")
    }
    self.floor = floor
    self.size = size
  }

  deinit { disk_close(floor) }

  /// Writes files and rows, and moves all rows into the database's file.
  func fill(_ count: Int) throws {
    let body = Tiles.body(1, size: size)
    try makeFolders(count)
    try writeFiles(0, count, body)
    for start in stride(from: 0, to: count, by: 64) { try writeRows(start, min(64, count - start), body) }
    guard disk_checkpoint(floor) == 0 else { throw BenchmarkError("the rows cannot be brought in") }
  }

  func makeFolders(_ count: Int) throws {
    guard disk_make_folders(floor, Int64(count)) == 0 else { throw BenchmarkError("no folders") }
  }

  func writeFiles(_ first: Int, _ count: Int, _ body: Data) throws {
    let written = body.withUnsafeBytes { disk_write_files(floor, Int64(first), Int64(count), $0.baseAddress) }
    guard written == count else { throw BenchmarkError("files cannot be written") }
  }

  func writeRows(_ first: Int, _ count: Int, _ body: Data) throws {
    let written = body.withUnsafeBytes { disk_write_rows(floor, Int64(first), Int64(count), $0.baseAddress) }
    guard written == count else { throw BenchmarkError("rows cannot be written") }
  }

  func readFile(_ number: Int) throws {
    guard disk_read_file(floor, Int64(number)) == size else { throw BenchmarkError("no file \(number)") }
  }

  func readRow(_ number: Int) throws {
    guard disk_read_row(floor, Int64(number)) == size else { throw BenchmarkError("no row \(number)") }
  }
}
