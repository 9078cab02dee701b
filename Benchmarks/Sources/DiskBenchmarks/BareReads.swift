import Foundation
import GRDBSQLite

/// What the machine needs for the bare reads: files opened, read and closed, rows selected and copied.
final class BareReads {
  private let folder: String
  private let count: Int
  private var connection: OpaquePointer?
  private var select: OpaquePointer?
  private let memory = UnsafeMutableRawPointer.allocate(byteCount: DiskBenchmarks.size, alignment: 16)

  init(_ folder: String, _ count: Int) throws {
    self.folder = folder
    self.count = count
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    sqlite3_open(folder + "/bare.sqlite", &connection)
    run(
      "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 2000000000"
    )
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)")
  }

  deinit {
    sqlite3_finalize(select)
    sqlite3_close(connection)
    memory.deallocate()
  }

  private func run(_ sql: String) { sqlite3_exec(connection, sql, nil, nil, nil) }

  static func body(_ number: Int) -> Data {
    var state = UInt64(number) | 1
    var data = Data(capacity: DiskBenchmarks.size)
    while data.count < DiskBenchmarks.size {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      withUnsafeBytes(of: state) { data.append(contentsOf: $0) }
    }
    return data
  }

  func fill() throws {
    var insert: OpaquePointer?
    sqlite3_prepare_v2(connection, "INSERT INTO t VALUES (?1, ?2)", -1, &insert, nil)
    run("BEGIN")
    for number in 0..<count {
      let body = Self.body(number)
      try body.write(to: URL(fileURLWithPath: "\(folder)/\(number)"))
      sqlite3_bind_int64(insert, 1, Int64(number) &* 7_777_777_777)
      body.withUnsafeBytes {
        _ = sqlite3_bind_blob(insert, 2, $0.baseAddress, Int32($0.count), nil); sqlite3_step(insert)
      }
      sqlite3_reset(insert)
    }
    sqlite3_finalize(insert)
    run("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
    sqlite3_prepare_v2(connection, "SELECT data FROM t WHERE id = ?1", -1, &select, nil)
  }

  func file(_ number: Int) throws -> Int {
    let descriptor = open("\(folder)/\(number)", O_RDONLY)
    var status = stat()
    fstat(descriptor, &status)
    let length = read(descriptor, memory, Int(status.st_size))
    close(descriptor)
    return length
  }

  func row(_ number: Int) throws -> Int {
    sqlite3_bind_int64(select, 1, Int64(number) &* 7_777_777_777)
    guard sqlite3_step(select) == SQLITE_ROW, let bytes = sqlite3_column_blob(select, 0) else { return 0 }
    let length = Int(sqlite3_column_bytes(select, 0))
    memcpy(memory, bytes, length)
    sqlite3_reset(select)
    return length
  }
}
