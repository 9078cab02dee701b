import Foundation
package import GRDB

/// Opening a file with a wait for other processes.
extension Connections {
  /// The longest wait of an opening without options.
  package static let patience = Duration.seconds(5)

  /// Runs `attempt` until it no longer fails because of another process, or `time` is over.
  static func waiting<Result>(
    for path: String, atMost time: Duration, _ attempt: () throws -> Result
  ) throws -> Result {
    let deadline = ContinuousClock.now + time
    while true {
      do { return try attempt() } catch {
        guard mayPass(BothyError(error, path: path), path), ContinuousClock.now < deadline else {
          throw error
        }
        Thread.sleep(forTimeInterval: 0.002)
      }
    }
  }

  /// True if another process causes the failure while it creates, opens or closes the file. SQLite itself waits for the
  /// writes of others, but not for a change of the journal's mode or a missing index of the log.
  private static func mayPass(_ error: BothyError, _ path: String) -> Bool {
    error.code == .busy || (error.code == .cannotOpen && access(path, R_OK | W_OK) == 0 && isFile(path))
  }

  private static func isFile(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
  }

  /// Runs `body` on a read-only connection of its own, outside any transaction. Waits for other processes like a store.
  /// Throws the errors of `body` and of GRDB.
  package static func inspecting<Result>(
    _ path: String, atMost time: Duration = patience, _ body: (Database) throws -> Result
  ) throws -> Result {
    try waiting(for: path, atMost: time) {
      var options = StoreOptions(cacheSize: 1 << 20)
      options.busyTimeout = time
      var configuration = configuration(options)
      configuration.readonly = true
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      defer { try? queue.close() }  // It was only read, so nothing is lost if closing fails.
      return try queue.inDatabase(body)
    }
  }

  /// Like `inspecting(_:atMost:_:)`, but in one read transaction.
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
