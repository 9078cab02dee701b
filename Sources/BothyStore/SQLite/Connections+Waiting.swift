import Foundation
package import GRDB

/// Opening that waits for other processes.
extension Connections {
  /// How long an opening waits where no options say so.
  package static let patience = Duration.seconds(5)

  /// Runs `attempt` until it no longer fails by what another process does to the file at this moment, or `time` is over.
  static func waiting<Result>(
    for path: String, atMost time: Duration, _ attempt: () throws -> Result
  ) throws -> Result {
    let deadline = ContinuousClock.now + time
    while true {
      do { return try attempt() } catch {
        guard mayPass(StoreError(error, path: path), path), ContinuousClock.now < deadline else {
          throw error
        }
        Thread.sleep(forTimeInterval: 0.002)
      }
    }
  }

  /// Whether the failure is one that another process causes while it makes, opens or closes the same file: SQLite
  /// waits for others' writes by itself, but not for a change of the journal's mode or for the log's index to appear.
  private static func mayPass(_ error: StoreError, _ path: String) -> Bool {
    error.code == .busy || (error.code == .cannotOpen && access(path, R_OK | W_OK) == 0 && isFile(path))
  }

  private static func isFile(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
  }

  /// Runs `body` on a connection of its own that only reads, outside any transaction. Waits for other processes as a store
  /// does. Throws what `body` throws, or GRDB's errors.
  package static func inspecting<Result>(
    _ path: String, atMost time: Duration = patience, _ body: (Database) throws -> Result
  ) throws -> Result {
    try waiting(for: path, atMost: time) {
      var options = StoreOptions(cacheSize: 1 << 20)
      options.busyTimeout = time
      var configuration = configuration(options)
      configuration.readonly = true
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      defer { try? queue.close() }  // it was only read: nothing is lost if closing fails
      return try queue.inDatabase(body)
    }
  }

  /// The same in one read transaction.
  package static func reading<Result>(
    _ path: String, atMost time: Duration = patience, _ body: (Database) throws -> Result
  ) throws -> Result {
    try inspecting(path, atMost: time) { database in
      var result: Result?
      try database.inTransaction(.deferred) {
        result = try body(database)
        return .commit
      }
      guard let result else {
        throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "A read without its body")
      }
      return result
    }
  }
}
