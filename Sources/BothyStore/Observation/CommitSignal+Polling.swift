import GRDB
import Synchronization

/// Polls SQLite for commits of other connections (`PRAGMA data_version`), at 1.3 µs a poll.
///
/// The writer's connection is polled, because its own commits don't count.
final class PollingSignal: CommitSignal {
  private let writer: ClosableDatabase
  private let interval: Duration
  private let clock: any Clock<Duration>
  private let task = Mutex<Task<Void, Never>?>(nil)

  init(_ writer: ClosableDatabase, every interval: Duration, clock: any Clock<Duration>) {
    self.writer = writer
    self.interval = interval
    self.clock = clock
  }

  /// Does nothing, because the others see the file.
  func announce() {}

  func start(_ heard: @escaping @Sendable () -> Void) throws {
    let first = try writer.writeWithoutTransaction { try $0.dataVersion }
    let polling = Task { [writer, interval, clock] in
      var last = first
      while !Task.isCancelled {
        do {
          try await clock.sleep(for: interval)
          let version = try await writer.writeWithoutTransaction { try $0.dataVersion }
          if version != last { heard() }
          last = version
        } catch {
          return  // The task is cancelled, or the store is closed.
        }
      }
    }
    task.withLock { $0 = polling }
  }

  func stop() {
    task.withLock { task in
      task?.cancel()
      task = nil
    }
  }

  func close() { stop() }

  deinit { stop() }
}

extension Database {
  /// A number that changes whenever another connection, of this process or another, has committed.
  var dataVersion: Int64 {
    get throws {
      let pragma = try PreparedStatement("PRAGMA data_version", in: self)
      defer { pragma.reset() }
      return try pragma.step() ? pragma.int(at: 0) : 0
    }
  }
}
