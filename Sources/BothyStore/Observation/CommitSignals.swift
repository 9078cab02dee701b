import GRDB
import Logging
import Synchronization

/// The signal of one store: the platform's own, or polling where that does not work or is asked for.
final class CommitSignals: Sendable {
  private struct State {
    var isWatching = false
    var isPolling = false
    var isClosed = false
  }

  /// Nil when only polling was asked for.
  private let preferred: (any CommitSignal)?
  private let polling: PollingSignal
  private let logger: Logger
  private let state = Mutex(State())

  /// Nil when the options say that no other process writes.
  init?(path: String, options: StoreOptions, writer: ClosableDatabase) {
    switch options.processes {
    case .single: return nil
    case .many:
      preferred = FileSignal(path: path)
      polling = PollingSignal(writer, every: .milliseconds(100), clock: options.clock)
    case .polled(let interval):
      preferred = FileSignal(path: path)
      polling = PollingSignal(writer, every: interval, clock: options.clock)
      state.withLock { $0.isPolling = true }
    }
    logger = options.logger
  }

  /// Others may rely on signals even where this store polls.
  func announce() { preferred?.announce() }

  func start(_ heard: @escaping @Sendable () -> Void) {
    state.withLock { state in
      guard !state.isWatching, !state.isClosed else { return }
      state.isWatching = true
      if let preferred, !state.isPolling {
        do { return try preferred.start(heard) } catch {
          logger.warning("commits of other processes are polled: \(error)")
          state.isPolling = true
        }
      }
      do { try polling.start(heard) } catch {
        logger.error("commits of other processes are not seen: \(error)")
      }
    }
  }

  func stop() {
    state.withLock { state in
      guard state.isWatching else { return }
      state.isWatching = false
      preferred?.stop()
      polling.stop()
    }
  }

  /// For good: a late `start` does nothing.
  func close() {
    state.withLock { $0.isClosed = true }
    stop()
    preferred?.close()
  }
}
