import GRDB
import Logging
import Synchronization

/// The signal of one store: the platform's own, or polling if that fails or is requested.
final class CommitSignals: Sendable {
  private struct State {
    var isWatching = false
    var isPolling = false
    var isClosed = false
  }

  /// The platform's signal, or nil if only polling was requested.
  private let preferred: (any CommitSignal)?
  private let polling: PollingSignal
  private let logger: Logger
  private let state = Mutex(State())

  /// Creates the signals. Nil if the options exclude writes of other processes.
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

  /// Announces a commit. Others may rely on signals even if this store polls.
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

  /// Stops the signals for good. A later `start` does nothing.
  func close() {
    state.withLock { $0.isClosed = true }
    stop()
    preferred?.close()
  }
}
