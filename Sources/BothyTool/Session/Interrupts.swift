import Dispatch
import Foundation

/// Converts SIGINT and SIGTERM to asynchronous values.
enum Interrupts {
  /// Returns an element for each signal. From now on, signals don't end the process by themselves.
  static func signals() -> AsyncStream<Int32> {
    AsyncStream { continuation in
      let sources = [SIGINT, SIGTERM].map { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { continuation.yield(number) }
        source.resume()
        return Held(source)
      }
      continuation.onTermination = { _ in for source in sources { source.cancel() } }
    }
  }

  /// Runs `body` until it ends or a signal cancels it. Returns true if it ended by itself.
  @discardableResult
  static func running(_ body: @escaping @Sendable () async throws -> Void) async throws -> Bool {
    let signals = signals()
    return try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await body()
        return true
      }
      group.addTask {
        for await _ in signals { return false }
        return false
      }
      let ended = try await group.next() ?? true
      group.cancelAll()
      while let _ = try? await group.next() {}  // cancelled on purpose, so its result is ignored
      return ended
    }
  }

  /// Keeps a source alive. Dispatch sources are safe from any thread.
  private final class Held: @unchecked Sendable {
    private let source: any DispatchSourceSignal
    init(_ source: any DispatchSourceSignal) { self.source = source }
    func cancel() { source.cancel() }
  }
}
