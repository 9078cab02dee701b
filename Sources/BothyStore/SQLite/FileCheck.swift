import Dispatch
import Foundation
import GRDB
import Logging
import Synchronization

/// Checks a store's whole file in the background: at most once a day, and at once after SQLite met damage.
///
/// If it finds damage, the next opening checks again and quarantines the file.
final class FileCheck: Sendable {
  private struct State {
    var isScheduled = false
    var isClosed = false
    var queue: DatabaseQueue?
  }

  /// The milliseconds between two checks.
  private static let interval: Int64 = 86_400_000
  private static let key = "checked"

  private let path: String
  private let logger: Logger
  private let work = DispatchQueue(label: "bothy.check", qos: .utility)
  private let state = Mutex(State())

  init(path: String, logger: Logger) {
    self.path = path
    self.logger = logger
  }

  /// True if a day has passed since the last check began. Records in the file that one begins now.
  static func claim(in database: Database) throws -> Bool {
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let last = try Int64.fetchOne(
      database, sql: "SELECT CAST(value AS INTEGER) FROM bothy_meta WHERE key = ?", arguments: [key])
    if let last, last <= now, now - last < interval { return false }
    try Format.note("\(now)", as: key, in: database)
    return true
  }

  /// Starts a check on a thread of its own, unless one is running.
  func begin() {
    let isFree = state.withLock { state in
      defer { state.isScheduled = true }
      return !state.isScheduled && !state.isClosed
    }
    if isFree { work.async { self.run() } }
  }

  /// Starts a check after SQLite met damage. If the process ends before the check does, the next opening checks.
  func meetDamage() {
    DamagedFile.suspect(path)
    begin()
  }

  /// Waits until no check is running.
  func wait() { work.sync {} }

  /// Ends a running check. A later one doesn't start.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.queue?.interrupt()
    }
    wait()
  }

  private func run() {
    defer {
      state.withLock { state in
        state.isScheduled = false
        state.queue = nil
      }
    }
    do {
      var configuration = Configuration()
      configuration.readonly = true
      configuration.busyMode = .timeout(5)
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      defer { try? queue.close() }  // It was only read, so nothing is lost if closing fails.
      let isOpen = state.withLock { state in
        state.queue = queue
        return !state.isClosed
      }
      guard isOpen else { return }
      try queue.inDatabase { try WordTokenizer.install(in: $0) }
      try DamagedFile.check(queue, path)
      try DamagedFile.trust(path)
    } catch {
      let known = BothyError(error, path: path)
      guard known.code == .corrupt || known.code == .notADatabase else {
        return logger.debug("The daily check of \(path) was not finished: \(known)")
      }
      DamagedFile.suspect(path)
      logger.error("\(path) is damaged. The next opening sets it aside: \(known)")
    }
  }
}
